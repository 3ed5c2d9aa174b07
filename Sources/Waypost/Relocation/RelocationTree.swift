/// The redirects in force, by the components of their origins.
///
/// A tree, so that following one costs as many steps as the URL has components, however many redirects there are.
struct RelocationTree: Sendable {
    private struct Step: Hashable {
        let node: Int
        let component: RelocationPath.Key
    }

    private struct Node {
        var exact: Int?
        var subtree: Int?
    }

    private var nodes = [Node()]
    private var steps: [Step: Int] = [:]

    /// Whether there is no redirect.
    private(set) var isEmpty = true

    mutating func insert(_ redirect: Int, at origin: RelocationPath) {
        isEmpty = false
        var node = 0
        for component in [origin.scheme] + origin.components {
            let step = Step(node: node, component: .init(bytes: Array(component.utf8)))
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
        guard !isEmpty, var node = steps[step(0, scheme)] else { return nil }
        var deepest: Int?
        for component in components {
            if let subtree = nodes[node].subtree { deepest = subtree }
            guard let next = steps[step(node, component)] else { return deepest }
            node = next
        }
        if isSubtree { return nodes[node].subtree ?? deepest }
        return nodes[node].exact ?? deepest
    }

    private func step(_ node: Int, _ component: String) -> Step {
        Step(node: node, component: .init(bytes: Array(component.utf8)))
    }
}
