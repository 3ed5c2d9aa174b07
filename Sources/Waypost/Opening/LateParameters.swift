import Threading

/// The parameters that a destination would see: found when they are first read, for who asks where a URL leads mostly reads
/// nothing of them.
///
/// Until then it keeps the routes as they were.
final class LateParameters: Sendable {
    private enum State {
        case wanted(Source)
        case found(RouteParameters)
    }

    /// What they are made of.
    private struct Source {
        let url: RouteURL
        let snapshot: RouterSnapshot
        let caller, relocation: [String: JSONValue]

        var parameters: RouteParameters {
            var routes = MatchedRoutes(url, in: snapshot)
            guard let matched = routes.next(url, in: snapshot) else { return .none }
            return OpenState.parameters(
                for: matched, url, in: snapshot, caller: caller, relocation: relocation)
        }
    }

    private let state: Guarded<State>

    /// - Parameter url: It leads to the destination without a redirect.
    init(
        of url: RouteURL, in snapshot: RouterSnapshot, caller: [String: JSONValue],
        relocation: [String: JSONValue]
    ) {
        state = Guarded(
            .wanted(Source(url: url, snapshot: snapshot, caller: caller, relocation: relocation)))
    }

    var parameters: RouteParameters {
        switch state.withLock(\.self) {
        case .found(let parameters): return parameters
        case .wanted(let source):
            // Without the lock, for a converter of the program runs.
            let parameters = source.parameters
            state.withLock { $0 = .found(parameters) }
            return parameters
        }
    }
}
