/// The redirects in force, by the components of their origins.
///
/// A tree, so that following one costs as many steps as the URL has components, however many redirects there are.
struct RelocationTree: Sendable {
    private struct Step: Hashable {
        let node: Int
        let component: String

        // By bytes, not by Unicode equivalence, as everywhere in matching.
        static func == (one: Step, other: Step) -> Bool {
            one.node == other.node && one.component.utf8.elementsEqual(other.component.utf8)
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(node)
            component.utf8Span.span.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    private struct Node {
        var exact: Int?
        var subtree: Int?
    }

    private var nodes = [Node()]
    private var steps: [Step: Int] = [:]

    /// Whether there is no redirect.
    private(set) var isEmpty = true
    private let ignoresCase: Bool

    init(ignoresCase: Bool) { self.ignoresCase = ignoresCase }

    private func step(_ node: Int, _ component: String) -> Step {
        guard ignoresCase else { return Step(node: node, component: component) }
        return Step(
            node: node,
            component: String(decoding: component.utf8.map { RouteScheme.lowercased($0) }, as: UTF8.self))
    }

    mutating func insert(_ redirect: Int, at origin: RelocationPath) {
        isEmpty = false
        var node = 0
        for component in [origin.scheme] + origin.components {
            let step = step(node, component)
            if let next = steps[step] {
                node = next
            } else {
                nodes.append(Node())
                steps[step] = nodes.count - 1
                node = nodes.count - 1
            }
        }
        if origin.isSubtree { nodes[node].subtree = redirect } else { nodes[node].exact = redirect }
    }

    /// The redirect that takes this path: the exact one, or the deepest subtree above it.
    ///
    /// For a subtree only a redirect that takes all of it counts.
    func find(scheme: String, components: [String], isSubtree: Bool = false) -> Int? {
        guard var search = search(scheme) else { return nil }
        for component in components where !self.search(&search, component) { return search.deepest }
        let node = nodes[search.node]
        return (isSubtree ? node.subtree : node.exact) ?? search.deepest
    }

    /// All redirects that take a URL: the exact one, then the subtrees from the deepest to the one that takes most.
    func findAll(_ url: RouteURL) -> [Int] {
        guard var search = search(url.scheme) else { return [] }
        var found: [Int] = []
        var isWhole = true
        url.forEachComponent { start, end in
            if let subtree = nodes[search.node].subtree { found.append(subtree) }
            isWhole = self.search(&search, url.decoded(start, end))
            return isWhole
        }
        if isWhole, let exact = nodes[search.node].exact { found.append(exact) }
        return found.reversed()
    }

    /// The best of these for a URL, of which no more is read than is needed.
    func find(_ url: RouteURL) -> Int? {
        guard var search = search(url.scheme) else { return nil }
        var isWhole = true
        url.forEachComponent { start, end in
            isWhole = self.search(&search, url.decoded(start, end))
            return isWhole
        }
        return (isWhole ? nodes[search.node].exact : nil) ?? search.deepest
    }

    private func search(_ scheme: String) -> (node: Int, deepest: Int?)? {
        guard !isEmpty else { return nil }
        return steps[Step(node: 0, component: scheme)].map { ($0, nil) }
    }

    /// Goes on by one component; false when no redirect does.
    private func search(_ search: inout (node: Int, deepest: Int?), _ component: String) -> Bool {
        if let subtree = nodes[search.node].subtree { search.deepest = subtree }
        guard let next = steps[step(search.node, component)] else { return false }
        search.node = next
        return true
    }
}
