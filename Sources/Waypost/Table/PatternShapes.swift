/// Which components of a pattern are placeholders, when it has nothing but literals and plain placeholders.
///
/// `/users/:id/keys` has the shape literal, placeholder, literal. A table of any size has few shapes, and at most one
/// pattern of a shape fits a URL: the one with the same literals. Tried in the order of §3, the first shape with a
/// hit has the best one.
struct PatternShape: Hashable {
    /// The most components that a URL may have to be looked up by shapes.
    static let deepest = 16

    /// How many components there are.
    var depth = 0
    /// Bit `i` is set when component `i` is a placeholder.
    var placeholders: UInt32 = 0

    /// The shape as one number: the placeholders, and a bit behind the last component.
    var key: UInt32 { placeholders | 1 &<< UInt32(truncatingIfNeeded: depth) }

    /// Literals go before placeholders, from the left.
    func precedes(_ other: PatternShape) -> Bool {
        let difference = placeholders ^ other.placeholders
        return other.placeholders & difference & (0 &- difference) != 0
    }
}

/// The shapes of a table's patterns by the number of components, and which numbers must be left to ``TableSearch``.
struct PatternShapes {
    /// The most shapes of one depth that are tried one after the other.
    static let most = 15

    /// A shape as a search reads it.
    struct Record: BitwiseCopyable {
        /// The shape's ``PatternShape/key``.
        var key: UInt32
        var placeholders: UInt32
        /// Goes into the hash of every path of this shape.
        var salt: UInt64
    }

    /// What a search reads.
    struct Reader: BitwiseCopyable {
        /// The number of the first shape of each depth.
        var first: UnsafePointer<UInt32>
        /// Which shapes of a depth, from the first, there are with a first component in a class.
        ///
        /// Bits, by depth and class. Most URLs are left with one.
        var candidates: UnsafePointer<UInt16>
        var records: UnsafePointer<Record>

        @inline(__always)
        func candidates(_ depth: Int, _ firstPart: UInt64) -> UInt16 {
            candidates[depth &* PatternShapes.classes &+ PatternShapes.class(firstPart)]
        }
    }

    /// Among the candidates: shapes are not enough to look up a URL.
    static let unsuited: UInt16 = 1 << 15

    /// First components are distinguished by seven bits of their hash.
    static let classes = 128
    @inline(__always)
    static func `class`(_ part: UInt64) -> Int { Int(truncatingIfNeeded: part &>> 57) }

    private struct Tally {
        var shape: PatternShape
        var routes = 0
        /// Bit `i` is set when there was a route with a first component of class `i`.
        var classes = SIMD2<UInt64>()
    }

    private let seed: TableSeed
    /// The shapes of each depth in the order of §3, ``most`` of them.
    private var tallies = Array(repeating: [Tally](), count: PatternShape.deepest + 1)
    /// How many routes take URLs of a depth that a search by shapes does not find: their pattern has no shape, or one
    /// too many, or a text that can't be compared.
    private var others = Array(repeating: 0, count: PatternShape.deepest + 1)
    /// The same for patterns that begin with a literal, by depth and its class.
    private var othersByClass: [Int: Int] = [:]
    private var page: MemoryPage

    init(seed: TableSeed) {
        self.seed = seed
        page = MemoryPage(byteCount: Self.recordsOffset)
        publish()
    }

    var byteCount: Int { page.byteCount }

    private static let candidatesOffset = (PatternShape.deepest + 2) * MemoryLayout<UInt32>.stride
    private static let recordsOffset =
        candidatesOffset + (PatternShape.deepest + 1) * classes * MemoryLayout<UInt16>.stride

    var reader: Reader {
        Reader(
            first: UnsafePointer(first), candidates: UnsafePointer(candidates),
            records: UnsafePointer(records))
    }

    private var first: UnsafeMutablePointer<UInt32> { page.memory.assumingMemoryBound(to: UInt32.self) }
    private var candidates: UnsafeMutablePointer<UInt16> {
        (page.memory + Self.candidatesOffset).assumingMemoryBound(to: UInt16.self)
    }
    private var records: UnsafeMutablePointer<Record> {
        (page.memory + Self.recordsOffset).assumingMemoryBound(to: Record.self)
    }

    /// Goes into the hash of every path of a shape.
    func salt(_ shape: PatternShape) -> UInt64 {
        TableSeed.mix(seed.first ^ UInt64(shape.key), seed.second ^ 0xd6e8_feb8_6659_fd93)
    }

    // MARK: Changes

    /// Counts one route more of a path's shape.
    mutating func add(_ path: PatternPath) {
        var classes = SIMD2<UInt64>(repeating: .max)
        if let part = path.firstPart {
            classes = SIMD2()
            classes[Self.class(part) >> 6] = 1 << UInt64(Self.class(part) & 63)
        }
        let depth = path.shape.depth
        switch Self.add(path.shape, classes, to: &tallies[depth]) {
        case .known: break
        case .new: publish()
        case .tooMany: count(others: depth...depth, nil, by: 1)
        }
    }

    private enum Addition {
        case known, new, tooMany
    }

    private static func add(
        _ shape: PatternShape, _ classes: SIMD2<UInt64>, to tallies: inout [Tally]
    ) -> Addition {
        var index = 0
        while index < tallies.count, tallies[index].shape.precedes(shape) { index += 1 }
        if index == tallies.count || tallies[index].shape != shape {
            if tallies.count == most { return .tooMany }
            tallies.insert(Tally(shape: shape), at: index)
        }
        tallies[index].routes += 1
        let known = tallies[index].classes
        tallies[index].classes = known | classes
        return known | classes == known ? .known : .new
    }

    /// Counts one route less.
    ///
    /// The class of its first component may stay: it only spares searches. A shape may have been one too many when a
    /// route came, and not when it goes: the sums are right all the same.
    mutating func remove(_ path: PatternPath) {
        let depth = path.shape.depth
        guard let index = tallies[depth].firstIndex(where: { $0.shape == path.shape }) else {
            return count(others: depth...depth, nil, by: -1)
        }
        tallies[depth][index].routes -= 1
        if tallies[depth][index].routes > 0 { return }
        tallies[depth].remove(at: index)
        publish()
    }

    /// Counts routes more or fewer that take URLs of these depths and that a search by shapes does not find.
    ///
    /// - Parameter firstPart: of a pattern that begins with a literal; it does not concern the others.
    mutating func count(others range: ClosedRange<Int>, _ firstPart: UInt64?, by change: Int) {
        guard range.lowerBound <= PatternShape.deepest else { return }
        var isNews = false
        for depth in range.clamped(to: 0...PatternShape.deepest) {
            let before: Int
            if let firstPart {
                let place = depth * Self.classes + Self.class(firstPart)
                before = othersByClass[place] ?? 0
                othersByClass[place] = before + change == 0 ? nil : before + change
            } else {
                before = others[depth]
                others[depth] += change
            }
            if before == 0 || before + change == 0 { isNews = true }
        }
        if isNews { publish() }
    }

    private mutating func publish() {
        let count = tallies.reduce(0) { $0 + $1.count }
        page = MemoryPage(byteCount: Self.recordsOffset + count * MemoryLayout<Record>.stride)
        var next = 0
        for (depth, tallies) in tallies.enumerated() {
            let candidates = candidates + depth * Self.classes
            if others[depth] > 0 { candidates.update(repeating: Self.unsuited, count: Self.classes) }
            first[depth] = UInt32(next)
            for (number, tally) in tallies.enumerated() {
                let shape = tally.shape
                records[next] = Record(key: shape.key, placeholders: shape.placeholders, salt: salt(shape))
                next += 1
                for index in 0..<Self.classes where tally.classes[index >> 6] >> UInt64(index & 63) & 1 != 0 {
                    candidates[index] |= 1 << UInt16(number)
                }
            }
        }
        for place in othersByClass.keys { candidates[place] |= Self.unsuited }
    }
}
