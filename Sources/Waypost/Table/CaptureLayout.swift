/// What the placeholders of a pattern capture: which component, under which name, converted how.
struct CaptureLayout: Sendable {
    struct Capture: Sendable {
        var name: String
        var position: Int
        /// Literal bytes around the placeholder, in the decoded component.
        var prefix = 0
        var suffix = 0
        /// The converter's number plus one; 0 without one.
        var converter = 0
        var isRest = false
        /// How many bytes it takes in the pattern's text, delimiters included.
        var written = 0
    }

    var captures: [Capture] = []
    /// ``WayShape/key``, or 0.
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
struct CapturedPieces {
    private(set) var hash: UInt64 = 0
    // Only of special pieces: plain placeholders have nothing but name and position.
    private var special: [(position: Int, prefix: Int, suffix: Int, converter: Int)] = []

    mutating func add(
        _ piece: PatternPiece, in bytes: UnsafeBufferPointer<UInt8>, position: Int, key: SpecialKey? = nil
    ) {
        var mixed = hash ^ UInt64(truncatingIfNeeded: position &+ 1)
        if let key {
            special.append((position, key.prefix.count, key.suffix.count, key.converter))
            mixed ^= UInt64(
                truncatingIfNeeded: key.prefix.count &<< 40 ^ key.suffix.count &<< 24 ^ key.converter &<< 8)
            mixed ^= UInt64(key.kind.rawValue &+ 1) &<< 56
        }
        mixed ^= UInt64(piece.holeEnd &- piece.holeStart) &<< 32
        for index in Int(piece.nameStart)..<Int(piece.nameEnd) {
            mixed = (mixed ^ UInt64(bytes[index])) &* 0x100_0000_01b3
        }
        let product = (mixed ^ 0xff) &* 0x9e37_79b9_7f4a_7c15
        hash = product &>> 32 | product &<< 32
    }

    func layout(of pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>) -> CaptureLayout {
        var layout = CaptureLayout()
        forEach(pattern) { piece, position in
            var capture = CaptureLayout.Capture(name: piece.name(in: bytes), position: position)
            capture.written = Int(piece.end &- piece.start)
            if let more = special.first(where: { $0.position == position }) {
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
        var number = 0
        var isEqual = true
        forEach(pattern) { piece, position in
            isEqual = false
            guard number < known.captures.count else { return false }
            let capture = known.captures[number]
            number += 1
            guard capture.position == position, capture.isRest == (piece.kind == .rest),
                capture.written == Int(piece.end &- piece.start)
            else { return false }
            let more = special.first { $0.position == position } ?? (position, 0, 0, 0)
            guard capture.prefix == more.prefix, capture.suffix == more.suffix,
                capture.converter == more.converter
            else { return false }
            isEqual = piece.isNamed(capture.name, in: bytes)
            return isEqual
        }
        return isEqual && number == known.captures.count
    }

    private func forEach(_ pattern: RoutePattern, _ body: (PatternPiece, Int) -> Bool) {
        var position = pattern.base == nil ? 0 : 1
        for piece in pattern.pieces {
            if piece.isNamed, !body(piece, position) { return }
            position += 1
        }
    }
}
