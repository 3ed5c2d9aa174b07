@testable import Waypost

/// The rules of matching, written down as plainly as can be: every route is tried, the hits are sorted.
struct ReferenceMatcher {
    struct Route {
        var pattern: RoutePattern
        var priority: Int
        var takesDeeper: Bool
        var index: UInt32
    }

    var routes: [Route] = []

    /// The indices of all routes that take `url`, best first.
    func matches(_ url: RouteURL) -> [UInt32] {
        let hits = routes.compactMap { route in rank(route, url).map { (route, $0) } }
        return hits.sorted { one, other in
            if one.0.priority != other.0.priority { return one.0.priority > other.0.priority }
            if one.1 != other.1 { return one.1.lexicographicallyPrecedes(other.1) }
            return one.0.pattern.scheme != nil && other.0.pattern.scheme == nil
        }.map(\.0.index)
    }

    // The class first, then for parents how far away they are, then each component's kind and finer order.
    private func rank(_ route: Route, _ url: RouteURL) -> [Int]? {
        if let scheme = route.pattern.scheme, scheme != url.scheme { return nil }
        if route.pattern.isFallback { return [route.pattern.scheme == nil ? 3 : 2] }
        let components = url.components
        let segments = route.pattern.segments
        var kinds: [Int] = []
        for (index, segment) in segments.enumerated() {
            guard index < components.count, let kind = rank(segment, components[index]) else { return nil }
            kinds += kind
            if case .rest = segment { return [0, 0] + kinds }
        }
        if components.count == segments.count { return [0, 0] + kinds }
        return route.takesDeeper ? [1, components.count - segments.count] + kinds : nil
    }

    private func rank(_ segment: RoutePattern.Segment, _ text: String) -> [Int]? {
        switch segment {
        case .literal(let literal): return literal == text ? [0] : nil
        case .partial(let prefix, _, let suffix, let converter):
            guard text.utf8.count > prefix.utf8.count + suffix.utf8.count, text.hasPrefix(prefix),
                text.hasSuffix(suffix)
            else { return nil }
            let hole = text.dropFirst(prefix.count).dropLast(suffix.count)
            if let converter, !converts(String(hole), converter) { return nil }
            let order = prefix.utf8.count + suffix.utf8.count
            let texts = prefix.utf8.map { Int($0) } + [-1] + suffix.utf8.map { Int($0) } + [-1]
            return [1, -order, -prefix.utf8.count] + texts + [converter == nil ? 9 : place(converter)]
        case .typed(_, let converter): return converts(text, converter) ? [2, place(converter)] : nil
        case .placeholder: return [3]
        case .wildcard: return [4]
        case .rest: return [5]
        }
    }

    private func place(_ converter: String?) -> Int {
        ["uuid", "int", "double", "bool"].firstIndex(of: converter ?? "") ?? 9
    }

    private func converts(_ text: String, _ converter: String) -> Bool {
        switch converter {
        case "int": Int64(text) != nil
        case "double": Double(text) != nil && text.allSatisfy { "0123456789.+-eE".contains($0) }
        case "bool": ["true", "false"].contains(text.lowercased())
        default: false
        }
    }
}
