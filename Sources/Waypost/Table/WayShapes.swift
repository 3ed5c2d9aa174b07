/// Which components of a pattern are placeholders, when it has nothing but literals and plain placeholders.
///
/// `/users/:id/keys` has the shape literal, placeholder, literal. A table of any size has few shapes, and at most one
/// pattern of a shape fits a URL: the one with the same literals. Tried in the order of §3, the first shape with a
/// hit has the best one.
struct WayShape: Hashable {
    /// The most components that a URL may have to be looked up by shapes.
    static let deepest = 16

    /// How many components there are.
    var depth = 0
    /// Bit `i` is set when component `i` is a placeholder.
    var placeholders: UInt32 = 0

    /// The shape as one number: the placeholders, and a bit behind the last component.
    var key: UInt32 { placeholders | 1 &<< UInt32(truncatingIfNeeded: depth) }

    /// Literals go before placeholders, from the left.
    func precedes(_ other: WayShape) -> Bool {
        let difference = placeholders ^ other.placeholders
        return other.placeholders & difference & (0 &- difference) != 0
    }
}

/// The shapes of a table's patterns by the number of components, and which numbers must be left to ``TableSearch``.
struct WayShapes {
    /// The most shapes of one depth that are tried one after the other.
    static let most = 16

    /// A shape as a search reads it.
    struct Record: BitwiseCopyable {
        /// The shape's ``WayShape/key``.
        var key: UInt32
        var placeholders: UInt32
        /// Goes into the hash of every way of this shape.
        var salt: UInt64
    }

    /// What a search reads.
    struct Reader: BitwiseCopyable {
        /// The number of the first shape of each depth; ``unsuited`` when shapes are not enough to look up a URL.
        var first: UnsafePointer<UInt32>
        /// Which shapes of a depth, from the first, there are with a first component in a class.
        ///
        /// Bits, by depth and class. Most URLs are left with one.
        var candidates: UnsafePointer<UInt16>
        var records: UnsafePointer<Record>

        @inline(__always)
        func candidates(_ depth: Int, _ firstPart: UInt64) -> UInt16 {
            candidates[depth &* WayShapes.classes &+ WayShapes.class(firstPart)]
        }
    }

    static let unsuited: UInt32 = .max

    /// First components are told apart by seven bits of their hash.
    static let classes = 128
    @inline(__always)
    static func `class`(_ part: UInt64) -> Int { Int(truncatingIfNeeded: part &>> 57) }

    private struct Tally {
        var routes = 0
        /// Bit `i` is set when there was a route with a first component of class `i`.
        var classes = SIMD2<UInt64>()
    }

    private let seed: TableSeed
    private var tallies: [WayShape: Tally] = [:]
    /// How many shapes each depth has.
    private var shapes = Array(repeating: 0, count: WayShape.deepest + 1)
    /// How many patterns take URLs of a depth and have no shape, or a text that can't be compared.
    private var others = Array(repeating: 0, count: WayShape.deepest + 1)
    private var page: MemoryPage

    init(seed: TableSeed) {
        self.seed = seed
        page = MemoryPage(byteCount: Self.recordsOffset)
        publish()
    }

    var byteCount: Int { page.byteCount }

    private static let candidatesOffset = (WayShape.deepest + 2) * MemoryLayout<UInt32>.stride
    private static let recordsOffset =
        candidatesOffset + (WayShape.deepest + 1) * classes * MemoryLayout<UInt16>.stride

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

    /// Goes into the hash of every way of a shape.
    func salt(_ shape: WayShape) -> UInt64 {
        TableSeed.mix(seed.first ^ UInt64(shape.key), seed.second ^ 0xd6e8_feb8_6659_fd93)
    }

    // MARK: Changes

    /// Counts one route more of a way's shape.
    mutating func add(_ way: PatternWay) {
        let shape = way.shape
        var classes = SIMD2<UInt64>(repeating: .max)
        if let part = way.firstPart {
            classes = SIMD2()
            classes[Self.class(part) >> 6] = 1 << UInt64(Self.class(part) & 63)
        }
        let known = tallies[shape, default: Tally()]
        tallies[shape] = Tally(routes: known.routes + 1, classes: known.classes | classes)
        if known.routes == 0 { shapes[shape.depth] += 1 }
        // Where there are too many shapes, more make no difference.
        if known.classes | classes != known.classes, shapes[shape.depth] <= Self.most + 1 { publish() }
    }

    /// Counts one route less.
    ///
    /// The class of its first component may stay: it only spares searches.
    mutating func remove(_ way: PatternWay) {
        let shape = way.shape
        let left = tallies[shape, default: Tally()].routes - 1
        if left > 0 {
            tallies[shape]?.routes = left
        } else {
            tallies[shape] = nil
            shapes[shape.depth] -= 1
            if shapes[shape.depth] <= Self.most { publish() }
        }
    }

    /// Counts patterns more or fewer that take URLs of these depths and that a search by shapes does not see.
    mutating func count(others range: ClosedRange<Int>, by change: Int) {
        guard range.lowerBound <= WayShape.deepest else { return }
        for depth in range.clamped(to: 0...WayShape.deepest) { others[depth] += change }
        publish()
    }

    private mutating func publish() {
        var depths = Array(repeating: [WayShape](), count: WayShape.deepest + 1)
        for shape in tallies.keys where shapes[shape.depth] <= Self.most { depths[shape.depth].append(shape) }
        let count = depths.reduce(0) { $0 + $1.count }
        page = MemoryPage(byteCount: Self.recordsOffset + count * MemoryLayout<Record>.stride)
        var next = 0
        for (depth, unsorted) in depths.enumerated() {
            let isSuited = others[depth] == 0 && shapes[depth] <= Self.most
            first[depth] = isSuited ? UInt32(next) : Self.unsuited
            for (number, shape) in unsorted.sorted(by: { $0.precedes($1) }).enumerated() {
                records[next] = Record(key: shape.key, placeholders: shape.placeholders, salt: salt(shape))
                next += 1
                let classes = tallies[shape, default: Tally()].classes
                for index in 0..<Self.classes where classes[index >> 6] >> UInt64(index & 63) & 1 != 0 {
                    candidates[depth * Self.classes + index] |= 1 << UInt16(number)
                }
            }
        }
    }
}
