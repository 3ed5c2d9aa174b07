/// What identifies a non-literal edge of a node, and orders such edges.
struct NonLiteralKey: Equatable {
    var kind: NonLiteralEdge.Kind
    var converter = 0
    var prefix: [UInt8] = []
    var suffix: [UInt8] = []
    /// The placeholders behind the first, of several.
    var further: [Part] = []

    /// A further placeholder of a component: the literal before it, and its converter.
    struct Part: Equatable {
        var literal: [UInt8]
        /// The converter's number plus one; 0 without one.
        var converter: Int
    }

    /// The key of a pattern's component; `number` gives the number of a converter plus one, and 0 without one.
    init(
        _ piece: PatternPiece, in bytes: UnsafeBufferPointer<UInt8>, ignoresCase: Bool,
        number: (String?) -> Int
    ) {
        func literal(_ start: UInt16, _ end: UInt16) -> [UInt8] {
            let text = piece.decoded(start, end, in: bytes).utf8
            return ignoresCase ? text.map { RouteScheme.lowercased($0) } : Array(text)
        }
        switch piece.kind {
        case .partial, .several:
            kind = .partial
            prefix = literal(piece.start, piece.hole.start)
            converter = number(piece.hole.converter(in: bytes))
            var end = piece.hole.end
            if piece.kind == .several {
                for hole in piece.holes(in: bytes).dropFirst() {
                    further.append(
                        Part(
                            literal: literal(end, hole.start),
                            converter: number(hole.converter(in: bytes))))
                    end = hole.end
                }
            }
            suffix = literal(end, piece.end)
        case .typed:
            kind = .typed
            converter = number(piece.hole.converter(in: bytes))
        case .wildcard: kind = .wildcard
        default: kind = .rest
        }
    }

    init(_ nonLiteral: NonLiteralEdge, in texts: TextArena) {
        kind = nonLiteral.kind
        converter = Int(nonLiteral.converter)
        if nonLiteral.kind == .partial {
            let text = texts.bytes(nonLiteral.text, count: nonLiteral.textLength)
            let (prefixEnd, suffixEnd) = (Int(nonLiteral.prefixLength), nonLiteral.literalLength)
            prefix = Array(text[..<prefixEnd])
            suffix = Array(text[prefixEnd..<suffixEnd])
            var parts = NonLiteralEdge.Parts(UnsafeBufferPointer(rebasing: text[suffixEnd...]))
            while let part = parts.next() {
                further.append(Part(literal: Array(part.literal), converter: part.converter))
            }
        }
    }

    /// The key as ``NonLiteralEdge`` has it behind its reference to a text.
    var text: [UInt8] { further.reduce(into: prefix + suffix) { NonLiteralEdge.Parts.write($1, to: &$0) } }

    private var literalCount: Int { further.reduce(prefix.count + suffix.count) { $0 + $1.literal.count } }

    /// The order of §3, made total so that it depends on nothing but the patterns: partial, typed, `*`, rest; among
    /// partial ones the one with more literal bytes, then the longer prefix, then more placeholders, then by text from
    /// the left; then as converters go, and without a converter last.
    func precedes(_ other: NonLiteralKey, _ converters: ConverterList) -> Bool {
        if kind != other.kind { return kind.rawValue < other.kind.rawValue }
        let (length, otherLength) = (literalCount, other.literalCount)
        if length != otherLength { return length > otherLength }
        if prefix.count != other.prefix.count { return prefix.count > other.prefix.count }
        if further.count != other.further.count { return further.count > other.further.count }
        if prefix != other.prefix { return prefix.lexicographicallyPrecedes(other.prefix) }
        for (one, other) in zip(further, other.further) where one.literal != other.literal {
            return one.literal.lexicographicallyPrecedes(other.literal)
        }
        if suffix != other.suffix { return suffix.lexicographicallyPrecedes(other.suffix) }
        for (one, other) in zip(
            [converter] + further.map(\.converter), [other.converter] + other.further.map(\.converter))
        where one != other {
            return one != 0 && (other == 0 || converters.precedes(one - 1, other - 1))
        }
        return false
    }
}
