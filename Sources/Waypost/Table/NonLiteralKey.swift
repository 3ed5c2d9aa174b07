/// What identifies a non-literal edge of a node, and orders such edges.
struct NonLiteralKey: Equatable {
    var kind: NonLiteralEdge.Kind
    var converter = 0
    var prefix: [UInt8] = []
    var suffix: [UInt8] = []

    /// The key of a pattern's component; `converter` is its number plus one.
    init(_ piece: PatternPiece, in bytes: UnsafeBufferPointer<UInt8>, converter: Int) {
        switch piece.kind {
        case .partial:
            kind = .partial
            prefix = Array(piece.decoded(piece.start, piece.holeStart, in: bytes).utf8)
            suffix = Array(piece.decoded(piece.holeEnd, piece.end, in: bytes).utf8)
            self.converter = converter
        case .typed:
            kind = .typed
            self.converter = converter
        case .wildcard: kind = .wildcard
        default: kind = .rest
        }
    }

    init(_ nonLiteral: NonLiteralEdge, in texts: TextArena) {
        kind = nonLiteral.kind
        converter = Int(nonLiteral.converter)
        if nonLiteral.kind == .partial {
            let text = texts.bytes(
                nonLiteral.text, count: Int(nonLiteral.prefixLength) + Int(nonLiteral.suffixLength))
            prefix = Array(text.prefix(Int(nonLiteral.prefixLength)))
            suffix = Array(text.dropFirst(Int(nonLiteral.prefixLength)))
        }
    }

    /// The order of §3, made total so that it depends on nothing but the patterns: partial, typed, `*`, rest; among
    /// partial ones the one with more literal bytes, then the longer prefix, then by text; then as converters go,
    /// and without a converter last.
    func precedes(_ other: NonLiteralKey, _ converters: ConverterList) -> Bool {
        if kind != other.kind { return kind.rawValue < other.kind.rawValue }
        let (length, otherLength) = (prefix.count + suffix.count, other.prefix.count + other.suffix.count)
        if length != otherLength { return length > otherLength }
        if prefix.count != other.prefix.count { return prefix.count > other.prefix.count }
        if prefix != other.prefix { return prefix.lexicographicallyPrecedes(other.prefix) }
        if suffix != other.suffix { return suffix.lexicographicallyPrecedes(other.suffix) }
        if converter == 0 || other.converter == 0 { return converter != 0 && other.converter == 0 }
        return converters.precedes(converter - 1, other.converter - 1)
    }
}
