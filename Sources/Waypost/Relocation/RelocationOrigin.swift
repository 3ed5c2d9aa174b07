/// The origin of a redirect: a URL, all URLs below one, or a pattern in the language of routes.
package struct RelocationOrigin: Sendable {
    enum Kind: Sendable {
        case path(RelocationPath)
        case pattern(RoutePattern)
    }

    let kind: Kind
    /// What two origins are compared by; the names of placeholders make no difference.
    package let key: RelocationPath.Key

    /// The origin as it was written.
    package var text: String {
        switch kind {
        case .path(let path): path.text
        case .pattern(let pattern): pattern.text
        }
    }

    /// The text for details: of a query it has the keys only.
    package var shown: String { RouteURL.withoutValues(text) }

    /// The pattern; nil for a URL and for all URLs below one.
    package var pattern: RoutePattern? {
        if case .pattern(let pattern) = kind { pattern } else { nil }
    }

    /// Whether it takes all URLs below one.
    package var isSubtree: Bool {
        if case .path(let path) = kind { path.isSubtree } else { false }
    }

    /// The scheme of the URLs that it takes; nil for any.
    package var scheme: String? {
        switch kind {
        case .path(let path): path.scheme
        case .pattern(let pattern): pattern.scheme
        }
    }

    /// How many components stand before the rest.
    var fixedCount: Int {
        switch kind {
        case .path(let path): path.components.count
        case .pattern(let pattern): pattern.segments.count - 1
        }
    }

    /// The name of the rest of a pattern; nil without one.
    var restName: String? {
        if case .rest(let name) = pattern?.segments.last { name } else { nil }
    }

    init(
        _ text: String, index: Int, field: String = "orginPath", _ language: RelocationLanguage
    ) throws(RelocationError) {
        if let pattern = try language.pattern(text, index: index, field: field),
            !Self.isSubtreeOfScheme(pattern)
        {
            kind = .pattern(pattern)
            key = Self.key(of: pattern)
            return
        }
        let path = try RelocationPath(text, index: index, field: field)
        kind = .path(path)
        key = language.ignoresCase ? path.key.lowercased : path.key
    }

    /// The same as a pattern, to stand beside others.
    package var asPattern: RoutePattern? {
        switch kind {
        case .pattern(let pattern): return pattern
        case .path(let path):
            let components = path.components.map { PercentCoding.encode($0, for: .component) }
            let rest = path.isSubtree ? ["**"] : []
            let scheme = path.scheme.isEmpty ? "/" : path.scheme + "://"
            return try? RoutePattern(scheme + (components + rest).joined(separator: "/"))
        }
    }

    /// Whether that takes more: it is without a scheme, which in a pattern is any, or a scheme alone, which is a fallback.
    var isNarrower: Bool {
        guard case .path(let path) = kind else { return false }
        return path.scheme.isEmpty || path.components.isEmpty && !path.isSubtree
    }

    /// Whether it takes a URL that the pattern takes.
    func takes(_ url: RouteURL) -> Bool {
        guard case .path(let path) = kind, isNarrower else { return true }
        return path.scheme.isEmpty ? !url.hasScheme : url.components.isEmpty
    }

    /// What the samples of subtrees have below them.
    static let sampleText = "waypost~sample"

    /// A URL that it takes; nil when a custom converter decides.
    package var sample: RouteURL? {
        switch kind {
        case .path(let path):
            // An address in brackets can't be written as a component.
            (try? RouteURL(
                scheme: path.scheme, components: path.components + (path.isSubtree ? [Self.sampleText] : [])))
                ?? RouteURL(path.isSubtree ? path.stem + Self.sampleText : path.text)
        case .pattern(let pattern): pattern.sample
        }
    }

    /// Only `/**` behind literals, and of one scheme: the tree of redirects finds these by itself.
    private static func isSubtreeOfScheme(_ pattern: RoutePattern) -> Bool {
        let segments = pattern.segments
        guard pattern.scheme != nil, case .rest("**") = segments.last else { return false }
        return segments.dropLast().allSatisfy { !$0.isHole }
    }

    private static func name(_ converter: String) -> String {
        PatternConstraint(converter)?.name ?? converter
    }

    /// No component has a control character, so these bytes keep placeholders and literals apart.
    private static func key(of pattern: RoutePattern) -> RelocationPath.Key {
        var bytes = pattern.scheme.map { Array($0.utf8) } ?? [1]
        func literal(_ text: String) -> [UInt8] {
            pattern.ignoresCase ? text.utf8.map { RouteScheme.lowercased($0) } : Array(text.utf8)
        }
        func add(_ mark: UInt8, _ text: [UInt8]) {
            bytes.append(mark)
            bytes += text
        }
        for segment in pattern.segments {
            bytes.append(0)
            switch segment {
            case .literal(let text): bytes += literal(text)
            case .placeholder: bytes.append(1)
            case .wildcard: bytes.append(2)
            case .typed(_, let converter): add(3, Array(Self.name(converter).utf8))
            case .partial(let prefix, _, let suffix, let converter):
                add(4, literal(prefix))
                add(5, literal(suffix))
                add(5, Array(Self.name(converter ?? "").utf8))
            case .several(let prefix, let parts):
                add(4, literal(prefix))
                for part in parts {
                    add(6, Array(Self.name(part.converter ?? "").utf8))
                    add(5, literal(part.suffix))
                }
            case .rest: bytes.append(0)
            }
        }
        return RelocationPath.Key(bytes: bytes)
    }
}
