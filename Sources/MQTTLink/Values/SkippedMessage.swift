/// A message that was too large to be read; only its header was kept.
public struct SkippedMessage: Sendable, Hashable {
    /// The topic, as far as it is text.
    public var topic: String
    /// The bytes of the whole packet.
    public var bytes: Int
    /// The largest packet that is read.
    public var limit: Int
    /// The level it came with.
    public var qos: QoS

    /// A message that was skipped; for tests that play a link.
    public init(topic: String, bytes: Int, limit: Int, qos: QoS = .atLeastOnce) {
        self.topic = topic
        self.bytes = bytes
        self.limit = limit
        self.qos = qos
    }
}
