import Glibc
import Synchronization
public import Testing
import Threading

/// Ends a test that waits in vain, also where it waits for a module, a gate or a thread and not for an event.
///
/// It has failed when nothing goes on for ``Patience/usual`` and no test beside it ends either. What still holds it after
/// that heeds no cancellation; it would hold the process too, which therefore ends.
public struct Patient: SuiteTrait, TestTrait, TestScoping {
    /// Tests that have ended: each is progress for the others.
    private static let ended = Atomic<Int>(0)

    /// Each test of a suite has its own patience.
    public var isRecursive: Bool { true }

    /// Runs the test, and beside it the look whether something goes on.
    @concurrent
    public func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let alarm = Task {
            try await Self.wait()
            Issue.record("nothing goes on in it, nor in any test beside it")
            try await Self.wait()
            let line = Array("\(test.name) does not end\n".utf8)
            _ = write(STDERR_FILENO, line, line.count)
            exit(EXIT_FAILURE)
        }
        defer {
            alarm.cancel()
            Self.ended.add(1, ordering: .relaxed)
        }
        try await function()
    }

    /// Returns when nothing goes on.
    private static func wait() async throws {
        var patience = Patience()
        repeat {
            try await Task.sleep(for: Patience.look)
        } while !patience.isOver(at: ended.load(ordering: .relaxed))
    }
}

extension Trait where Self == Patient {
    /// For suites whose tests wait for more than the events of an `EventLog`.
    public static var patient: Self { Patient() }
}
