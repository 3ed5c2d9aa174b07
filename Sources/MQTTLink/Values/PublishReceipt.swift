/// A message to publish, with a number by which the caller recognises the receipt.
public struct OutgoingMessage: Sendable, Hashable {
    /// Comes back in the receipt; the link does not look at it.
    public var token: UInt64
    /// What to publish.
    public var message: MQTTMessage

    /// A message and its token.
    public init(token: UInt64, message: MQTTMessage) {
        self.token = token
        self.message = message
    }
}

/// How the publishing of a message ended.
public struct PublishReceipt: Sendable, Hashable {
    /// How it ended.
    public enum Result: Sendable, Hashable {
        /// The broker has it. At most once: it was written to the socket.
        case acknowledged
        /// The broker refused it with a reason of 0x80 or above; ``ReasonCode/isTransient`` says whether to try again.
        case refused(ReasonCode)
        /// There was no connection, or it went before the acknowledgement: it may or may not have arrived.
        case lost
        /// It was never sent, and never can be as it is.
        case rejected(SendError)
    }

    /// Why a message was not sent at all; its description is a clause for people.
    public enum SendError: Sendable, Hashable, CustomStringConvertible {
        /// The queue is full: `MQTTLinkConfiguration.queueLimit`.
        case overflow
        /// The topic breaks the rules.
        case topic(TopicError)
        /// The packet is larger than the broker accepts, or than MQTT allows.
        case tooLarge
        /// libmosquitto refused it; with its code and its text.
        case library(code: Int32, text: String)

        /// The clause: `it is larger than the broker takes`.
        public var description: String {
            switch self {
            case .overflow: "too many messages wait to be sent"
            case .topic(let error): "\(error)"
            case .tooLarge: "it is larger than the broker takes"
            case .library(_, let text): text.hasSuffix(".") ? String(text.dropLast()) : text
            }
        }
    }

    /// The token it was published with.
    public var token: UInt64
    /// How it ended.
    public var result: Result

    /// A token and how its message ended.
    public init(token: UInt64, result: Result) {
        self.token = token
        self.result = result
    }
}
