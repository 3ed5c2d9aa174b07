/// The properties of an MQTT 5 message that an application may set (MQTT 5.0, 3.3.2.3).
public struct MQTTProperties: Sendable, Hashable {
    /// A user property; names may occur more than once, and the order is kept.
    public struct User: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String

        /// A name and its value.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Where an answer is wanted.
    public var responseTopic: String?
    /// What the answer must carry, at most 65 535 bytes; incoming: cut after 257, so that a long one is seen to be one.
    public var correlationData: [UInt8]?
    /// Seconds after which the broker may drop the message; incoming: what is left of them.
    public var messageExpiry: UInt32?
    /// The payload's type, such as `application/json`.
    public var contentType: String?
    /// Whether the payload is said to be UTF-8 text (payload format indicator 1).
    public var payloadIsUTF8: Bool
    /// User properties in order; those of incoming messages are not read.
    public var user: [User]

    /// Properties; none unless given.
    public init(
        responseTopic: String? = nil, correlationData: [UInt8]? = nil, messageExpiry: UInt32? = nil,
        contentType: String? = nil, payloadIsUTF8: Bool = false, user: [User] = []
    ) {
        self.responseTopic = responseTopic
        self.correlationData = correlationData
        self.messageExpiry = messageExpiry
        self.contentType = contentType
        self.payloadIsUTF8 = payloadIsUTF8
        self.user = user
    }

    /// Whether there is nothing to send.
    public var isEmpty: Bool {
        responseTopic == nil && correlationData == nil && messageExpiry == nil && contentType == nil
            && !payloadIsUTF8 && user.isEmpty
    }
}
