import MQTTLink
import Threading
package import Waypost
import WaypostFleet
import WaypostMessages
import WaypostTools

extension Agent {
    // MARK: Documents

    /// The screens of each stack that are published when all of them are too many for one message; the next number when
    /// these are too many as well.
    private static let shownScreens = [3, 1, 0]

    /// Publishes the retained documents about the agent: health, the map in force, the routes, what is shown.
    func publishDocuments() {
        publishHealth()
        publishMaps()
        publishNavigation()
    }

    func publishHealth() {
        outbox.publish(topics.health(of: configuration.agent)) {
            let health = health
            logChanges(health.checks)
            _ = healthHistory.takeNews(health.checks)
            return health.encoded(within: maximumPayload)
        }
    }

    /// Publishes the routes and the contract, and then the map in force: who has read that finds the others as they are.
    ///
    /// - Parameter delay: How long it waits, in milliseconds: a roll-out changes many agents at once.
    func publishMaps(after delay: Int64 = 0) {
        // Not here, which may be the link's thread: the list of a hundred thousand routes takes a while.
        AgentThreads.start { [self] in
            if delay > 0 { await AgentThreads.sleep(for: .milliseconds(delay)) }
            outbox.publish(topics.routes(of: configuration.agent), routeList)
            outbox.publish(topics.contract(of: configuration.agent), contract)
            publishApplied()
        }
    }

    /// Publishes the map in force.
    func publishApplied() {
        outbox.publish(topics.applied(of: configuration.agent)) {
            let applied = events.redaction.masked(maps.applied).cut(to: maximumPayload)
            report(applied.omitted, missingIn: "entries of the map")
            return applied.encoded()
        }
    }

    /// Publishes what is shown, when the program has a navigator that says it.
    func publishNavigation() {
        guard let navigator = router.navigator, navigator.navigation != nil else { return }
        outbox.publish(topics.navigation(of: configuration.agent)) {
            guard let state = navigator.navigation else { return Array("null".utf8) }
            var payload = events.redaction.masked(state.json).serialized()
            for limit in Self.shownScreens where payload.count > maximumPayload {
                payload = events.redaction.masked(state.json(atMost: limit)).serialized()
            }
            return payload
        }
    }

    /// Publishes such a document again when another client wrote on its topic, or removed it.
    ///
    /// Where one does so all the time that is ever less often. False when the message is on another topic.
    func documentCame(_ message: MQTTMessage) -> Bool {
        guard case (configuration.agent, let content)? = topics.outbound(message.topic) else { return false }
        switch content {
        case .reply, .log, .failure: return false
        case .state, .health, .routes, .contract, .navigation, .applied: break
        }
        // What came when it subscribed is what it published itself on an earlier connection.
        guard !message.retain,
            let pause = outbox.timeToRepeat(after: message, hasEchoes: presence.version != .v5)
        else { return true }
        let what = message.payload.isEmpty ? "removed" : "overwrote"
        reporter.log(
            .warning, "Agent", "another client \(what) \(message.topic) at the broker; it is published again")
        AgentThreads.start { [weak self] in
            if pause > 0 { await AgentThreads.sleep(for: .milliseconds(pause)) }
            // A goodbye is the last word.
            guard let self, !runs.isStopping else { return }
            outbox.willPublishAgain(message.topic)
            switch content {
            case .state: publishBirth()
            case .health: publishHealth()
            case .navigation: publishNavigation()
            default: publishMaps()
            }
        }
        return true
    }

    /// Publishes that the agent is there.
    func publishBirth() {
        outbox.publish(topics.state(of: configuration.agent)) { presence.message(.birth) }
    }

    private var publishedLists: PublishedLists {
        PublishedLists(of: router, redaction: events.redaction, within: maximumPayload)
    }

    private func routeList() -> [UInt8] {
        let (payload, missing) = publishedLists.routes
        report(missing, missingIn: "routes")
        return payload
    }

    private func contract() -> [UInt8] {
        let (payload, missing) = publishedLists.contract
        report(missing, missingIn: "services, redirects and deleted paths")
        return payload
    }

    private func report(_ missing: Int, missingIn list: String) {
        let before = reloadable.withLock { $0.missing.updateValue(missing, forKey: list) } ?? 0
        guard missing > 0, missing != before else { return }
        reporter.log(
            .warning, "Agent",
            "the list of \(list) is truncated: \(missing) do not fit into one message of \(maximumPayload) bytes"
        )
    }

    // MARK: Health

    /// The most opens that wait for a gate in health.
    private static let shownWaiting = 20

    /// The state of the agent at this moment.
    var health: Health {
        let link = status.current
        let commands = intake.counters
        let stored = journal.counters
        let sent = outbox.counters
        let scheduled = executor.scheduled
        var health = Health()
        health.agent = configuration.agent
        health.version = Version.current
        health.groups = groups.names
        health.saidGroups = groups.current.said
        health.client = clientFacts
        health.certificate = certificateDocument
        health.boot = events.boot
        health.epoch = presence.epoch
        health.at = clock.wall()
        health.uptime = max(0, clock.wall() - started)
        health.mqtt = Int64(link.connection?.version.rawValue ?? 0)
        health.broker = link.connection?.broker.description ?? ""
        health.checks = currentChecks
        health.counters = [
            "connects": .int(link.connects),
            "received": .int(commands.received),
            "duplicates": .int(commands.duplicates),
            "refused": .int(commands.rejected),
            "badTraces": .int(commands.badTraces),
            "ended": .object(
                Dictionary(uniqueKeysWithValues: stored.ended.map { ($0.key.rawValue, .int($0.value)) })),
            "events": .int(events.sequence),
            "eventsDropped": .int(events.dropped),
            "publishesRefused": .int(sent.refused),
            "messagesDropped": .int(sent.dropped),
            "messagesSkipped": .int(link.skipped),
            "reportsDropped": .int(stored.droppedReports),
        ]
        health.waiting = [
            "commands": .int(Int64(executor.waiting)),
            "scheduled": .int(Int64(scheduled.count)),
            "outbox": .int(Int64(outbox.waiting)),
            "refused": .int(Int64(sent.kept)),
            "gates": .array(
                router.waitingOpens.prefix(Self.shownWaiting).map { events.redaction.masked($0.json) }),
        ]
        if let next = scheduled.next { health.waiting["next"] = .int(next) }
        health.log = events.levelDocument
        health.map = MapSummary(events.redaction.masked(maps.applied))
        health.opens = routeCounters.json.map { events.redaction.masked($0) }
        health.limits = reloadable.withLock(\.limits)
        // The broker's own limit may be lower.
        let asked = configuration.link.sessionExpiry
        if let granted = link.connection?.features.sessionExpiry, granted < asked {
            health.limits["sessionExpiry"] = .int(Int64(granted))
            health.limits["sessionExpiryAsked"] = .int(Int64(asked))
        }
        return health
    }

    /// What conditions of maps ask about this client, without what must not be seen.
    private var clientFacts: Health.Members {
        let context = router.relocationContext
        var facts: Health.Members = [:]
        if let build = context.build { facts["build"] = .string(build.cut(to: ClientFacts.maximumBytes)) }
        if let locale = context.locale { facts["locale"] = .string(locale.cut(to: ClientFacts.maximumBytes)) }
        let labels = context.labels.sorted { $0.key < $1.key }.prefix(ClientFacts.maximumLabels).map {
            ($0.key, JSONValue.string($0.value.cut(to: ClientFacts.maximumBytes)))
        }
        if !labels.isEmpty {
            let known = Dictionary(labels) { first, _ in first }
            facts["labels"] = .object(events.redaction.masked(known))
        }
        return facts
    }

    /// The health, and whether there is a broker now: for those on the agent's own machine.
    package var localHealth: JSONValue {
        var health = health
        health.isOnline = outbox.isOnline
        return health.json
    }

    // MARK: Metrics

    /// Brings counters and gauges up to date.
    ///
    /// The agent does so at least every 10 s; an exporter that is read in between calls it before.
    public func updateMetrics() {
        guard metrics.isRead else { return }
        let (link, now, applied) = (status.current, clock.wall(), maps.applied)
        let ids = ledger.shares
        metrics.bring(
            upTo: {
                let commands = intake.counters
                return AgentMetrics.Totals(
                    ended: journal.counters.ended, received: commands.received,
                    duplicates: commands.duplicates, rejected: commands.rejected,
                    connects: status.current.connects, refusedPublishes: outbox.counters.refused,
                    events: events.sequence, eventsDropped: events.dropped)
            },
            AgentMetrics.Levels(
                commandsWaiting: executor.waiting, outbox: outbox.waiting, isOnline: outbox.isOnline,
                checks: checks(at: now, link, journal.counters, outbox.counters).map { ($0.name, $0.state) },
                revisions: applied.layers.compactMap { layer in layer.revision.map { (layer.name, $0) } },
                inactiveEntries: applied.inactive.count,
                certificateDays: certificates.days(broker: link.connection?.certificate, at: now),
                ids: (ids.total.ids, ids.limit.ids),
                store: (store.disk.heldBytes, store.disk.byteLimit)))
    }
}
