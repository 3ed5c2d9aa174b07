public import Testing
import Threading

/// Lets a few tests that start processes run at a time; the others wait for their turn.
///
/// Swift Testing starts all tests at once. For those that think this is right; those that start brokers and agents
/// would be hundreds of processes, and more open files than Foundation's `Process` bears (it reads past the end of
/// the list of more than about 1 360). A time limit counts the wait too, so it has to be for the whole run.
public struct AFewAtATime: SuiteTrait, TestTrait, TestScoping {
    fileprivate let turnstile: Turnstile

    /// Each test of a suite waits, not the suite.
    public var isRecursive: Bool { true }

    /// Runs the test between entering and leaving.
    @concurrent
    public func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        await turnstile.enter()
        defer { turnstile.leave() }
        try await function()
    }
}

extension Trait where Self == AFewAtATime {
    /// For suites whose tests start processes.
    public static var aFewAtATime: Self { AFewAtATime(turnstile: .few) }

    /// For tests that run as a process of Swift Testing's own (`processExitsWith:`).
    ///
    /// While one does, Swift Testing keeps a thread that all tests share, and reads: two of them at a time are all
    /// threads of a machine with two cores, and every other test stands still until one ends.
    public static var oneProcessAtATime: Self { AFewAtATime(turnstile: .one) }
}

private final class Turnstile: Sendable {
    static let few = Turnstile(places: 12)
    static let one = Turnstile(places: 1)

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
