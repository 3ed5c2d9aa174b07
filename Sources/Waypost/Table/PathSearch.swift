/// The search for the common case: literals and plain placeholders, nothing encoded, one priority for all.
///
/// It reads the path once, and then asks for each shape that the table has at this depth whether there is a pattern
/// with these literals, which takes one look into a hash. The tree of components is left to ``TableSearch``.
struct PathSearch<Ends: PathEnds> {
    private let reader: UnsafeMutablePointer<TableReader>
    private let text: UnsafePointer<UInt8>
    private let scheme: UInt32
    /// The components' ends, and where the first begins.
    private let ends: Ends
    private let start: Int
    private let count: Int

    /// Takes a path in a text of at least sixteen bytes, whose ends `read` finds; nil for what is not plain.
    @inline(__always)
    init?(
        reader: UnsafeMutablePointer<TableReader>, text: UnsafePointer<UInt8>, path: Range<Int>,
        scheme: UInt32,
        read: (_ start: Int, _ end: Int) -> Ends?
    ) {
        self.reader = reader
        self.text = text
        self.scheme = scheme
        if path.isEmpty { return nil }
        // One slash at the start and one at the end make no component.
        start = path.lowerBound &+ (text[path.lowerBound] == UInt8(ascii: "/") ? 1 : 0)
        let end = path.upperBound &- (text[path.upperBound &- 1] == UInt8(ascii: "/") ? 1 : 0)
        guard start < end, let ends = read(start, end) else { return nil }
        self.ends = ends
        count = ends.count
    }

    enum Found {
        case match(RouteMatch), nothing, unsuited
    }

    /// The first entry whose pattern takes the path.
    @inline(__always)
    func find() -> Found {
        if count > PatternShape.deepest { return .unsuited }
        let shapes = reader.pointee.shapes
        let first = shapes.first[count]
        let seed = reader.pointee.seed
        var rest = ends
        let firstEnd = rest.next()
        let firstPart = PathWords(text, from: start, to: firstEnd).part(seed.first, seed.second)
        var candidates = shapes.candidates(count, firstPart)
        if candidates & PatternShapes.unsuited != 0 { return .unsuited }
        while candidates != 0 {
            let shape = shapes.records + Int(first) + candidates.trailingZeroBitCount
            candidates &= candidates &- 1
            let key = shape.pointee.key
            var hash = shape.pointee.salt
            if key & 1 == 0 { hash &+= firstPart }
            var ends = rest
            var start = firstEnd &+ 1
            var second = seed.second
            // From bit 0, one bit for each component; the highest stands behind the last.
            var left = key &>> 1
            while left > 1 {
                let end = ends.next()
                second &+= PathWords.step
                if left & 1 == 0 {
                    hash &+= PathWords(text, from: start, to: end).part(seed.first, second)
                }
                start = end &+ 1
                left &>>= 1
            }
            let found = entry(hash, key)
            if found != 0 {
                return .match(
                    RouteMatch(
                        entry: found, of: reader.pointee, shape: key, start: self.start, ends: self.ends.bits)
                )
            }
        }
        return .nothing
    }

    /// The first entry with this path that takes the URL's scheme.
    @inline(__always)
    private func entry(_ hash: UInt64, _ shape: UInt32) -> UInt32 {
        let chunk = reader.pointee.paths + Int(truncatingIfNeeded: hash &>> reader.pointee.pathShift)
        let places = chunk.pointee.places
        let tag = HashedNumber.tag(hash)
        var place = chunk.pointee.home(hash)
        while true {
            let path = places[place]
            if path.isEmpty { return 0 }
            if path.tag == tag {
                let entry = reader.pointee.entry(path.number)
                if takes(entry, shape) {
                    return entry.pointee.scheme == 0 ? path.number : reader.pointee.first(path.number, scheme)
                }
            }
            place &+= 1
            if place == Int(chunk.pointee.capacity) { place = 0 }
        }
    }

    /// Whether an entry's pattern has this shape and these literals: hashes are only a hint.
    @inline(__always)
    private func takes(_ entry: UnsafePointer<TableEntry>, _ shape: UInt32) -> Bool {
        let layout = reader.pointee.layout(entry.pointee.layout)
        if layout.pointee.shape != shape { return false }
        // Every component is followed by a `/`, and a text by as many bytes as a path here may have, so that one that is
        // longer than what is known does no harm. What is known runs along with the path, moved by as much as
        // placeholders are longer than what they take.
        var known =
            UnsafePointer(reader.pointee.text(entry.pointee.text)) + (Int(entry.pointee.pathStart) &- start)
        var written = layout.pointee.written
        var ends = ends
        var start = start
        var left = shape
        while left > 1 {
            let end = ends.next()
            if left & 1 != 0 {
                known += Int(truncatingIfNeeded: written & 0xff) &- (end &- start)
                written &>>= 8
            } else if !PathWords.isEqual(known, text, from: start, to: end) || known[end] != UInt8(ascii: "/")
            {
                return false
            }
            start = end &+ 1
            left &>>= 1
        }
        return true
    }
}

/// The first eight and the last eight bytes of a component; of one of up to eight bytes, no first ones.
struct PathWords: BitwiseCopyable {
    private let first: UInt64
    private let last: UInt64
    private let start: UnsafePointer<UInt8>
    private let length: Int

    /// By what the second part of the secret grows from component to component, so that each place has its own.
    static let step: UInt64 = 0x9e37_79b9_7f4a_7c15

    /// The words of what lies from `start` to `end`, which is not empty, in a text of at least sixteen bytes.
    @inline(__always)
    init(_ text: UnsafePointer<UInt8>, from start: Int, to end: Int) {
        length = end &- start
        if end >= 8 {
            let word = ByteWord.load(text + (end &- 8))
            last = length < 8 ? word &>> (UInt64(truncatingIfNeeded: 0 &- length) &* 8) : word
        } else {
            // In front of the text nothing may be read.
            let other = UInt64(truncatingIfNeeded: 0 &- length) &* 8
            last = (ByteWord.load(text + start) &<< other) &>> other
        }
        first = length > 8 ? ByteWord.load(text + start) : 0
        self.start = text + start
    }

    /// What the component adds to the hash of a path, from the secret for its place.
    @inline(__always)
    func part(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let hash = TableSeed.mix(first ^ one, last ^ other)
        return length > 16 ? Self.hash(hash, other, start, length) : hash
    }

    @inline(never)
    private static func hash(_ start: UInt64, _ seed: UInt64, _ text: UnsafePointer<UInt8>, _ length: Int)
        -> UInt64
    {
        var hash = start
        var index = 8
        while index < length &- 8 {
            hash = TableSeed.mix(hash ^ ByteWord.load(text + index), seed ^ 0xa076_1d64_78bd_642f)
            index &+= 8
        }
        return hash
    }

    /// Whether two texts have the same from `start` to `end`; of the first, eight bytes before that may be read.
    @inline(__always)
    static func isEqual(
        _ known: UnsafePointer<UInt8>, _ text: UnsafePointer<UInt8>, from start: Int, to end: Int
    ) -> Bool {
        let length = end &- start
        if length >= 8 {
            if ByteWord.load(known + start) != ByteWord.load(text + start) { return false }
            if ByteWord.load(known + (end &- 8)) != ByteWord.load(text + (end &- 8)) { return false }
            return length <= 16 || hasEqualMiddle(known + start, text + start, length)
        }
        let other = UInt64(truncatingIfNeeded: 0 &- length) &* 8
        if end >= 8 {
            return (ByteWord.load(known + (end &- 8)) ^ ByteWord.load(text + (end &- 8))) &>> other == 0
        }
        return (ByteWord.load(known + start) ^ ByteWord.load(text + start)) &<< other == 0
    }

    @inline(never)
    private static func hasEqualMiddle(
        _ known: UnsafePointer<UInt8>, _ text: UnsafePointer<UInt8>, _ length: Int
    ) -> Bool {
        var index = 8
        while index < length &- 8 {
            if ByteWord.load(known + index) != ByteWord.load(text + index) { return false }
            index &+= 8
        }
        return true
    }
}
