import MQTTLink
import Waypost
import WaypostMessages

/// Reports at QoS 0 that nothing can be stored any more, over a connection of its own.
///
/// The agent's own connection can't be used: on it the broker first delivers what is not acknowledged, and because
/// that can't be stored, the connection is dropped. A report at QoS 1 would have to be stored first.
final class DiskAlarm: Sendable {
    /// The shortest time between two alarms, in milliseconds.
    private static let interval: Int64 = 30_000
    private static let patience = Duration.seconds(10)

    private let link: MQTTLinkConfiguration
    private let topic: String
    private let clock: AgentClock
    private let lastRaised = Guarded<Int64?>(nil)

    init(agent: String, link: MQTTLinkConfiguration, topic: String, clock: AgentClock) {
        var link = link
        link.clientID = "\(agent)-disk"
        link.cleanStart = true
        link.sessionExpiry = 0
        link.subscriptions = []
        self.link = link
        self.topic = topic
        self.clock = clock
    }

    /// Raises the alarm, unless it was raised a moment ago; returns at once.
    func raise(_ problem: String) {
        let now = clock.monotonic()
        let isDue = lastRaised.withLock { last in
            if let known = last, now - known < Self.interval { return false }
            last = now
            return true
        }
        guard isDue, !link.brokers.isEmpty else { return }
        let (link, message) = (link, message(problem))
        Task.detached {
            // When this fails, the operator sees a red health once there is space again.
            guard let session = try? await MQTTSession.connect(link, within: Self.patience, messageLimit: 1)
            else {
                return
            }
            _ = try? await session.publish(message)
            await session.disconnect()
        }
    }

    private func message(_ problem: String) -> MQTTMessage {
        let now = clock.wall()
        let report = FailureReport(
            id: Identifier.ulid(at: now), code: .disk, origin: .agent, detail: problem, at: now)
        var message = MQTTMessage.retained(topic, report.encoded())
        message.retain = false
        message.qos = .atMostOnce
        return message
    }
}
