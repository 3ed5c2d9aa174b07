import MQTTLink

/// A message on its way to the broker.
struct OutboxItem: Sendable {
    /// What the broker's acknowledgement settles.
    enum Origin: Sendable, Hashable {
        /// The terminal reply of the stored command.
        case reply(sequence: Int64)
        /// A row of the outbox table.
        case stored(sequence: Int64)
        /// Nothing on disk: events, presence, interim replies.
        case volatile
    }

    /// The order in which classes go out; within one, the order of arrival is kept.
    enum Class: Int, Sendable, CaseIterable {
        case presence, reply, failure, log
    }

    var origin: Origin
    var kind: Class
    var message: MQTTMessage
}
