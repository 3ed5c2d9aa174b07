import MQTTLink

/// What a session sends and reads through: a connection of its own, or a part of one that many share.
protocol SessionTransport: Sendable {
    var connection: Connection { get }
    var queue: MessageQueue { get }
    /// Why the connection ended; nil while it lasts.
    var endReason: DisconnectReason? { get }
    var droppedMessages: Int { get }
    var skippedMessages: Int { get }
    /// - Throws: ``MQTTSessionError``; `CancellationError` when the task is cancelled.
    func publish(_ message: MQTTMessage) async throws -> PublishReceipt.Result
    func subscribe(_ subscriptions: [Subscription]) async throws -> [SubscriptionResult]
    func unsubscribe(_ filters: [String])
    func disconnect(within limit: Duration) async
}

extension MQTTSession: SessionTransport {}

/// A reader's part of a shared connection: what its filters name comes into a queue of its own.
final class SharedReader: SessionTransport {
    let connection: Connection
    let queue: MessageQueue
    private let link: SharedLink
    private let id: UInt64

    init(_ link: SharedLink, _ id: UInt64, _ queue: MessageQueue, _ connection: Connection) {
        (self.link, self.id, self.queue, self.connection) = (link, id, queue, connection)
    }

    deinit { link.remove(id) }

    var endReason: DisconnectReason? { link.endReason(of: id) }
    var droppedMessages: Int { queue.dropped }
    var skippedMessages: Int { 0 }

    func publish(_ message: MQTTMessage) async throws -> PublishReceipt.Result {
        let result = try await link.publish(message)
        if case .lost = result { throw endReason.map { .ended($0) } ?? MQTTSessionError.closed }
        return result
    }

    func subscribe(_ subscriptions: [Subscription]) async throws -> [SubscriptionResult] {
        guard let results = try await link.subscribe(id, subscriptions) else {
            throw endReason.map { .ended($0) } ?? MQTTSessionError.noAnswer
        }
        return results
    }

    func unsubscribe(_ filters: [String]) { link.unsubscribe(id, filters) }

    func disconnect(within limit: Duration) async {
        link.remove(id)
        queue.finish()
    }
}
