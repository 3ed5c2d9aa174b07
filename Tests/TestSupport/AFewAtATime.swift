public import Testing
import Threading

/// Lets a few tests that start processes run at a time; the others wait for their turn.
///
/// Swift Testing starts all tests at once. For those that think this is right; those that start brokers and agents
/// would be hundreds of processes, and more open files than Foundation's `Process` bears (it reads past the end of
/// the list of more than about 1 360). A time limit counts the wait too, so it has to be for the whole run.
public struct AFewAtATime: SuiteTrait, TestTrait, TestScoping {
    private static let turnstile = Turnstile(places: 12)

    /// Each test of a suite waits, not the suite.
    public var isRecursive: Bool { true }

    /// Runs the test between entering and leaving.
    @concurrent
    public func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        await Self.turnstile.enter()
        defer { Self.turnstile.leave() }
        try await function()
    }
}

extension Trait where Self == AFewAtATime {
    /// For suites whose tests start processes.
    public static var aFewAtATime: Self { AFewAtATime() }
}

private final class Turnstile: Sendable {
    private struct State {
        var places: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Guarded<State>

    init(places: Int) { state = Guarded(State(places: places)) }

    func enter() async {
        await withCheckedContinuation { continuation in
            let mayEnter = state.withLock { state in
                if state.places > 0 {
                    state.places -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if mayEnter { continuation.resume() }
        }
    }

    func leave() {
        let next = state.withLock { state in
            if state.waiting.isEmpty {
                state.places += 1
                return nil as CheckedContinuation<Void, Never>?
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
