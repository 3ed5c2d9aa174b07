/// Why a session could not be made, or did not do what it was asked to.
public enum MQTTSessionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// No broker could be reached, or none accepted the connection; the last one's reason.
    case notConnected(DisconnectReason)
    /// No broker answered in time.
    case deadline(Duration, broker: BrokerURL)
    /// The connection ended while something was under way, or before.
    case ended(DisconnectReason)
    /// The broker did not answer a SUBSCRIBE in time.
    case noAnswer
    /// `disconnect` was called.
    case closed

    /// One line for people.
    public var description: String {
        switch self {
        case .notConnected(let reason), .ended(let reason): reason.description
        case .deadline(let limit, let broker): "no answer from \(broker) within \(limit)"
        case .noAnswer: "the broker did not answer a subscription in time"
        case .closed: "the session is closed"
        }
    }
}
