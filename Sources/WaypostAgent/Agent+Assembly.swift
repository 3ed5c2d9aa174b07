import Logging
import MQTTLink
import Threading
import Waypost
import WaypostMessages

// What each part is connected to: a function for each, which names the parts that it needs.

extension Reporter {
    /// Reports go to the log, are watched for repetitions, and are committed.
    init(
        clock: AgentClock, events: EventLog, failures: FailureLog, journal: Journal, logger: Logger,
        mapInForce: Callback<Void, FailureReport.MapInForce?>
    ) {
        self.init(
            clock: clock,
            writeEvent: { events.log($0, $1, $2(), isError: $3, of: $4) },
            sendReport: { report in
                var report = events.redaction.masked(report)
                report.map = mapInForce()
                let reported = failures.occurred(report)
                // Repetitions that others cause are counted, and must not take the place of other events.
                if !reported.isEmpty || report.sender == nil && report.code != .busy { events.log(report) }
                // For a reader who has no broker.
                if report.origin == .map, !reported.isEmpty {
                    logger.warning("\(report.code): \(report.detail)")
                }
                for report in reported { journal.failed(report) }
            })
    }
}

extension Journal.Connections {
    init(ledger: CommandLedger, handlers: ThreadPool, spans: CommandSpans?) {
        self.init(
            resultsCommitted: { results in
                ledger.resultsCommitted(results)
                spans?.stored(results.map(\.sequence))
            },
            replyReplaced: { ledger.replyShrank(on: $0, by: $1) },
            isGathering: { handlers.isOnBorrowedThread })
    }
}

extension CommandHistory {
    init(
        _ configuration: AgentConfiguration, groups: AgentGroups, topics: Topics, journal: Journal,
        status: LinkStatus
    ) {
        self.init(
            commit: { body throws(StoreError) in try journal.commit(steps: 1, body) }, topics: topics,
            agent: configuration.agent,
            audiences: { [.agent(configuration.agent)] + groups.audiences },
            maximumBytes: { status.maximumPayload(configuration.limits.packetBytes) })
    }
}

extension CommandExecutor.Connections {
    init(
        journal: Journal, outbox: Outbox, reporter: Reporter, redaction: Redaction, clock: AgentClock,
        clockMonitor: ClockMonitor, local: LocalCommands, spans: CommandSpans?
    ) {
        self.init(
            commit: { step, job throws(Failure) in
                guard job.isLocal else { return await journal.commit(step, of: job) }
                try await local.commit(step, job.sequence)
                return true
            },
            end: { commands, isFree in
                let commands = commands.map(redaction.masked)
                // First, so that one commit has both.
                for ended in commands { reporter.failed(ended.result, of: ended.job) }
                if let spans { for ended in commands { spans.ended(ended) } }
                guard commands.contains(where: \.job.isLocal) else {
                    return journal.ended(commands, isFree: isFree)
                }
                let others = commands.filter { !$0.job.isLocal }
                if !others.isEmpty { journal.ended(others, isFree: isFree) }
                let locals = commands.filter(\.job.isLocal)
                local.ended(locals)
                if let spans { for ended in locals { spans.replied(ended.job.sequence) } }
            },
            flush: { await journal.flush() },
            commitGathered: { journal.commitGathered() },
            accepted: { job in
                guard !job.isLocal else { return }
                let due = job.isScheduled ? job.header.opening?.lowerBound : nil
                let reply = Reply.accepted(
                    id: job.id, attempt: job.attempt, at: clock.wall(), due: due,
                    warnings: due == nil ? [] : job.header.warnings)
                outbox.reply(reply, to: job.address)
            },
            progressed: { job, progress in
                // It is worth nothing later.
                guard !job.isLocal, outbox.isOnline else { return }
                let reply = Reply.progress(
                    progress, id: job.id, attempt: job.attempt, at: clock.wall())
                outbox.reply(redaction.masked(reply), to: job.address)
            },
            spans: spans, isClockCorrect: { clockMonitor.isCorrect(at: $0) })
    }
}

extension LocalCommands.Connections {
    init(journal: Journal, store: Store) {
        self.init(
            commit: { body throws(StoreError) in try journal.commit(steps: 1, body) },
            known: { topic, id throws(StoreError) in try store.read(1) { try $0.known(topic, id) } })
    }
}

extension Intake.Connections {
    init(
        executor: CommandExecutor, journal: Journal, outbox: Outbox, maps: RelocationMaps,
        status: LinkStatus, redaction: Redaction, documents: Callback<MQTTMessage, Bool>
    ) {
        self.init(
            dispatch: { executor.admitted($0) },
            received: { journal.received($0) },
            commit: { (new, repeated) throws(StoreError) in
                try journal.commit(steps: new.count + repeated.count, repeated: repeated) {
                    try $0.receive(new, results: [:])
                }
            },
            commitReceived: { () throws(StoreError) in try journal.commitReceived() },
            commitSent: { journal.commitSent() },
            reply: { outbox.reply(redaction.masked($0), to: $1) },
            repeatReply: { sequence, reply, address in
                outbox.enqueue([
                    OutboxItem(
                        origin: .reply(sequence: sequence), kind: .reply,
                        message: address.message(repeating: reply), isRepeat: true)
                ])
            },
            applyMap: { maps.take($0, on: $1, for: $2, at: $3) },
            echoReceived: { payload in status.changeSelfTest { $0.echoReceived(payload) } },
            isSelfTest: { payload in status.changeSelfTest { $0.pingReceived(payload) } },
            documentReceived: { documents($0) },
            waitingCommands: { executor.waiting },
            isOutboxFull: { journal.isOutboxFull(for: $0) })
    }
}

extension Presence {
    convenience init(
        _ configuration: AgentConfiguration, boot: String, topics: Topics, clock: AgentClock, store: Store,
        status: LinkStatus, runs: RunRecord, redaction: Redaction
    ) throws(StoreError) {
        self.init(
            agent: configuration.agent, boot: boot, topic: topics.state(of: configuration.agent),
            clock: clock,
            after: try store.commit { try $0.highestUsedEpoch() },
            last: { reason in
                let link = status.current
                let disk = store.disk.problem.map {
                    AgentState.Cause(.disk, $0.description, at: clock.wall())
                }
                let cause =
                    switch reason {
                    case .shutdown: runs.end(at: clock.wall())
                    case .birth: disk ?? (link.outage ?? link.lastOutage)?.cause ?? runs.previousEnd
                    default: disk
                    }
                return cause.map(redaction.masked)
            },
            raise: { store.raiseEpoch(above: $0) })
    }
}

extension CommandRunner.AgentCommands {
    /// The agent owns who runs these, which must not keep it alive.
    init(of agent: Agent) {
        let (events, maps, store, clock) = (agent.events, agent.maps, agent.store, agent.clock)
        let name = agent.configuration.agent
        self.init(
            health: { [weak agent] in agent?.health.json ?? .null },
            replay: { replay throws(Failure) in try events.answer(replay, of: name, at: clock.wall()) },
            maps: { request, bytes throws(Failure) in try maps.page(request, bytes: bytes) },
            layers: { maps.layersInForce },
            setLevel: { [weak agent] override in
                // Losing it on a full disk only means that a restart forgets a temporary level.
                try? store.commit { try $0.setOverride(override) }
                let lowest = events.setOverride(override)
                agent?.publishHealth()
                return lowest
            },
            progress: { [weak executor = agent.executor] in executor?.progress(of: $0) })
    }
}
