import Waypost

/// What two patterns have in common that look alike: their letters, in whatever Unicode form.
///
/// Matching compares bytes. Two strings of Swift are equal when they are canonically equivalent, and so are two keys.
struct LookAlikeKey: Hashable {
    private let scheme: String?
    private let optional: OptionalParts
    private let segments: [RoutePattern.Segment]

    /// Nil for a pattern of ASCII, which nothing else looks like.
    init?(_ pattern: RoutePattern) {
        guard pattern.text.utf8.contains(where: { $0 >= 0x80 || $0 == UInt8(ascii: "%") }) else { return nil }
        scheme = pattern.scheme
        optional = pattern.optional
        segments = pattern.segments.map(\.withoutNames)
        guard segments.contains(where: { !$0.isASCII }) else { return nil }
    }
}

extension RoutePattern.Segment {
    /// The same with placeholders that have no name, for it makes no difference.
    fileprivate var withoutNames: Self {
        switch self {
        case .literal, .wildcard: self
        case .partial(let prefix, _, let suffix, let converter):
            .partial(prefix: prefix, name: "", suffix: suffix, converter: converter)
        case .several(let prefix, let parts):
            .several(prefix: prefix, parts.map { Part(name: "", converter: $0.converter, suffix: $0.suffix) })
        case .typed(_, let converter): .typed(name: "", converter: converter)
        case .placeholder: .placeholder(name: "")
        case .rest: .rest(name: "")
        }
    }

    /// Whether its literal parts are.
    fileprivate var isASCII: Bool {
        let texts: [String] =
            switch self {
            case .literal(let text): [text]
            case .partial(let prefix, _, let suffix, _): [prefix, suffix]
            case .several(let prefix, let parts): [prefix] + parts.map(\.suffix)
            default: []
            }
        return texts.allSatisfy { $0.utf8.allSatisfy { $0 < 0x80 } }
    }
}
