import Logging
import MQTTLink
import Waypost
import WaypostMessages

extension Agent {
    func connected(_ connection: Connection) {
        presence.connected(connection)
        if presence.lostSession(connection) {
            reportFailure(
                .sessionLost,
                "\(connection.broker) has no session of this agent any more; "
                    + "what was sent while it was away and was not delivered is gone")
        }
        let refused = connection.subscriptions.filter { !$0.isGranted }.map(\.subscription.filter)
        let epoch = presence.epoch
        health.update {
            $0.connects += 1
            $0.epoch = epoch
            $0.mqtt = Int(connection.version.rawValue)
            $0.brokerURL = connection.broker.description
            $0.subscriptionsRefused = refused
            $0.brokerCertificate = connection.certificate
            $0.echo = .pending
        }
        outbox.replace(OutboxItem(origin: .volatile, kind: .presence, message: presence.message(.birth)))
        publishDocuments()
        manager?.tell("STATUS=online at \(connection.broker)")
        outbox.connected(receiveMaximum: Int(connection.receiveMaximum))
        testEcho()
        logger.notice(
            "agent \(configuration.agent) online at \(connection.broker) (MQTT \(connection.version), root \(topics.root))"
        )
        events.log(
            .info, "Agent",
            "online, MQTT \(connection.version)\(connection.sessionPresent ? ", session resumed" : "")")
        for filter in refused {
            reportFailure(
                .subscriptionRefused,
                "the broker refused the subscription to \(filter); check its rules for this agent")
        }
    }

    func disconnected(_ reason: DisconnectReason) {
        outbox.disconnected()
        guard reason.cause != .stopped else { return }
        manager?.tell("STATUS=offline: \(reason)")
        // It was asked for, and told of then.
        guard reason.cause != .renewing else { return }
        logger.warning("\(reason)")
        events.log(.warning, "Link", reason.description)
        if let code = reason.code { reportFailure(code, reason.description) }
    }

    /// Publishes the retained documents about the agent: health, the map in force, the routes.
    func publishDocuments() {
        publishHealth()
        intake.publishApplied()
        outbox.replace(
            .retained(
                topics.routes(of: configuration.agent),
                JSONValue.array(router.routes.map(\.json)).serialized()))
    }

    func publishHealth() {
        outbox.replace(.retained(topics.health(of: configuration.agent), report.json.serialized()))
    }

    func reportFailure(_ code: Code, _ detail: String, in origin: FailureReport.Origin = .link) {
        let now = clock.wall()
        journal.report(
            FailureReport(id: Identifier.ulid(at: now), code: code, origin: origin, detail: detail, at: now))
    }

    /// The messages with what MQTT 5 can show of their content, where it is spoken.
    func mirrored(_ messages: [OutgoingMessage]) -> [OutgoingMessage] {
        guard presence.version == .v5 else { return messages }
        let now = clock.wall()
        return messages.map { outgoing in
            var outgoing = outgoing
            outgoing.message.properties.user +=
                CloudEvent(outgoing.message, topics, at: now)?.properties ?? []
            return outgoing
        }
    }

    /// A message to oneself: some brokers grant a subscription that they never serve, and take what they then drop.
    private func testEcho() {
        let message = MQTTMessage(
            topic: topics.echo(of: configuration.agent), payload: Array("{\"boot\":\"\(events.boot)\"}".utf8),
            qos: .atLeastOnce)
        outbox.enqueue([OutboxItem(origin: .volatile, kind: .presence, message: message)])
    }
}

/// What the link tells the agent, all on the link's thread.
final class LinkListener: MQTTLinkDelegate {
    private let agent: Agent

    init(_ agent: Agent) { self.agent = agent }

    func linkWillConnect() -> MQTTMessage? { agent.presence.will() }
    func linkDidConnect(_ connection: Connection) { agent.connected(connection) }
    func link(received batch: [MQTTMessage]) -> BatchDecision { agent.intake.take(batch) }
    func link(settled receipts: [PublishReceipt]) { agent.outbox.settled(receipts) }
    func linkDidDisconnect(_ reason: DisconnectReason) { agent.disconnected(reason) }
    // At the end of a turn of the loop the acknowledgements of its batch are written.
    func linkTick() {
        FaultPoint.turnEnded()
        agent.loop.ticked(at: agent.clock.monotonic())
    }
}
