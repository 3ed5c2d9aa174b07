import Threading

/// The patterns that are near a URL which no route takes: found when they are first read, for few opens that miss are
/// ever explained to anybody.
///
/// Until then it keeps the routes as they were.
final class NearestRoutes: Sendable, Hashable {
    private enum State {
        case wanted(RouteURL, RouteTable)
        case found(Found)
    }
    private struct Found {
        var patterns: [String]
        var lookAlike: String?
    }
    private let state: Guarded<State>

    init(to url: RouteURL, in table: RouteTable) {
        state = Guarded(.wanted(url, table))
    }

    /// The nearest first; at most three.
    var patterns: [String] { found.patterns }

    /// What is to be said of a pattern with the same letters in another Unicode form; mostly nothing.
    var note: String { Self.note(on: found.lookAlike) }

    /// Behind the sentence that nothing takes the URL.
    static func note(on lookAlike: String?) -> String {
        lookAlike.map { "; \($0) has the same letters in another Unicode form (NFC, NFD)" } ?? ""
    }

    private var found: Found {
        state.withLock { state in
            switch state {
            case .found(let found): return found
            case .wanted(let url, let table):
                var found = Found(patterns: table.nearest(to: url), lookAlike: table.lookAlike(of: url))
                if let twin = found.lookAlike {
                    found.patterns = Array(([twin] + found.patterns.filter { $0 != twin }).prefix(3))
                }
                state = .found(found)
                return found
            }
        }
    }

    static func == (one: NearestRoutes, other: NearestRoutes) -> Bool { one.patterns == other.patterns }

    func hash(into hasher: inout Hasher) { hasher.combine(patterns) }
}
