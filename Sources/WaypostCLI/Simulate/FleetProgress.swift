import Threading
import WaypostMessages

/// Says on standard error how far a fleet is: in one line of a terminal, or in a line every few seconds.
final class FleetProgress: Sendable {
    private struct State {
        var next: ContinuousClock.Instant
        var isLineOpen = false
    }

    private let count: Int
    private let isShown: Bool
    private let isTerminal = Terminal.showsProgress
    private let state: Guarded<State>

    init(of count: Int, isShown: Bool) {
        self.count = count
        self.isShown = isShown
        state = Guarded(State(next: MonotonicTime.instant + Self.first(isTerminal)))
    }

    /// What is over soon needs no progress.
    private static func first(_ isTerminal: Bool) -> Duration {
        isTerminal ? .milliseconds(300) : .seconds(3)
    }

    private var interval: Duration { isTerminal ? .milliseconds(100) : .seconds(3) }

    /// - Parameter word: what the first `done` agents are.
    func show(_ done: Int, _ word: String) {
        guard isShown else { return }
        let isDue = state.withLock { state in
            guard MonotonicTime.instant >= state.next else { return false }
            state.next = MonotonicTime.instant + interval
            state.isLineOpen = isTerminal
            return true
        }
        guard isDue else { return }
        if isTerminal {
            Terminal.progress("\(done) of \(count.counted("agent")) \(word)")
        } else {
            Terminal.note("waypost: \(done) of \(count.counted("agent")) \(word)")
        }
    }

    /// Wipes the line; something else may begin.
    func end() {
        let isOpen = state.withLock { state in
            defer { state = State(next: MonotonicTime.instant + Self.first(isTerminal)) }
            return state.isLineOpen
        }
        if isOpen { Terminal.progress("") }
    }
}
