/// A filter to subscribe to.
public struct Subscription: Sendable, Hashable {
    /// The filter, wildcards allowed.
    public var filter: String
    /// The highest level wanted.
    public var qos: QoS
    /// On MQTT 5 the broker keeps our own messages from us; on 3.1.1 they come, and must be filtered.
    public var noLocal: Bool
    /// On MQTT 5 the broker sends none of the messages that it keeps, only what comes from now on; on 3.1.1 they come,
    /// marked as retained.
    public var skipsRetained: Bool

    /// A subscription; at least once, with our own messages and those that the broker keeps, unless said otherwise.
    public init(
        _ filter: String, qos: QoS = .atLeastOnce, noLocal: Bool = false, skipsRetained: Bool = false
    ) {
        self.filter = filter
        self.qos = qos
        self.noLocal = noLocal
        self.skipsRetained = skipsRetained
    }
}

/// What the broker said to a subscription.
public struct SubscriptionResult: Sendable, Hashable {
    /// The answer to one filter.
    public enum Answer: Sendable, Hashable, CustomStringConvertible {
        /// As asked for.
        case granted
        /// Granted at a lower level: messages may be lost.
        case lowered(to: QoS)
        /// Not granted, or granted with a level that is not ours to have.
        case refused(ReasonCode)
        /// Not even asked: the filter breaks the rules of topics.
        case invalid(TopicError)

        /// The answer for people: `refused: Not authorized (0x87)`, `granted at QoS 0 at most`.
        public var description: String {
            switch self {
            case .granted: "granted"
            case .lowered(let qos): "granted at QoS \(qos.rawValue) at most"
            case .refused(let reason):
                reason.isFailure ? "refused: \(reason)" : "granted at a level that was not asked for"
            case .invalid(let error): "not asked for: \(error)"
            }
        }
    }

    /// What was asked for.
    public var subscription: Subscription
    /// What the broker said.
    public var answer: Answer

    /// A subscription and the answer to it.
    public init(subscription: Subscription, answer: Answer) {
        self.subscription = subscription
        self.answer = answer
    }

    /// Whether messages will come, at the level asked for.
    public var isGranted: Bool { answer == .granted }
}
