import Threading
public import Waypost

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

    init(_ delivery: Delivery, within span: CommandSpan?) {
        id = delivery.command.id
        self.delivery = delivery
        let outcome = Promise<Result<CommandReply, any Error>>()
        self.outcome = outcome
        work = Task {
            do {
                let reply =
                    if let span {
                        try await span.around({ try await delivery.run() }) { span.ended($0) }
                    } else { try await delivery.run() }
                outcome.fulfill(.success(reply))
            } catch {
                outcome.fulfill(.failure(error))
            }
            delivery.isAccepted.fulfill(false)
            delivery.progress.finish()
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

    /// When it begins, in milliseconds since 1970 by the agent's clock: known once the agent has ``accepted()`` a command
    /// that waits for its time, and nil of any other.
    public var begins: Int64? { delivery.progress.begins }

    /// How far it is, as its handler says, at most once a second; it ends with the command.
    ///
    ///     for await step in command.progress { print(step.fraction ?? 0, step.text ?? "") }
    public var progress: AsyncStream<HandlerProgress> { delivery.progress.stream() }

    /// Waits for the reply: what it ended with, good or bad.
    ///
    /// A command that ``begins`` only after its deadline is not waited for.
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
