public import Testing

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
        do {
            try await function()
        } catch {
            await Self.turnstile.leave()
            throw error
        }
        await Self.turnstile.leave()
    }
}

extension Trait where Self == AFewAtATime {
    /// For suites whose tests start processes.
    public static var aFewAtATime: Self { AFewAtATime() }
}

private actor Turnstile {
    private var places: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(places: Int) { self.places = places }

    func enter() async {
        if places > 0 {
            places -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func leave() {
        if waiting.isEmpty {
            places += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
