@testable import Waypost

/// The rules of matching, written down as plainly as can be: every route is tried, the hits are sorted.
struct ReferenceMatcher {
    struct Route {
        var pattern: RoutePattern
        var priority: Int
        var takesDeeper: Bool
        var index: UInt32
        /// The components of the pattern, and of those that are left of it without its optional parts.
        fileprivate let rows: [[RoutePattern.Segment]]

        init(pattern: RoutePattern, priority: Int, takesDeeper: Bool, index: UInt32) {
            self.pattern = pattern
            self.priority = priority
            self.takesDeeper = takesDeeper
            self.index = index
            let all = pattern.segments
            let before = pattern.base == nil ? 0 : 1
            rows = [all] + pattern.optional.pieces.map { Array(all.prefix($0 + before)) }
        }
    }

    var routes: [Route] = []

    /// The indices of all routes that take `url`, best first.
    func matches(_ url: RouteURL) -> [UInt32] {
        let components = url.components.map { Array($0.utf8) }
        let hits = routes.compactMap { route in rank(route, url.scheme, components).map { (route, $0) } }
        return hits.sorted { one, other in
            if one.0.priority != other.0.priority { return one.0.priority > other.0.priority }
            if one.1 != other.1 { return one.1.lexicographicallyPrecedes(other.1) }
            return one.0.pattern.scheme != nil && other.0.pattern.scheme == nil
        }.map(\.0.index)
    }

    // The class first, then for parents how far away they are, then each component's kind and finer order.
    private func rank(_ route: Route, _ scheme: String, _ components: [[UInt8]]) -> [Int]? {
        if let wanted = route.pattern.scheme, wanted != scheme { return nil }
        if route.pattern.isFallback { return [route.pattern.scheme == nil ? 3 : 2] }
        let ranks = route.rows.compactMap { rank($0, route, components) }
        return ranks.min { $0.lexicographicallyPrecedes($1) }
    }

    private func rank(
        _ segments: [RoutePattern.Segment], _ route: Route, _ components: [[UInt8]]
    ) -> [Int]? {
        var kinds: [Int] = []
        for (index, segment) in segments.enumerated() {
            guard index < components.count,
                let kind = rank(segment, components[index], route.pattern.ignoresCase)
            else { return nil }
            kinds += kind
            if case .rest = segment { return [0, 0] + kinds }
        }
        if components.count == segments.count { return [0, 0] + kinds }
        return route.takesDeeper ? [1, components.count - segments.count] + kinds : nil
    }

    private func bytes(_ text: String, _ ignoresCase: Bool) -> [UInt8] {
        bytes(Array(text.utf8), ignoresCase)
    }

    private func bytes(_ bytes: [UInt8], _ ignoresCase: Bool) -> [UInt8] {
        ignoresCase ? bytes.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 + 32 : $0 } : bytes
    }

    // By bytes: canonically equivalent texts are different components.
    private func rank(_ segment: RoutePattern.Segment, _ given: [UInt8], _ ignoresCase: Bool) -> [Int]? {
        let bytes = self.bytes(given, ignoresCase)
        switch segment {
        case .literal(let literal): return bytes == self.bytes(literal, ignoresCase) ? [0] : nil
        case .partial(let prefix, _, let suffix, let converter):
            let (prefix, suffix) = (self.bytes(prefix, ignoresCase), self.bytes(suffix, ignoresCase))
            guard bytes.count > prefix.count + suffix.count, bytes.starts(with: prefix),
                bytes.reversed().starts(with: suffix.reversed())
            else { return nil }
            let hole = given.dropFirst(prefix.count).dropLast(suffix.count)
            if let converter, !converts(Array(hole), converter) { return nil }
            let texts = prefix.map { Int($0) } + [-1] + suffix.map { Int($0) } + [-1]
            return [1, -prefix.count - suffix.count, -prefix.count, -1] + texts + place(converter)
        case .several(let prefix, let parts):
            let literals = [prefix] + parts.map(\.suffix)
            return rank(
                literals.map { self.bytes($0, ignoresCase) }, parts.map(\.converter), bytes, given)
        case .typed(_, let converter): return converts(given, converter) ? [2] + place(converter) : nil
        case .placeholder: return [3]
        case .wildcard: return [4]
        case .rest: return [5]
        }
    }

    // Each placeholder takes as little as it can, but something; the last takes what is left.
    private func rank(
        _ literals: [[UInt8]], _ converters: [String?], _ bytes: [UInt8], _ given: [UInt8]
    ) -> [Int]? {
        guard let prefix = literals.first, let suffix = literals.last, bytes.starts(with: prefix) else {
            return nil
        }
        var left = bytes.dropFirst(prefix.count)
        guard left.count >= suffix.count, left.suffix(suffix.count).elementsEqual(suffix) else { return nil }
        left = left.dropLast(suffix.count)
        for (number, converter) in converters.enumerated() {
            var hole = left
            if number < converters.count - 1 {
                let literal = literals[number + 1]
                let end = left.indices.dropFirst().first { left[$0...].starts(with: literal) }
                guard let end else { return nil }
                hole = left[..<end]
                left = left[end...].dropFirst(literal.count)
            }
            guard !hole.isEmpty, converter.map({ converts(Array(given[hole.indices]), $0) }) ?? true else {
                return nil
            }
        }
        let texts = literals.flatMap { $0.map { Int($0) } + [-1] }
        return [1, -literals.reduce(0) { $0 + $1.count }, -prefix.count, -converters.count] + texts
            + converters.flatMap { place($0) }
    }

    private func place(_ converter: String?) -> [Int] {
        guard let converter, let constraint = PatternConstraint(converter) else {
            return [["uuid", "int", "double", "bool"].firstIndex(of: converter ?? "") ?? 9]
        }
        return [-1] + constraint.name.utf8.map { Int($0) } + [-1]
    }

    private func converts(_ bytes: [UInt8], _ converter: String) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        switch PatternConstraint(converter) {
        case .int(let range): return Int64(text).map(range.contains) ?? false
        case .oneOf(let texts): return texts.map { Array($0.utf8) }.contains(bytes)
        case nil: break
        }
        return switch converter {
        case "int": Int64(text) != nil
        case "double":
            Double(text)?.isFinite == true && bytes.allSatisfy { "0123456789.+-eE".utf8.contains($0) }
        case "bool": ["true", "false"].contains(text.lowercased())
        case "uuid":
            text.split(separator: "-", omittingEmptySubsequences: false).map(\.utf8.count) == [
                8, 4, 4, 4, 12,
            ]
                && bytes.allSatisfy { "0123456789abcdefABCDEF-".utf8.contains($0) }
        default: false
        }
    }
}
