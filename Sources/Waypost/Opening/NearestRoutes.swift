import Threading

/// The patterns that are near a URL which no route takes: found when they are first read, for few opens that miss are
/// ever explained to anybody.
///
/// Until then it keeps the routes as they were.
final class NearestRoutes: Sendable, Hashable {
    private enum State {
        case wanted(RouteURL, RouteTable)
        case found([String])
    }
    private let state: Guarded<State>

    init(to url: RouteURL, in table: RouteTable) {
        state = Guarded(.wanted(url, table))
    }

    /// The nearest first; at most three.
    var patterns: [String] {
        state.withLock { state in
            switch state {
            case .found(let patterns): return patterns
            case .wanted(let url, let table):
                let patterns = table.nearest(to: url)
                state = .found(patterns)
                return patterns
            }
        }
    }

    static func == (one: NearestRoutes, other: NearestRoutes) -> Bool { one.patterns == other.patterns }

    func hash(into hasher: inout Hasher) { hasher.combine(patterns) }
}
