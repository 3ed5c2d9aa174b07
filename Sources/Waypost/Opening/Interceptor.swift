/// The decision of an interceptor.
public enum InterceptorDecision: Sendable, Hashable {
    /// Goes on.
    case proceed
    /// Ends the open with this reason.
    case stop(reason: String)
    /// Opens another URL instead; it counts as a redirect.
    case redirect(to: String)
    /// Goes on with these parameters instead of others of the same key; a null removes one.
    case rewrite([String: JSONValue])
}

/// The opens for which an interceptor is asked.
public enum InterceptorScope: Sendable, Hashable {
    /// All.
    case all
    /// Opens that these patterns match, written as they were registered.
    case patterns(Set<String>)
    /// Opens of this URL and all below it; `/*` or `/**` at its end makes no difference.
    case subtree(String)
    /// All except those that these patterns match.
    case allBut(Set<String>)
}

/// An interceptor as the router keeps it.
struct Interceptor: Sendable {
    let id: UInt64
    let name: String
    let priority: Int
    let deadline: Duration?
    let body: @Sendable (RouteRequest) async -> InterceptorDecision
    private let scope: InterceptorScope
    private let subtree: RouteURL?

    init(
        id: UInt64, name: String, priority: Int, scope: InterceptorScope, deadline: Duration?,
        body: @escaping @Sendable (RouteRequest) async -> InterceptorDecision
    ) throws(RegistrationError) {
        self.id = id
        self.name = name
        self.priority = priority
        self.scope = scope
        self.deadline = deadline
        self.body = body
        guard case .subtree(let text) = scope else {
            subtree = nil
            return
        }
        var prefix = Substring(text)
        while prefix.last == "*" { prefix.removeLast() }
        do throws(RouteURLError) {
            let url: RouteURL = try RouteURL(String(prefix))
            subtree = url
        } catch {
            throw .badPattern(text, offset: error.offset, detail: "\(error.reason)")
        }
    }

    /// - Parameter ownPatterns: of a route that relocation added, the patterns of the same destination in the
    ///   program: what guards a destination guards it under a new path as well.
    func sees(_ route: String, _ url: RouteURL, destination ownPatterns: [String]) -> Bool {
        switch scope {
        case .all: true
        case .patterns(let patterns): patterns.contains(route) || !patterns.isDisjoint(with: ownPatterns)
        case .allBut(let patterns): !patterns.contains(route)
        case .subtree: covers(url) || ownPatterns.contains { (try? RouteURL($0)).map(covers) ?? false }
        }
    }

    private func covers(_ url: RouteURL) -> Bool {
        guard let subtree, subtree.scheme.isEmpty || subtree.scheme == url.scheme else { return false }
        return url.components.starts(with: subtree.components)
    }
}
