import Threading
import WaypostMessages

/// Since when each health check is as it is, what was published of it, and what was logged.
final class HealthHistory: Sendable {
    private struct Entry {
        var state: HealthCheck.State
        var since: Int64
        /// What the log said last.
        var logged = HealthCheck.State.ok
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var published: [String: HealthCheck.State] = [:]
    }

    private let state = Guarded(State())

    /// The checks with the time since when they are so; `now` is in milliseconds since 1970.
    ///
    /// One that knows its time itself keeps it.
    func dated(_ checks: [HealthCheck], at now: Int64) -> [HealthCheck] {
        state.withLock { state in
            checks.map { check in
                var check = check
                let known = state.entries[check.name]
                if known?.state != check.state {
                    state.entries[check.name] = Entry(
                        state: check.state, since: now, logged: known?.logged ?? .ok)
                }
                check.since = check.since ?? state.entries[check.name]?.since
                return check
            }
        }
    }

    /// Whether a check is other than it was published; from now on these are what was published.
    func takeNews(_ checks: [HealthCheck]) -> Bool {
        state.withLock { state in
            // Most of the time it is as it was.
            guard
                state.published.count != checks.count
                    || checks.contains(where: { state.published[$0.name] != $0.state })
            else { return false }
            let now = Dictionary(checks.map { ($0.name, $0.state) }) { first, _ in first }
            defer { state.published = now }
            return state.published != now
        }
    }

    /// The checks of which the log has said something else, or nothing yet; from now on it has said this.
    ///
    /// What will be known in a moment is no news.
    func takeUnlogged(_ checks: [HealthCheck]) -> [HealthCheck] {
        state.withLock { state in
            checks.filter { check in
                guard !check.isPending, let entry = state.entries[check.name], entry.logged != check.state
                else { return false }
                state.entries[check.name]?.logged = check.state
                return true
            }
        }
    }
}
