extension RoutePattern {
    /// One component of a pattern, decoded.
    public enum Segment: Sendable, Hashable {
        /// Matches this text.
        case literal(String)
        /// Matches a component that begins and ends with these texts and has something between them.
        case partial(prefix: String, name: String, suffix: String, converter: String?)
        /// Matches a component that converts.
        case typed(name: String, converter: String)
        /// Matches any one component.
        case placeholder(name: String)
        /// Matches any one component and gives nothing: `*`.
        case wildcard
        /// Matches one or more components at the end.
        case rest(name: String)

        /// The name of the converter; nil without one.
        var converter: String? {
            switch self {
            case .typed(_, let converter): converter
            case .partial(_, _, _, let converter): converter
            default: nil
            }
        }

        /// The name under which it gives what it matched.
        public var name: String? {
            switch self {
            case .literal, .wildcard: nil
            case .partial(_, let name, _, _), .typed(let name, _), .placeholder(let name), .rest(let name):
                name
            }
        }
    }

    /// The components from left to right; none for a fallback and for `/`.
    public var segments: [Segment] {
        let own = text.utf8Span.span.withUnsafeBufferPointer { bytes in
            pieces.map { $0.segment(in: bytes) }
        }
        guard let base else { return own }
        return [.literal(base)] + own
    }
}

/// One component as it lies in the pattern's text: positions only, so that reading 100 000 patterns stays cheap.
struct PatternPiece: Sendable, Hashable {
    enum Kind: UInt8, Sendable {
        case literal, partial, typed, placeholder, wildcard, rest
    }

    var kind: Kind
    /// Whether literal parts must be decoded.
    var isEncoded = false
    /// The whole component.
    var start: UInt16
    var end: UInt16
    /// The placeholder with its delimiters, inside the component.
    var holeStart: UInt16 = 0
    var holeEnd: UInt16 = 0
    /// The name inside it; empty for `**`.
    var nameStart: UInt16 = 0
    var nameEnd: UInt16 = 0
    /// The converter's name inside it; empty without one.
    var converterStart: UInt16 = 0
    var converterEnd: UInt16 = 0

    /// Whether it gives what it matches under a name.
    var isNamed: Bool { kind != .literal && kind != .wildcard }

    /// The whole component, as written.
    func literal(in bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: bytes[Int(start)..<Int(end)])
    }

    func nameBytes(in bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: bytes[Int(nameStart)..<Int(nameEnd)])
    }

    func name(in bytes: UnsafeBufferPointer<UInt8>) -> String {
        nameStart == nameEnd ? "**" : text(nameStart, nameEnd, in: bytes)
    }

    func hasName(_ name: UnsafeBufferPointer<UInt8>, in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        if nameStart == nameEnd {
            return name.count == 2 && name[0] == UInt8(ascii: "*") && name[1] == name[0]
        }
        guard name.count == Int(nameEnd &- nameStart) else { return false }
        for index in name.indices where name[index] != bytes[Int(nameStart) &+ index] { return false }
        return true
    }

    func converter(in bytes: UnsafeBufferPointer<UInt8>) -> String? {
        converterStart == converterEnd ? nil : text(converterStart, converterEnd, in: bytes)
    }

    func text(_ start: UInt16, _ end: UInt16, in bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(decoding: bytes[Int(start)..<Int(end)], as: UTF8.self)
    }

    func decoded(_ start: UInt16, _ end: UInt16, in bytes: UnsafeBufferPointer<UInt8>) -> String {
        PercentCoding.decode(UnsafeBufferPointer(rebasing: bytes[Int(start)..<Int(end)]))
    }

    func segment(in bytes: UnsafeBufferPointer<UInt8>) -> RoutePattern.Segment {
        switch kind {
        case .literal: .literal(decoded(start, end, in: bytes))
        case .partial:
            .partial(
                prefix: decoded(start, holeStart, in: bytes), name: name(in: bytes),
                suffix: decoded(holeEnd, end, in: bytes), converter: converter(in: bytes))
        case .typed: .typed(name: name(in: bytes), converter: converter(in: bytes) ?? "")
        case .placeholder: .placeholder(name: name(in: bytes))
        case .wildcard: .wildcard
        case .rest: .rest(name: name(in: bytes))
        }
    }
}
