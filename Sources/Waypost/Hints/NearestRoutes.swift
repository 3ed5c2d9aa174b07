import Threading

/// The patterns that are near a URL which no route matches: found when they are first read, for few opens that miss are
/// ever explained to anyone.
///
/// Until then it keeps the routes as they were.
package final class NearestRoutes: Sendable, Hashable {
    private enum State {
        case wanted(RouteURL, RouteTable)
        case found(Found)
    }
    private struct Found {
        var patterns: [String]
        var lookAlike: String?
    }
    private let state: Guarded<State>
    /// The relocation entry that took the URL's route away: then similar routes are not what was meant.
    private let deletion: String?

    init(to url: RouteURL, in table: RouteTable, deletedBy deletion: String?) {
        self.deletion = deletion
        if deletion == nil {
            state = Guarded(.wanted(url, table))
        } else {
            state = Guarded(.found(Found(patterns: [], lookAlike: nil)))
        }
    }

    /// The nearest first; at most three.
    var patterns: [String] { found.patterns }

    /// Why no route matches the URL, as far as that is known: mostly nothing.
    var note: String { deletion.map { ": deleted by \($0)" } ?? Self.note(on: found.lookAlike) }

    /// That no route matches a URL, where redirects came from, and why, as far as that is known.
    static func text(
        _ url: String, after hops: [String], of requested: String, _ nearest: NearestRoutes?
    ) -> String {
        "no route matches \(RouteURL.withoutValues(url))"
            + (hops.isEmpty ? "" : ", to which \(RouteURL.withoutValues(requested)) was redirected")
            + (nearest?.note ?? "")
    }

    /// Behind the sentence that nothing takes the URL.
    package static func note(on lookAlike: String?) -> String {
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

    package static func == (one: NearestRoutes, other: NearestRoutes) -> Bool {
        one.patterns == other.patterns && one.deletion == other.deletion
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(patterns) }
}
