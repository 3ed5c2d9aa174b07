import MQTTLink
import Waypost
import WaypostMessages

/// Says at QoS 0 that nothing can be stored any more, over a connection of its own.
///
/// The agent's own connection can't: the broker delivers there what is not acknowledged, and that can't be stored, so
/// it is dropped before anything else gets through. What goes out at QoS 1 would have to be stored first.
final class DiskAlarm: Sendable {
    /// How long one alarm is enough, in milliseconds.
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
            // An operator who can't be reached will see a red health once there is room again.
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
