import Threading

/// A command that was handed over to be sent, and whose reply is awaited.
///
/// It is sent again, as the same bytes, after each lost connection and every half a minute, until there is a reply
/// or its deadline has passed. Letting go of it ends that; that a task which waits for it is cancelled does not.
public final class PendingCommand: Sendable {
    /// The command's id.
    public let id: String
    private let delivery: Delivery
    private let outcome: Promise<Result<CommandReply, any Error>>
    private let work: Task<Void, Never>

    init(_ delivery: Delivery) {
        id = delivery.command.id
        self.delivery = delivery
        let outcome = Promise<Result<CommandReply, any Error>>()
        self.outcome = outcome
        work = Task {
            do {
                outcome.fulfill(.success(try await delivery.run()))
            } catch {
                outcome.fulfill(.failure(error))
            }
            delivery.isAccepted.fulfill(false)
        }
    }

    deinit { work.cancel() }

    /// Waits until the agent has said that it took the command and that it will take a while, or until it has ended.
    ///
    /// - Returns: whether the agent took it.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func accepted() async throws -> Bool {
        try await PublicCall.run { [self] in try await delivery.isAccepted.value() }
    }

    /// Waits for the reply: what it ended with, good or bad.
    ///
    /// - Throws: ``BackendError`` when it was not sent, or when there is no reply yet; `CancellationError` when the task
    ///   is cancelled.
    public func reply() async throws -> CommandReply {
        try await PublicCall.run { [self] in try await outcome.value().get() }
    }

    /// Waits for the result.
    ///
    /// - Throws: ``BackendError``, of kind `refused` also when the agent refused it or it failed there;
    ///   `CancellationError` when the task is cancelled.
    public func result() async throws -> CommandReply {
        let reply = try await reply()
        guard reply.isOK else { throw BackendError(refusal: reply) }
        return reply
    }
}
