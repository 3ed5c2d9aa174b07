import MQTTLink
import Waypost
import WaypostMessages

/// What the broker shows of the agent: births, the will, the goodbye, each with the epoch of its connection.
final class Presence: Sendable {
    private struct State {
        var epoch: Int64 = 0
        var mqtt = MQTTVersion.v5
    }

    private let agent: String
    private let boot: String
    private let topics: Topics
    private let store: Store
    private let state = Guarded(State())

    init(agent: String, boot: String, topics: Topics, store: Store) {
        self.agent = agent
        self.boot = boot
        self.topics = topics
        self.store = store
    }

    /// Raises the epoch and makes the will of the next connection of it.
    func will() -> MQTTMessage {
        state.withLock { state in
            // A full disk must not keep the agent off the broker, where it can say that the disk is full; the
            // epoch then rises in memory and is made up for with the next one that can be stored.
            let stored = try? store.commit { transaction in
                let epoch = max(state.epoch, try transaction.number("epoch") ?? 0) + 1
                try transaction.setNumber("epoch", epoch)
                return epoch
            }
            state.epoch = stored ?? state.epoch + 1
        }
        return message(.will)
    }

    /// The version that is spoken now.
    var version: MQTTVersion { state.withLock(\.mqtt) }
    /// The number of the present connection.
    var epoch: Int64 { state.withLock(\.epoch) }

    func connected(_ connection: Connection) { state.withLock { $0.mqtt = connection.version } }

    /// Whether the broker ought to have a session of ours and has none; asked once a connection.
    func lostSession(_ connection: Connection) -> Bool {
        let broker = connection.broker.description
        // With several brokers, each has sessions of its own.
        let known = try? store.commit { transaction in
            let known = try transaction.text("session")
            if known != broker { try transaction.setText("session", broker) }
            return known
        }
        return known == broker && !connection.sessionPresent
    }

    /// The birth, the will or the goodbye of the present connection.
    func message(_ reason: AgentState.Reason) -> MQTTMessage {
        let (epoch, mqtt) = state.withLock { ($0.epoch, $0.mqtt) }
        let state = AgentState(
            isOnline: reason == .birth, epoch: epoch, boot: boot, reason: reason, agent: agent,
            version: Version.current, mqtt: Int(mqtt.rawValue))
        return .retained(topics.state(of: agent), state.encoded())
    }
}
