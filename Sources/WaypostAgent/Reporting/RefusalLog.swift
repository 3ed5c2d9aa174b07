import Threading
import WaypostMessages

/// Says in few lines that the broker refuses messages: a sender of commands can cause any number of refusals.
final class RefusalLog: Sendable {
    /// The shortest time between two lines, in milliseconds; refusals in between are counted.
    static let interval: Int64 = 10_000

    private struct State {
        var lastLine: Int64?
        var unsaid: Int64 = 0
    }

    private let state = Guarded(State())

    /// The broker refused a message; returns the lines to log now.
    func refused(at now: Int64, _ line: @autoclosure () -> String) -> [String] {
        let before = state.withLock { state -> Int64? in
            guard Self.isDue(state, at: now) else {
                state.unsaid += 1
                return nil
            }
            defer { state = State(lastLine: now) }
            return state.unsaid
        }
        return before.map { Self.lines($0) + [line()] } ?? []
    }

    /// The line for refusals that were only counted, once that is due.
    ///
    /// - Parameter now: nil when there is no later, because the agent stops: it is due then.
    func summary(at now: Int64?) -> [String] {
        let count = state.withLock { state in
            guard state.unsaid > 0, now.map({ Self.isDue(state, at: $0) }) ?? true else { return 0 as Int64 }
            defer { state = State(lastLine: now ?? state.lastLine) }
            return state.unsaid
        }
        return Self.lines(count)
    }

    private static func isDue(_ state: State, at now: Int64) -> Bool {
        state.lastLine.map { now - $0 >= interval } ?? true
    }

    private static func lines(_ count: Int64) -> [String] {
        count > 0 ? ["the broker refused \(count.counted("more message"))"] : []
    }
}
