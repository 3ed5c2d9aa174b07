/// What the placeholders of a pattern capture: which component, under which name, converted how.
struct CaptureLayout: Sendable {
    struct Capture: Sendable {
        let name: String
        /// The bytes of the name, which are compared with those of every pattern that comes.
        let nameBytes: [UInt8]
        var position: Int
        /// Literal bytes around the placeholder, in the decoded component.
        var prefix = 0
        var suffix = 0
        /// The converter's number plus one; 0 without one.
        var converter = 0
        var isRest = false
        /// How many bytes it takes in the pattern's text, delimiters included.
        var written = 0

        init(name: String, position: Int) {
            self.name = name
            nameBytes = Array(name.utf8)
            self.position = position
        }
    }

    var captures: [Capture] = []
    /// ``PatternShape/key``, or 0.
    var shape: UInt32 = 0
    /// By which it is found; and how many routes have it, so that it goes with the last of them.
    var hash: UInt64 = 0
    var uses = 0

    var record: TableLayout {
        var positions: UInt64 = 0
        var written: UInt64 = 0
        for (index, capture) in captures.prefix(8).enumerated() {
            positions |= UInt64(UInt8(truncatingIfNeeded: capture.position)) << UInt64(index * 8)
            written |= UInt64(UInt8(truncatingIfNeeded: capture.written)) << UInt64(index * 8)
        }
        return TableLayout(
            count: UInt32(captures.count), shape: shape, endsWithRest: captures.last?.isRest ?? false,
            positions: positions, written: written)
    }
}

/// What a pattern captures, while it is being inserted: nothing but a hash, until it proves to be new.
struct CapturedSegments {
    private(set) var hash: UInt64 = 0
    // Only of non-literal pieces: plain placeholders have nothing but name and position.
    private var nonLiteral: [(position: Int, prefix: Int, suffix: Int, converter: Int)] = []

    mutating func add(
        _ piece: PatternPiece, in bytes: UnsafeBufferPointer<UInt8>, position: Int, key: NonLiteralKey? = nil,
        _ seed: TableSeed
    ) {
        var traits = UInt64(truncatingIfNeeded: position) ^ UInt64(piece.end &- piece.start) &<< 32
        if let key {
            nonLiteral.append((position, key.prefix.count, key.suffix.count, key.converter))
            traits ^= UInt64(
                truncatingIfNeeded: key.prefix.count &<< 40 ^ key.suffix.count &<< 24 ^ key.converter &<< 8)
            traits ^= UInt64(key.kind.rawValue &+ 1) &<< 56
        }
        let name = seed.component(piece.nameBytes(in: bytes)).hash
        hash = TableSeed.mix(hash ^ name, traits ^ seed.second)
    }

    func layout(of pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>) -> CaptureLayout {
        var layout = CaptureLayout()
        forEach(pattern) { piece, position in
            var capture = CaptureLayout.Capture(name: piece.name(in: bytes), position: position)
            capture.written = Int(piece.end &- piece.start)
            if let more = nonLiteral.first(where: { $0.position == position }) {
                capture.prefix = more.prefix
                capture.suffix = more.suffix
                capture.converter = more.converter
                capture.isRest = piece.kind == .rest
            }
            layout.captures.append(capture)
            return true
        }
        return layout
    }

    /// Whether a known layout is the one of this pattern.
    func describes(_ known: CaptureLayout, _ pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>)
        -> Bool
    {
        known.captures.withUnsafeBufferPointer { captures in
            var number = 0
            var isEqual = true
            forEach(pattern) { piece, position in
                isEqual = false
                guard number < captures.count else { return false }
                isEqual =
                    captures[number].position == position && captures[number].isRest == (piece.kind == .rest)
                    && captures[number].written == Int(piece.end &- piece.start)
                    && hasNonLiteral(of: captures[number], position)
                    && captures[number].nameBytes.withUnsafeBufferPointer { piece.hasName($0, in: bytes) }
                number += 1
                return isEqual
            }
            return isEqual && number == captures.count
        }
    }

    @inline(__always)
    private func hasNonLiteral(of known: CaptureLayout.Capture, _ position: Int) -> Bool {
        if nonLiteral.isEmpty { return known.prefix + known.suffix + known.converter == 0 }
        let more = nonLiteral.first { $0.position == position } ?? (position, 0, 0, 0)
        return known.prefix == more.prefix && known.suffix == more.suffix && known.converter == more.converter
    }

    private func forEach(_ pattern: RoutePattern, _ body: (PatternPiece, Int) -> Bool) {
        let before = pattern.base == nil ? 0 : 1
        let pieces = pattern.pieces.span
        for index in pieces.indices where pieces[index].isNamed {
            if !body(pieces[index], before + index) { return }
        }
    }
}
