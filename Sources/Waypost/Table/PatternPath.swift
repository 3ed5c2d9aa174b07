/// The path to the end of a pattern that has nothing but literals and plain placeholders.
struct PatternPath {
    private(set) var shape = PatternShape()
    /// What the first component adds to the hash, if it is a literal.
    private(set) var firstPart: UInt64?
    private var parts: UInt64 = 0

    /// Adds the literal that lies from `start` to `end`.
    mutating func add(
        literal text: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int, _ seed: TableSeed
    ) {
        guard let base = text.baseAddress else { return }
        if end >= 8 || start + 8 <= text.count { return add(PathWords(base, from: start, to: end), seed) }
        // A text too short to read words in is moved to where there is space before it.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16) { copy in
            guard let copied = copy.baseAddress else { return }
            copied.initialize(repeating: 0, count: 16)
            (copied + 8).update(from: base + start, count: end - start)
            add(PathWords(copied, from: 8, to: 8 + end - start), seed)
        }
    }

    private mutating func add(_ words: PathWords, _ seed: TableSeed) {
        let part = words.part(seed.first, seed.second &+ UInt64(shape.depth) &* PathWords.step)
        if shape.depth == 0 { firstPart = part }
        parts &+= part
        shape.depth += 1
    }

    mutating func addPlaceholder() {
        shape.placeholders |= 1 << UInt32(shape.depth)
        shape.depth += 1
    }

    /// Under which the path's first entry is found.
    func hash(_ shapes: PatternShapes) -> UInt64 {
        parts &+ shapes.salt(shape)
    }
}

extension RoutePattern {
    /// How many components the URLs have that it takes whole.
    var depths: ClosedRange<Int> {
        let count = pieces.count + (base == nil ? 0 : 1)
        return count...(pieces.last?.kind == .rest ? Int.max : count)
    }

    /// Where the components begin in its text, if they stand there as they do in a URL: nothing encoded, one `/`
    /// between two, and none or one `/` at the end; and not more or longer placeholders than a layout can hold.
    var comparablePathStart: UInt8? {
        guard base == nil, optional.areNone else { return nil }
        guard let first = pieces.first, let last = pieces.last else { return 0 }
        var next = first.start
        var placeholders = 0
        let pieces = pieces.span
        for index in pieces.indices {
            let piece = pieces[index]
            guard piece.start == next, !piece.isEncoded else { return nil }
            next = piece.end &+ 1
            guard piece.kind != .literal else { continue }
            placeholders += 1
            guard piece.end - piece.start < 256, placeholders <= RouteMatch.inlineCaptures else { return nil }
        }
        let behind = text.utf8.count - Int(last.end)
        guard behind == 0 || behind == 1 && text.utf8.last == UInt8(ascii: "/") else { return nil }
        return UInt8(exactly: first.start)
    }
}
