import Threading
import WaypostMessages

/// How the run before this one ended, and why this one must end.
final class RunRecord: Sendable {
    private struct State {
        var previousEnd: AgentState.Cause?
        var reason: String?
        var hasRecovered = false
    }

    private let state = Guarded(State())

    /// Nil when it is not known, or there was none.
    var previousEnd: AgentState.Cause? {
        get { state.withLock(\.previousEnd) }
        set { state.withLock { $0.previousEnd = newValue } }
    }

    /// Something asks the agent to stop; the first reason counts.
    func willStop(because reason: String) {
        state.withLock { $0.reason = $0.reason ?? reason }
    }

    /// Whether something asked the agent to stop.
    var isStopping: Bool { state.withLock { $0.reason != nil } }

    /// All that the run before it left is taken up.
    func recovered() { state.withLock { $0.hasRecovered = true } }

    var hasRecovered: Bool { state.withLock(\.hasRecovered) }

    /// The end of this run; `now` is in milliseconds since 1970.
    func end(at now: Int64) -> AgentState.Cause {
        AgentState.Cause(nil, "stopped\(state.withLock(\.reason).map { " by \($0)" } ?? "")", at: now)
    }
}
