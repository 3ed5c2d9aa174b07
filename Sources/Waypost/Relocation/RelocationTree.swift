/// The redirects in force, by the components of their origins.
///
/// A tree, so that following one costs as many steps as the URL has components, however many redirects there are. A URL
/// that no redirect takes, as most, costs the hashes of its scheme and of one component.
struct RelocationTree: Sendable {
    private struct Node: Sendable {
        var exact: Int?
        var subtree: Int?
    }

    /// What leads from one node to the next.
    private struct Step: Sendable {
        let node: Int
        // By bytes, not by Unicode equivalence, as everywhere in matching.
        let component: [UInt8]
        let hash: UInt64
        /// The next step whose hash ends in the same bits; -1 for none.
        var other = -1
    }

    private var nodes = [Node()]
    /// Each leads to the node behind its number.
    private var steps: [Step] = []
    /// The first step for the last bits of a hash; -1 for none.
    private var first = [Int](repeating: -1, count: 8)
    /// Secret, so that no one can choose components that collide.
    private let seed = TableSeed()
    private let ignoresCase: Bool

    /// Whether there is no redirect.
    var isEmpty: Bool { steps.isEmpty }

    init(ignoresCase: Bool) { self.ignoresCase = ignoresCase }

    mutating func insert(_ redirect: Int, at origin: RelocationPath) {
        var node = 0
        for component in [origin.scheme] + origin.components {
            node = next(node, component) ?? add(component, behind: node)
        }
        if origin.isSubtree { nodes[node].subtree = redirect } else { nodes[node].exact = redirect }
    }

    private mutating func add(_ component: String, behind node: Int) -> Int {
        let bytes = component.utf8.map { ignoresCase ? RouteScheme.lowercased($0) : $0 }
        let hash = bytes.withUnsafeBufferPointer { self.hash(of: $0, behind: node) }
        steps.append(Step(node: node, component: bytes, hash: hash))
        if steps.count > first.count {
            first = [Int](repeating: -1, count: first.count * 2)
            for number in steps.indices { link(number) }
        } else {
            link(steps.count - 1)
        }
        nodes.append(Node())
        return steps.count
    }

    private mutating func link(_ number: Int) {
        let place = place(of: steps[number].hash)
        steps[number].other = first[place]
        first[place] = number
    }

    private func place(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (first.count - 1) }

    private func hash(of component: UnsafeBufferPointer<UInt8>, behind node: Int) -> UInt64 {
        let path = UInt64(truncatingIfNeeded: node)
        if component.count >= 8, let start = component.baseAddress {
            return seed.literal(TextKey(start, from: 0, to: component.count), behind: path)
        }
        // Words are read eight bytes at a time, and there are fewer.
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16) { space in
            space.initialize(repeating: 0)
            guard let start = space.baseAddress else { return path }
            for index in component.indices { space[8 + index] = component[index] }
            return seed.literal(TextKey(start + 8, count: component.count), behind: path)
        }
    }

    // MARK: Finding

    /// All redirects that take a URL: the exact one, then the subtrees from the deepest to the one that takes most.
    func findAll(_ url: RouteURL) -> [Int] {
        var found: [Int] = []
        if let exact = follow(url, atSubtree: { found.append($0) }) { found.append(exact) }
        return found.reversed()
    }

    /// The best of these for a URL, of which no more is read than is needed.
    func find(_ url: RouteURL) -> Int? {
        var deepest: Int?
        return follow(url) { deepest = $0 } ?? deepest
    }

    /// The redirect of exactly this URL; calls `body` with those of the subtrees on the way to it.
    @inline(__always)
    private func follow(_ url: RouteURL, atSubtree body: (Int) -> Void) -> Int? {
        guard !isEmpty else { return nil }
        // Most maps have one scheme, that of the first step.
        var node = url.withScheme { hasComponent(0, $0) ? 1 : next(0, $0) }
        guard node != nil else { return nil }
        url.forEachComponent { start, end in
            guard let here = node else { return false }
            if let subtree = nodes[here].subtree { body(subtree) }
            node =
                url.parts.isEncoded
                ? next(here, url.decoded(start, end)) : url.withBytes(start, end) { next(here, $0) }
            return node != nil
        }
        return node.flatMap { nodes[$0].exact }
    }

    private func next(_ node: Int, _ component: String) -> Int? {
        component.utf8Span.span.withUnsafeBufferPointer { next(node, $0) }
    }

    /// The node that a component leads to; nil when it leads nowhere.
    private func next(_ node: Int, _ component: UnsafeBufferPointer<UInt8>) -> Int? {
        guard ignoresCase else { return nextEqual(node, component) }
        return component.map { RouteScheme.lowercased($0) }.withUnsafeBufferPointer { nextEqual(node, $0) }
    }

    private func nextEqual(_ node: Int, _ component: UnsafeBufferPointer<UInt8>) -> Int? {
        let hash = hash(of: component, behind: node)
        var number = first[place(of: hash)]
        while number >= 0 {
            if steps[number].hash == hash, steps[number].node == node, hasComponent(number, component) {
                return number + 1
            }
            number = steps[number].other
        }
        return nil
    }

    private func hasComponent(_ step: Int, _ component: UnsafeBufferPointer<UInt8>) -> Bool {
        steps[step].component.withUnsafeBufferPointer { $0.hasSameBytes(as: component) }
    }
}
