/// The way to the end of a pattern that has nothing but literals and plain placeholders.
struct PatternWay {
    private(set) var shape = WayShape()
    /// What the first component adds to the hash, if it is a literal.
    private(set) var firstPart: UInt64?
    private var parts: UInt64 = 0

    mutating func add(literal text: UnsafeBufferPointer<UInt8>, _ seed: TableSeed) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count + 16) { copy in
            guard let base = copy.baseAddress, let source = text.baseAddress else { return }
            base.initialize(repeating: 0, count: text.count + 16)
            (base + 8).update(from: source, count: text.count)
            let words = WayWords(base, from: 8, to: 8 + text.count)
            let part = words.part(seed.first, seed.second &+ UInt64(shape.depth) &* WayWords.step)
            if shape.depth == 0 { firstPart = part }
            parts &+= part
        }
        shape.depth += 1
    }

    mutating func addPlaceholder() {
        shape.placeholders |= 1 << UInt32(shape.depth)
        shape.depth += 1
    }

    /// Under which the way's first entry is found.
    func hash(_ shapes: WayShapes) -> UInt64 {
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
    /// between two, and none or one `/` at the end; and no more and no longer placeholders than a layout tells.
    var comparablePathStart: UInt8? {
        guard base == nil else { return nil }
        guard let first = pieces.first, let last = pieces.last else { return 0 }
        guard pieces.count(where: { $0.kind != .literal }) <= RouteMatch.inlineCaptures else { return nil }
        var next = first.start
        for piece in pieces {
            guard piece.start == next, !piece.isEncoded,
                piece.kind == .literal || piece.end - piece.start < 256
            else { return nil }
            next = piece.end &+ 1
        }
        let behind = text.utf8.dropFirst(Int(last.end))
        guard behind.isEmpty || behind.elementsEqual("/".utf8) else { return nil }
        return UInt8(exactly: first.start)
    }
}
