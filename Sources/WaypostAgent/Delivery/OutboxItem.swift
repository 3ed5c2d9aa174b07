import MQTTLink

/// A message on its way to the broker.
struct OutboxItem: Sendable {
    /// What the broker's acknowledgement settles.
    enum Origin: Sendable, Hashable {
        /// The terminal reply of the stored command.
        case reply(sequence: Int64)
        /// A row of the outbox table.
        case stored(sequence: Int64)
        /// Nothing on disk: events, interim replies, rejections of what was not stored.
        case volatile
    }

    /// The order in which classes go out, behind the retained documents; within one, the order of arrival is kept.
    enum Kind: Int, Sendable, CaseIterable {
        case presence, reply, failure, log
    }

    var origin: Origin
    var kind: Kind
    var message: MQTTMessage
    /// Events in the message, so that they are counted when it is dropped.
    var events = 0

    /// Its row on disk; nil when it can't be read again.
    var sequence: Int64? {
        switch origin {
        case .reply(let sequence), .stored(let sequence): sequence
        case .volatile: nil
        }
    }

    var isStored: Bool { sequence != nil }

    /// About what it takes in memory and on the wire.
    var bytes: Int {
        message.payload.count + message.topic.utf8.count + (message.properties.correlationData?.count ?? 0)
            + 128
    }
}

extension OutboxItem {
    /// A failure report that waits on disk.
    init(_ record: OutboxRecord) {
        let address = ReplyAddress(stored: record.properties, usual: record.topic)
        self.init(
            origin: .stored(sequence: record.sequence), kind: .failure,
            message: address.message(record.payload))
    }
}
