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
    /// Holds the open until the gate is opened, and then asks again; after that time the open ends with 408.
    ///
    /// The time counts from the first wait of the open. When routes or maps have changed meanwhile, the open begins
    /// again from its URL.
    case wait(for: OpenGate, atMost: Duration)
}

/// The opens for which an interceptor is asked.
///
/// Patterns are compared by what they match: `hd://x/` and `hd://x` are one, and so are `:id` and `:number`.
public enum InterceptorScope: Sendable, Hashable {
    /// All.
    case all
    /// Opens of the routes with these patterns.
    case patterns(Set<RouteKey>)
    /// Opens of this URL and all below it; `/*` or `/**` at its end makes no difference.
    case subtree(RouteKey)
    /// All except those of the routes with these patterns.
    case allBut(Set<RouteKey>)
    /// Opens of routes whose metadata have this key, with this value unless it is nil.
    case metadata(String, JSONValue? = nil)
}

/// An interceptor as the router keeps it.
package struct Interceptor: Sendable {
    let hook: Hook<RouteRequest, InterceptorDecision>
    let priority: Int
    private let reach: Reach
    /// The patterns of the scope, read.
    package let patterns: [RoutePattern]
    /// The subtree of the scope, read.
    package let subtree: RouteURL?
    /// Whether the page that shows web URLs lies in the subtree.
    private var coversWebPage = false
    private let ignoresCase: Bool

    private enum Reach {
        case scope(InterceptorScope)
        /// The routes of this group, and no others.
        case group(GroupMark)
    }

    /// One whose patterns and URLs are read as by a router in this state.
    init(
        _ hook: Hook<RouteRequest, InterceptorDecision>, priority: Int, scope: InterceptorScope,
        for state: RouterState
    ) throws(RegistrationError) {
        self.hook = hook
        self.priority = priority
        reach = .scope(scope)
        ignoresCase = state.configuration.ignoresCase
        var patterns: [RoutePattern] = []
        switch scope {
        case .all, .metadata: subtree = nil
        case .patterns(let texts), .allBut(let texts):
            for text in texts.map(\.rawValue).sorted() { patterns.append(try state.base.pattern(text)) }
            subtree = nil
        case .subtree(let text):
            var prefix = Substring(text.rawValue)
            while prefix.last == "*" { prefix.removeLast() }
            do throws(RouteURLError) {
                let url: RouteURL = try RouteURL(String(prefix))
                subtree = url
            } catch {
                throw .badPattern(text.rawValue, offset: error.offset, detail: "\(error.reason)")
            }
        }
        self.patterns = patterns
        coversWebPage = state.webURL.map { covers($0.scheme, $0.components) } ?? false
    }

    /// One of a group.
    init(id: UInt64, _ added: RouteGroup.AddedInterceptor, deadline: Duration?) {
        hook = Hook(id: id, name: added.name, deadline: added.deadline ?? deadline, work: added.work)
        priority = added.priority
        reach = .group(added.mark)
        patterns = []
        subtree = nil
        ignoresCase = false
    }

    /// One that is asked where a map says it.
    init(gate hook: Hook<RouteRequest, InterceptorDecision>) {
        self.hook = hook
        priority = 0
        reach = .scope(.all)
        patterns = []
        subtree = nil
        ignoresCase = false
    }

    var id: UInt64 { hook.id }
    package var name: String { hook.name }

    /// What guards a destination guards it also under a path that relocation added, and as the page of web URLs.
    func sees(_ matched: MatchedRoute, _ url: RouteURL) -> Bool {
        guard case .scope(.subtree) = reach else { return sees(matched.record) }
        return covers(url.scheme, url.components) || (matched.webURL != nil && coversWebPage)
            || matched.record.ownPatterns?.contains { covers($0.scheme ?? "", $0.segments.map(\.literal)) }
                ?? false
    }

    /// Whether it sees opens of this route; with a subtree, that depends on their URLs, and it may.
    package func sees(_ route: StoredRoute) -> Bool {
        switch reach {
        case .group(let group): route.route.groups.contains { $0 === group }
        case .scope(.all), .scope(.subtree): true
        case .scope(.metadata(let key, let value)): route.route.hasMetadata(key, value)
        case .scope(.patterns(let texts)):
            names(route.pattern, texts) || route.ownPatterns?.contains { names($0, texts) } ?? false
        case .scope(.allBut(let texts)):
            // A map that gives the excepted path to another destination does not take its guard away.
            !names(route.pattern, texts)
                || route.ownPatterns.map { $0.isEmpty || !$0.allSatisfy { names($0, texts) } } ?? false
        }
    }

    /// The scope as it was given; nil for one of a group.
    package var scope: InterceptorScope? { if case .scope(let scope) = reach { scope } else { nil } }

    private func names(_ pattern: RoutePattern, _ texts: Set<RouteKey>) -> Bool {
        texts.contains(RouteKey(pattern.text)) || patterns.contains { $0.takesTheSame(as: pattern) }
    }

    private func covers(_ scheme: String, _ components: [String?]) -> Bool {
        guard let subtree, subtree.scheme.isEmpty || subtree.scheme == scheme else { return false }
        return components.starts(with: subtree.components) { component, wanted in
            component.map { RouteScheme.equals($0, wanted, ignoringCase: ignoresCase) } ?? false
        }
    }
}

extension RoutePattern.Segment {
    fileprivate var literal: String? { if case .literal(let text) = self { text } else { nil } }
}

extension Route {
    /// Whether its metadata have this key, with this value unless it is nil.
    package func hasMetadata(_ key: String, _ value: JSONValue?) -> Bool {
        metadata[key].map { value == nil || value == $0 } ?? false
    }
}
