import MQTTLink
import Threading

/// A command that was handed over to be sent, and whose reply is awaited.
///
/// It is sent again, as the same bytes, after each lost connection and every half a minute, until there is a reply
/// or its deadline has passed. Letting go of it ends that.
public final class PendingCommand: Sendable {
    /// The command's id.
    public let id: String
    private let delivery: Delivery
    private let work: Task<Result<CommandReply, BackendError>, Never>

    init(_ delivery: Delivery) {
        id = delivery.command.id
        self.delivery = delivery
        work = Task {
            let result: Result<CommandReply, BackendError>
            do throws(BackendError) {
                result = .success(try await delivery.run())
            } catch {
                result = .failure(error)
            }
            delivery.progress.end()
            return result
        }
    }

    deinit { work.cancel() }

    /// Waits until the agent has said that it took the command and that it will take a while, or until it has ended.
    ///
    /// - Returns: whether the agent took it.
    public func accepted() async -> Bool {
        await delivery.progress.accepted()
    }

    /// Waits for the reply: what it ended with, good or bad.
    ///
    /// - Throws: ``BackendError`` when it was not sent, or when there is no reply yet.
    public func reply() async throws(BackendError) -> CommandReply {
        try await work.value.get()
    }

    /// Waits for the result.
    ///
    /// - Throws: ``BackendError``, of kind `refused` also when the agent refused it or it failed there.
    public func result() async throws(BackendError) -> CommandReply {
        let reply = try await reply()
        guard reply.isOK else { throw BackendError(refusal: reply) }
        return reply
    }
}
