/// What identifies a step that is neither a literal nor a plain placeholder, and orders such steps.
struct NonLiteralKey: Equatable {
    enum Kind: UInt8 {
        case partial, typed, wildcard, rest
    }

    var kind: Kind
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

    /// Reads what ``bytes`` gives.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        let step = NonLiteralStep(bytes)
        kind = step.kind
        converter = step.converter
        prefix = Array(step.prefix)
        suffix = Array(step.suffix)
        var parts = step.parts
        while let part = parts.next() {
            further.append(Part(literal: Array(part.literal), converter: part.converter))
        }
    }

    /// The key as it lies in a record, for ``NonLiteralStep`` to read.
    var bytes: [UInt8] {
        var bytes = [kind.rawValue]
        func write(_ number: Int) {
            bytes.append(UInt8(truncatingIfNeeded: number))
            bytes.append(UInt8(truncatingIfNeeded: number &>> 8))
        }
        write(converter)
        write(prefix.count)
        write(suffix.count)
        bytes += prefix
        bytes += suffix
        for part in further {
            write(part.literal.count)
            write(part.converter)
            bytes += part.literal
        }
        return bytes
    }

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

/// A ``NonLiteralKey`` where it lies: kind, converter, the lengths of prefix and suffix, these, and the placeholders
/// behind the first, each as the length of the literal before it, its converter, and the literal.
struct NonLiteralStep {
    private let memory: UnsafeBufferPointer<UInt8>

    private static let headerBytes = 7

    init(_ bytes: UnsafeBufferPointer<UInt8>) { memory = bytes }

    var kind: NonLiteralKey.Kind { NonLiteralKey.Kind(rawValue: memory[0]) ?? .rest }
    /// The converter's number plus one; 0 without one.
    var converter: Int { Parts.number(memory[1...]) }
    var prefixLength: Int { Parts.number(memory[3...]) }
    var suffixLength: Int { Parts.number(memory[5...]) }
    var prefix: UnsafeBufferPointer<UInt8>.SubSequence { memory[Self.headerBytes...].prefix(prefixLength) }
    var suffix: UnsafeBufferPointer<UInt8>.SubSequence {
        memory[(Self.headerBytes + prefixLength)...].prefix(suffixLength)
    }
    /// The placeholders behind the first.
    var parts: Parts { Parts(left: memory[(Self.headerBytes + prefixLength + suffixLength)...]) }

    struct Parts {
        fileprivate var left: UnsafeBufferPointer<UInt8>.SubSequence

        var isEmpty: Bool { left.isEmpty }

        mutating func next() -> (literal: UnsafeBufferPointer<UInt8>, converter: Int)? {
            guard left.count >= 4 else { return nil }
            let (length, converter) = (Self.number(left), Self.number(left.dropFirst(2)))
            let behind = left.dropFirst(4)
            left = behind.dropFirst(length)
            return (UnsafeBufferPointer(rebasing: behind.prefix(length)), converter)
        }

        fileprivate static func number(_ bytes: UnsafeBufferPointer<UInt8>.SubSequence) -> Int {
            Int(bytes[bytes.startIndex]) | Int(bytes[bytes.startIndex + 1]) &<< 8
        }
    }
}
