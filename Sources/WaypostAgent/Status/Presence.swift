import MQTTLink
import Threading
import Waypost
import WaypostMessages

/// What the broker shows of the agent: births, the will, the goodbye, each with the epoch of its connection.
final class Presence: Sendable {
    private struct State {
        var epoch: Int64
        var mqtt = MQTTVersion.v5
    }

    private let agent: String
    private let boot: String
    private let topic: String
    private let clock: AgentClock
    /// Stores the number after the given one, or after the stored one if that is higher.
    private let raise: @Sendable (Int64) -> Int64
    /// What there is to say of the time before, or of the end; see ``AgentState/last``.
    private let last: @Sendable (AgentState.Reason) -> AgentState.Cause?
    private let state: Guarded<State>

    /// - Parameter epoch: the highest that may have gone out before.
    init(
        agent: String, boot: String, topic: String, clock: AgentClock, after epoch: Int64,
        last: @escaping @Sendable (AgentState.Reason) -> AgentState.Cause? = { _ in nil },
        raise: @escaping @Sendable (Int64) -> Int64
    ) {
        self.agent = agent
        self.boot = boot
        self.topic = topic
        self.clock = clock
        self.raise = raise
        self.last = last
        state = Guarded(State(epoch: epoch))
    }

    /// Raises the epoch and makes the will of the next connection of it, which is tried with that version.
    func will(_ version: MQTTVersion) -> MQTTMessage {
        let raised = raise(state.withLock(\.epoch))
        state.withLock { $0 = State(epoch: raised, mqtt: version) }
        return .retained(topic, message(.will))
    }

    /// The version that is spoken now.
    var version: MQTTVersion { state.withLock(\.mqtt) }
    /// The number of the present connection.
    var epoch: Int64 { state.withLock(\.epoch) }

    func connected(_ connection: Connection) { state.withLock { $0.mqtt = connection.version } }

    /// The birth, the will or the goodbye of the present connection.
    func message(_ reason: AgentState.Reason) -> [UInt8] {
        let (epoch, mqtt) = state.withLock { ($0.epoch, $0.mqtt) }
        return AgentState(
            isOnline: reason == .birth, epoch: epoch, boot: boot, reason: reason, agent: agent,
            version: Version.current, mqtt: Int(mqtt.rawValue), at: reason == .will ? nil : clock.wall(),
            last: last(reason)
        ).encoded()
    }
}
