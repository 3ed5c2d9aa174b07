import ServiceLifecycle
import Threading
import Waypost
import WaypostMessages

/// What every public call of the library that waits is made of.
enum PublicCall {
    /// Does `body`; ends when the task is cancelled, and says so.
    ///
    /// The same when a graceful shutdown begins meanwhile: who waits for an agent would hold up all services. What begins
    /// in a shutdown is done, such as a last word to the agents.
    /// - Throws: ``BackendError``; `CancellationError` when the task is cancelled or is shut down, and nothing is begun
    ///   when it was cancelled before.
    static func run<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let isLast = Task.isShuttingDownGracefully
        let work = Task.immediate { try await body() }
        do {
            return try await withTaskCancellationHandler {
                try await withGracefulShutdownHandler {
                    try await work.value
                } onGracefulShutdown: {
                    if !isLast { work.cancel() }
                }
            } onCancel: {
                Scheduling.undisturbed { work.cancel() }
            }
        } catch {
            // Whatever a wait ended with because of that, that is the reason.
            guard !work.isCancelled, !(error is CancellationError) else { throw CancellationError() }
            throw error as? BackendError ?? BackendError(.unreadable, "\(error.words)")
        }
    }
}
