import Dispatch

/// One after another: Foundation's `Process` does not bear to be started from many threads at once.
private let blockingWork = DispatchQueue(label: "waypost.test.blocking")

/// Runs what blocks, such as waiting for a program, away from the few threads that the tasks of a test run share:
/// while those wait, all other tests stand still.
public func offThePool<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        blockingWork.async { continuation.resume(with: Result(catching: body)) }
    }
}
