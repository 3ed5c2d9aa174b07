extension RoutePattern {
    /// One component of a pattern, decoded.
    package enum Segment: Sendable, Hashable {
        /// Matches this text.
        case literal(String)
        /// Matches a component that begins and ends with these texts and has something between them.
        case partial(prefix: String, name: String, suffix: String, converter: String?)
        /// Matches a component that begins with this text and has these parts behind it.
        ///
        /// Each placeholder takes at least one byte, and then up to the first place where the text behind it stands; the
        /// last takes what is left.
        case several(prefix: String, [Part])
        /// Matches a component that converts.
        case typed(name: String, converter: String)
        /// Matches any one component.
        case placeholder(name: String)
        /// Matches any one component and gives nothing: `*`.
        case wildcard
        /// Matches one or more components at the end.
        case rest(name: String)

        /// One of several placeholders in a component.
        package struct Part: Sendable, Hashable {
            /// Its name.
            package var name: String
            /// The name of its converter or the constraint; nil without one.
            package var converter: String?
            /// The text behind it, up to the next placeholder or the end; empty only behind the last.
            package var suffix: String

            /// A part by its members.
            package init(name: String, converter: String?, suffix: String) {
                self.name = name
                self.converter = converter
                self.suffix = suffix
            }
        }

        /// The names of the converters, from left to right.
        var converters: [String] {
            switch self {
            case .typed(_, let converter): [converter]
            case .partial(_, _, _, let converter): converter.map { [$0] } ?? []
            case .several(_, let parts): parts.compactMap(\.converter)
            default: []
            }
        }

        /// The names under which it gives what it matched, from left to right.
        var names: [String] {
            switch self {
            case .literal, .wildcard: []
            case .partial(_, let name, _, _), .typed(let name, _), .placeholder(let name), .rest(let name):
                [name]
            case .several(_, let parts): parts.map(\.name)
            }
        }
    }

    /// The components from left to right; none for a fallback and for `/`.
    package var segments: [Segment] {
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
        case literal, partial, several, typed, placeholder, wildcard, rest
    }

    var kind: Kind
    /// Whether literal parts must be decoded.
    var isEncoded = false
    /// The whole component.
    var start: UInt16
    var end: UInt16
    /// The placeholder inside the component, the first of several.
    var hole = Placeholder()

    /// Whether it gives what it matches under a name.
    var isNamed: Bool { kind != .literal && kind != .wildcard }

    /// The whole component, as written.
    func literal(in bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: bytes[Int(start)..<Int(end)])
    }

    /// The placeholders with a name, from left to right.
    func holes(in bytes: UnsafeBufferPointer<UInt8>) -> [Placeholder] {
        guard kind == .several else { return isNamed ? [hole] : [] }
        var holes: [Placeholder] = []
        var index = Int(start)
        while index < Int(end) {
            if Placeholder.begins(bytes[index]), let hole = try? Placeholder(bytes, from: index, to: Int(end))
            {
                holes.append(hole)
                index = Int(hole.end)
            } else {
                index &+= 1
            }
        }
        return holes
    }

    func decoded(_ start: UInt16, _ end: UInt16, in bytes: UnsafeBufferPointer<UInt8>) -> String {
        PercentCoding.decode(UnsafeBufferPointer(rebasing: bytes[Int(start)..<Int(end)]))
    }

    func segment(in bytes: UnsafeBufferPointer<UInt8>) -> RoutePattern.Segment {
        switch kind {
        case .literal: .literal(decoded(start, end, in: bytes))
        case .partial:
            .partial(
                prefix: decoded(start, hole.start, in: bytes), name: hole.name(in: bytes),
                suffix: decoded(hole.end, end, in: bytes), converter: hole.converter(in: bytes))
        case .several: several(in: bytes)
        case .typed: .typed(name: hole.name(in: bytes), converter: hole.converter(in: bytes) ?? "")
        case .placeholder: .placeholder(name: hole.name(in: bytes))
        case .wildcard: .wildcard
        case .rest: .rest(name: hole.name(in: bytes))
        }
    }

    private func several(in bytes: UnsafeBufferPointer<UInt8>) -> RoutePattern.Segment {
        let holes = holes(in: bytes)
        let ends = holes.dropFirst().map(\.start) + [end]
        let parts = zip(holes, ends).map { hole, end in
            RoutePattern.Segment.Part(
                name: hole.name(in: bytes), converter: hole.converter(in: bytes),
                suffix: decoded(hole.end, end, in: bytes))
        }
        return .several(prefix: decoded(start, hole.start, in: bytes), parts)
    }
}
