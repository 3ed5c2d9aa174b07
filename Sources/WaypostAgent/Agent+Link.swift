import Logging
import MQTTLink
import Threading
import Waypost
import WaypostMessages

/// What the link calls, all on the link's thread.
final class LinkListener: MQTTLinkDelegate {
    private let agent: Agent
    /// That of the last message: most of a batch have the same topic.
    private let source = Guarded<CloudEvent.Source?>(nil)

    init(_ agent: Agent) { self.agent = agent }

    func linkWillConnect(_ version: MQTTVersion) -> MQTTMessage? { agent.presence.will(version) }
    func linkMessagesWithConnect() -> [MQTTMessage] { agent.alarm.messagesWithConnect() }
    func linkDidConnect(_ connection: Connection) {
        agent.alarm.arrived()
        agent.connected(connection)
    }
    func link(received batch: [MQTTMessage]) -> BatchDecision { agent.intake.take(batch) }
    func link(lends thread: ThreadLoan) { agent.executor.beginHere(adopt: thread.keep) }
    func linkWillAcknowledge() -> BatchDecision { agent.intake.mayAcknowledge() }
    func link(skipped message: SkippedMessage) { agent.skipped(message) }
    func linkDidSubscribe(_ connection: Connection) { agent.subscribed(connection) }
    func link(propertiesFor message: MQTTMessage) -> [MQTTProperties.User] {
        let source = source.withLock { last in
            if last?.topic != message.topic { last = CloudEvent.Source(message.topic, agent.topics) }
            return last
        }
        return source.map { CloudEvent(message, from: $0, at: agent.clock.wall()).properties } ?? []
    }
    func link(settled receipts: [PublishReceipt]) { agent.settled(receipts) }
    func linkDidDisconnect(_ reason: DisconnectReason) { agent.disconnected(reason) }
    func linkStillDisconnected(_ reason: DisconnectReason) { agent.disconnected(reason, isKnown: true) }
    // At the end of a turn of the loop the acknowledgements of its batch are written.
    func linkTick() {
        FaultPoint.turnEnded()
        agent.loop.ticked(at: agent.clock.monotonic())
        agent.maps.tick()
    }
}

extension Agent {
    fileprivate func connected(_ connection: Connection) {
        presence.connected(connection)
        intake.connected()
        maps.connected(isNewSession: !connection.sessionPresent)
        status.connected(connection)
        if connection.sessionPresent { giveUpLeftGroups() }
        rememberVersion(connection)
        if isSessionLost(connection) {
            reporter.failed(
                .sessionLost,
                "\(connection.broker) no longer has the session of this agent; "
                    + "messages sent to it while it was offline are lost", in: .link)
        }
        publishBirth()
        publishDocuments()
        systemd?.notify("STATUS=online at \(connection.broker)")
        outbox.connected(receiveMaximum: Int(connection.receiveMaximum))
        beginSelfTest(connection)
        logger.notice(
            "agent \(configuration.agent) online at \(connection.broker) (MQTT \(connection.version), root \(topics.root))"
        )
        logChanges(currentChecks)
        reporter.log(
            .info, "Agent",
            "online, MQTT \(connection.version)\(connection.sessionPresent ? ", session resumed" : "")")
        for filter in status.current.refusedSubscriptions { refused(filter) }
    }

    /// - Parameter isKnown: whether it was reported for an earlier try.
    fileprivate func disconnected(_ reason: DisconnectReason, isKnown: Bool = false) {
        outbox.disconnected()
        status.changeSelfTest { $0.ended() }
        guard reason.cause != .stopped else { return }
        systemd?.notify("STATUS=offline: \(reason)")
        let isDisk = reason.cause == .batchRefused
        let problem = isDisk ? store.disk.problem.map { ": \($0)" } ?? "" : ""
        let (outage, isLineDue) = status.disconnected(
            reason, "\(reason.summary)\(problem)", code: isDisk ? .disk : reason.code, at: clock.wall(),
            clock.monotonic())
        // The agent asked for it itself and logged it then, or it is the same as before.
        guard reason.cause != .renewing, !reason.isRepeated else { return }
        if isLineDue {
            let time = TimeText.span(clock.wall() - outage.since)
            let again = isKnown ? "still, after \(outage.count.counted("try", "tries")) in \(time): " : ""
            logger.warning("\(again)\(reason)\(problem)")
        }
        // On a full disk connections come and go, each for the same reason.
        guard !isKnown, isLineDue || !isDisk else { return }
        reporter.log(.warning, "Link", "\(reason)\(problem)")
        if let code = reason.code { reporter.failed(code, reason.description, in: .link) }
    }

    /// Whether the broker should have a session of this agent and has none; asked once for each connection.
    private func isSessionLost(_ connection: Connection) -> Bool {
        let broker = connection.broker.description
        // With several brokers, each has sessions of its own.
        let known = try? store.commit { transaction in
            let known = try transaction.text("session")
            if known != broker { try transaction.setText("session", broker) }
            return known
        }
        return known == broker && !connection.sessionPresent
    }

    /// The broker's answers to subscriptions that it had refused.
    fileprivate func subscribed(_ connection: Connection) {
        let granted = status.subscribed(connection)
        guard !granted.isEmpty else { return }
        logger.notice("the broker grants the subscription to \(granted.joined(separator: ", ")) now")
        reporter.log(.info, "Link", "subscribed to \(granted.joined(separator: ", "))")
        beginSelfTest(connection)
        publishHealth()
    }

    /// A message that was too large to be read.
    fileprivate func skipped(_ message: SkippedMessage) {
        status.skipped()
        intake.skipped(message)
    }

    private func beginSelfTest(_ connection: Connection) {
        let agent = configuration.agent
        let commands = topics.command(to: .agent(agent), from: "+")
        let receivesCommands = connection.subscriptions.contains {
            $0.subscription.filter == commands && $0.isGranted
        }
        let payloads = status.changeSelfTest {
            $0.began(
                boot: events.boot, nonce: Identifier.ulid(at: clock.wall()), over: connection.version,
                receivesCommands: receivesCommands, at: clock.monotonic())
        }
        let echo = MQTTMessage(topic: topics.echo(of: agent), payload: payloads.echo, qos: .atLeastOnce)
        outbox.enqueue([OutboxItem(origin: .volatile, kind: .presence, message: echo)])
        // Not through the outbox: that the broker refuses it is no fault.
        guard let ping = payloads.ping, let link = reloadable.withLock(\.link) else { return }
        let topic = topics.command(to: .agent(agent), from: agent)
        link.publish([
            OutgoingMessage(token: SelfTest.token, message: MQTTMessage(topic: topic, payload: ping))
        ])
    }

    fileprivate func settled(_ receipts: [PublishReceipt]) {
        guard let ping = receipts.first(where: { $0.token == SelfTest.token }) else {
            return outbox.settled(receipts)
        }
        status.changeSelfTest { $0.pingSettled(ping.result) }
        outbox.settled(receipts.filter { $0.token != SelfTest.token })
    }

    /// Subscribes to the candidates of groups, or gives that up.
    func subscribe(toCandidatesOf groups: [String], _ isWanted: Bool) {
        guard let link = reloadable.withLock(\.link) else { return }
        let filters = groups.map { topics.candidate(of: $0) }
        guard isWanted else { return link.unsubscribe(filters) }
        let subscriptions = filters.map(subscription)
        AgentThreads.start { _ = try? await link.subscribe(subscriptions) }
    }

    // MARK: Publishing

    /// The most bytes that a payload may have now.
    var maximumPayload: Int { status.maximumPayload(configuration.limits.packetBytes) }

    /// Publishes events of the log.
    func publish(_ batches: [EventLog.Batch]) {
        let items = batches.map { batch in
            var properties = MQTTProperties()
            properties.contentType = "application/x-ndjson"
            properties.payloadIsUTF8 = true
            let message = MQTTMessage(
                topic: topics.log(of: configuration.agent, level: batch.level), payload: batch.payload,
                qos: batch.level.isDeliveredAtLeastOnce ? .atLeastOnce : .atMostOnce, properties: properties)
            return OutboxItem(origin: .volatile, kind: .log, message: message, events: batch.events)
        }
        events.lost(outbox.enqueue(items))
    }

    /// The final outcome of messages.
    func settled(_ results: [OutboxState.Settled]) {
        var delivered: [OutboxItem] = []
        for result in results {
            switch result {
            case .delivered(let item):
                delivered.append(item)
                if let spans, case .reply(let sequence) = item.origin { spans.replied(sequence) }
            case .tooLarge(let item):
                let limit = status.current.connection?.maximumPacketSize.map { Int($0) }
                guard journal.tooLarge(item, limit: limit) else {
                    outbox.keep(item)
                    logRefusal(of: item, "it is sent again on the next connection")
                    continue
                }
                logRefusal(of: item, "a smaller one replaces it")
            case .kept(let item): logRefusal(of: item, "it is sent again on the next connection")
            case .dropped(let item):
                if let spans, case .reply(let sequence) = item.origin { spans.replied(sequence) }
                events.lost(item.events)
                logRefusal(of: item, "it is dropped")
            case .retried: break
            }
        }
        journal.acknowledged(delivered)
    }

    private func logRefusal(of item: OutboxItem, _ consequence: String) {
        let reason = outbox.counters.lastRefusal ?? "unknown reason"
        let lines = refusals.refused(
            at: clock.monotonic(),
            "the broker refused a message on \(item.message.topic): \(reason) (\(item.message.payload.count) bytes); \(consequence)"
        )
        for line in lines { logger.error("\(line)") }
    }
}

extension Outbox {
    /// Sends a reply that is not stored; it is dropped when too much waits.
    func reply(_ reply: Reply, to address: ReplyAddress) {
        enqueue([OutboxItem(origin: .volatile, kind: .reply, message: address.message(reply))])
    }
}

extension Reporter {
    /// Reports how a command ended, when that is a failure.
    func failed(_ result: CommandResult, of job: CommandJob) {
        guard result.isFailure else { return }
        failed(
            result.code, result.detail ?? result.code.name, in: result.origin, of: job.reference,
            url: result.url, nearest: result.nearest, sender: job.sender)
    }
}
