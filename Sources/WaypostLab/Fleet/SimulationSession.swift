import MQTTLink
import Synchronization
import Threading

/// One MQTT session of a simulation: of one agent, or one that many agents share.
final class SimulationSession: MQTTLinkDelegate {
    /// An agent's own has the agent's.
    let number: Int
    /// The agent whose own it is.
    let agent: Int?
    private let simulation: Simulation
    private let link = Guarded<MQTTLink?>(nil)
    private let connection = Guarded<(isUp: Bool, wasUp: Bool, reason: DisconnectReason?)>(
        (false, false, nil))
    private let inFlight = Atomic(0)
    private let refused = Atomic(0)

    init(
        _ number: Int, _ configuration: MQTTLinkConfiguration, of agent: Int?, in simulation: Simulation
    ) {
        self.number = number
        self.agent = agent
        self.simulation = simulation
        link.withLock { $0 = MQTTLink(configuration: configuration, delegate: self) }
    }

    /// - Parameter thread: One that it shares with others; nil for one of its own.
    func start(on thread: LinkThread?) { link.withLock { $0 }?.start(on: thread) }

    /// Whether there is a connection.
    var isUp: Bool { connection.withLock(\.isUp) }
    /// Why the last try failed.
    var reason: DisconnectReason? { connection.withLock(\.reason) }
    /// Messages without a receipt.
    var waiting: Int { inFlight.load(ordering: .relaxed) }
    /// Messages that the broker did not take.
    var refusals: Int { refused.load(ordering: .relaxed) }

    func publish(_ messages: [MQTTMessage]) {
        inFlight.add(messages.count, ordering: .relaxed)
        link.withLock { $0 }?.publish(messages.map { OutgoingMessage(token: 0, message: $0) })
    }

    /// Ends it with a goodbye: no will is sent.
    func stop() async { await link.withLock { $0 }?.stop(within: .seconds(5)) }

    /// Ends it without one, as a machine does that loses its power.
    func drop() { link.withLock { $0 = nil } }

    // MARK: Called by the link

    func linkWillConnect(_ version: MQTTVersion) -> MQTTMessage? { agent.map(simulation.will(of:)) }

    func linkDidConnect(_ connection: Connection) {
        let isFirst = self.connection.withLock { state in
            defer { state = (true, true, nil) }
            return !state.wasUp
        }
        simulation.connected(self, connection.version, isFirst: isFirst)
    }

    func link(received batch: [MQTTMessage]) -> BatchDecision {
        simulation.received(batch, by: agent)
        return .acknowledge
    }

    func link(settled receipts: [PublishReceipt]) {
        inFlight.subtract(receipts.count, ordering: .relaxed)
        let failed = receipts.count { receipt in
            switch receipt.result {
            case .acknowledged, .lost: false
            case .refused, .rejected: true
            }
        }
        if failed > 0 { refused.add(failed, ordering: .relaxed) }
    }

    func linkDidDisconnect(_ reason: DisconnectReason) {
        let wasUp = connection.withLock { connection in
            defer { (connection.isUp, connection.reason) = (false, reason) }
            return connection.isUp
        }
        simulation.disconnected(self, reason, wasUp: wasUp)
    }
}
