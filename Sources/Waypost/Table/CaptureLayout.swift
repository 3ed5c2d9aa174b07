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
        /// Of several placeholders in a component, the literals between them and which one this is; empty otherwise.
        var between: [[UInt8]] = []
        var number = 0
        /// How many bytes it takes in the pattern's text, delimiters included.
        var written = 0

        init(name: String, position: Int) {
            self.name = name
            nameBytes = Array(name.utf8)
            self.position = position
        }

        /// What it takes of a component that the pattern took.
        func text(of component: String, ignoringCase: Bool) -> String {
            if !between.isEmpty { return part(of: component, ignoringCase) }
            guard prefix + suffix > 0 else { return component }
            return String(decoding: component.utf8.dropFirst(prefix).dropLast(suffix), as: UTF8.self)
        }

        private func part(of component: String, _ ignoringCase: Bool) -> String {
            let compared = component.utf8.map { ignoringCase ? RouteScheme.lowercased($0) : $0 }
            return compared.withUnsafeBufferPointer { bytes in
                var holes = SeveralHoles(bytes, prefix: prefix, suffix: suffix)
                var hole: Range<Int>?
                for literal in between.prefix(number + 1) {
                    hole = literal.withUnsafeBufferPointer { holes.next(before: $0) }
                }
                if number == between.count { hole = holes.last }
                guard let hole else { return "" }
                return String(
                    decoding: component.utf8.dropFirst(hole.lowerBound).prefix(hole.count), as: UTF8.self)
            }
        }
    }

    var captures: [Capture] = []
    /// The optional parts of the patterns, and whether these are such without all of them.
    var optional = OptionalParts()
    var isShorter = false
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
    private var nonLiteral: [(position: Int, key: NonLiteralKey)] = []

    mutating func add(
        _ piece: PatternPiece, in bytes: UnsafeBufferPointer<UInt8>, position: Int, key: NonLiteralKey? = nil,
        _ seed: TableSeed
    ) {
        if piece.kind == .several {
            for hole in piece.holes(in: bytes).dropFirst() { add(name: hole, in: bytes, 0, seed) }
        }
        var traits = UInt64(truncatingIfNeeded: position) ^ UInt64(piece.end &- piece.start) &<< 32
        if let key {
            nonLiteral.append((position, key))
            traits ^= UInt64(
                truncatingIfNeeded: key.prefix.count &<< 40 ^ key.suffix.count &<< 24 ^ key.converter &<< 8)
            traits ^= UInt64(key.kind.rawValue &+ 1) &<< 56
        }
        add(name: piece.hole, in: bytes, traits, seed)
    }

    @inline(__always)
    private mutating func add(
        name hole: PatternHole, in bytes: UnsafeBufferPointer<UInt8>, _ traits: UInt64, _ seed: TableSeed
    ) {
        let name = seed.component(hole.nameBytes(in: bytes)).hash
        hash = TableSeed.mix(hash ^ name, traits ^ seed.second)
    }

    func layout(of pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>) -> CaptureLayout {
        var layout = CaptureLayout()
        layout.optional = pattern.optional
        layout.isShorter = pattern.isShorter
        forEach(pattern, in: bytes) { piece, hole, number, position in
            var capture = CaptureLayout.Capture(name: hole.name(in: bytes), position: position)
            capture.written = Int(piece.end &- piece.start)
            if let key = nonLiteral.first(where: { $0.position == position })?.key {
                capture.prefix = key.prefix.count
                capture.suffix = key.suffix.count
                capture.converter = number == 0 ? key.converter : key.further[number - 1].converter
                capture.isRest = piece.kind == .rest
                capture.between = key.further.map(\.literal)
                capture.number = number
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
        guard known.optional == pattern.optional, known.isShorter == pattern.isShorter else { return false }
        return known.captures.withUnsafeBufferPointer { captures in
            var count = 0
            var isEqual = true
            forEach(pattern, in: bytes) { piece, hole, number, position in
                isEqual = false
                guard count < captures.count else { return false }
                isEqual =
                    captures[count].position == position && captures[count].isRest == (piece.kind == .rest)
                    && captures[count].written == Int(piece.end &- piece.start)
                    && hasNonLiteral(of: captures[count], position, number)
                    && captures[count].nameBytes.withUnsafeBufferPointer { hole.hasName($0, in: bytes) }
                count += 1
                return isEqual
            }
            return isEqual && count == captures.count
        }
    }

    @inline(__always)
    private func hasNonLiteral(of known: CaptureLayout.Capture, _ position: Int, _ number: Int) -> Bool {
        guard !nonLiteral.isEmpty, let key = nonLiteral.first(where: { $0.position == position })?.key else {
            return known.prefix + known.suffix + known.converter == 0
        }
        return known.prefix == key.prefix.count && known.suffix == key.suffix.count
            && known.converter == (number == 0 ? key.converter : key.further[number - 1].converter)
            && known.number == number && known.between.elementsEqual(key.further) { $0 == $1.literal }
    }

    private func forEach(
        _ pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>,
        _ body: (PatternPiece, PatternHole, _ number: Int, _ position: Int) -> Bool
    ) {
        let before = pattern.base == nil ? 0 : 1
        let pieces = pattern.pieces.span
        for index in pieces.indices where pieces[index].isNamed {
            let piece = pieces[index]
            if !body(piece, piece.hole, 0, before + index) { return }
            guard piece.kind == .several else { continue }
            for (number, hole) in piece.holes(in: bytes).enumerated().dropFirst()
            where !body(piece, hole, number, before + index) { return }
        }
    }
}
