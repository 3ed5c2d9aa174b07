import MQTTLink
import Threading
import Waypost
import WaypostMessages
import WaypostSpans

/// How far that is taken up which an earlier run left on disk.
struct Recovery {
    /// The last command of that run.
    let last: Int64
    /// Whether that run ended as it should; nil until the disk has taken that this one has begun.
    fileprivate var isClean: Bool?
    /// The last command that is taken up.
    fileprivate var cursor: Int64 = 0
    /// The lanes whose first command is taken up, the only one of theirs that may have begun.
    ///
    /// One that a gate holds has left its lane and has not begun; one that went on after that may have.
    fileprivate var lanes: Set<String> = []
    fileprivate var commands = 0
    fileprivate var reports = 0

    /// - Parameter last: the last row of the store.
    init(last: Int64) { self.last = last }
}

extension Agent {
    /// Payloads that are read from disk at one time, in bytes.
    private static var pageBytes: Int { 1 << 20 }

    /// What is left to recover, where the disk takes nothing; that is reported by who asked it.
    func recoverMore(_ recovery: Recovery) -> Recovery? {
        var recovery = recovery
        do {
            try recover(&recovery)
            return nil
        } catch {
            return recovery
        }
    }

    /// Recovers what an earlier run left on disk, each command at the step it had reached; asks no router.
    ///
    /// Where the disk takes nothing meanwhile, a later call goes on from there: without it, what was accepted earlier would
    /// wait for the next start.
    private func recover(_ recovery: inout Recovery) throws(StoreError) {
        if recovery.isClean == nil { try beginRecovery(&recovery) }
        while try recoverPage(&recovery) {}
        runs.recovered()
        let (commands, reports) = (recovery.commands, recovery.reports)
        guard commands > 0 || reports > 0 else { return }
        reporter.log(
            .info, "Agent",
            "recovered \(commands.counted("command")) and \(reports.counted("report")) from an earlier run")
    }

    /// Notes that this run has begun.
    private func beginRecovery(_ recovery: inout Recovery) throws(StoreError) {
        let hasCommands = recovery.last > 0
        let (isClean, repliesTo, reports) = try store.commit { transaction in
            // After a clean stop nothing was in flight, nor before the first command.
            let isClean = try transaction.wasStoppedCleanly() ?? !hasCommands
            try transaction.setStoppedCleanly(false)
            let last = try transaction.run()
            runs.previousEnd = last.map { AgentState.Cause(endOf: $0) }
            events.continues(after: last?.unsaidEvents ?? 0)
            try transaction.setRun(AgentRun(began: clock.wall(), process: CurrentThread.process))
            return (isClean, try transaction.topicsOfUnsentReplies(), try transaction.outboxSizes().count)
        }
        (recovery.isClean, recovery.reports) = (isClean, reports)
        if isClean { intake.endedCleanly() }
        // They are read from disk when it is their turn.
        outbox.repliesStoredEarlier(to: repliesTo)
        if reports > 0 { outbox.reportsStoredEarlier() }
        // Those without space are reported by the first commit that finds some.
        if journal.counters.droppedReports > 0 { journal.commitAll() }
    }

    /// What is left of a command that was stored without a result.
    private struct Recovered {
        var record: InboxRecord
        /// Its header, and what it asks for when that runs in no lane; or why it can't be read.
        var content: Result<(CommandHeader, Command.Operation?), Failure>
    }

    /// Has the next commands run that have to; false when there are none.
    private func recoverPage(_ recovery: inout Recovery) throws(StoreError) -> Bool {
        let isSuspect = recovery.isClean != true
        let (page, lanes) = try store.commit { [recovery] transaction in
            var lanes = recovery.lanes
            let page = try transaction.unfinished(
                after: recovery.cursor, through: recovery.last, bytes: Self.pageBytes
            ).map { record in
                guard record.damage == nil else {
                    if record.damage == .row { try transaction.setAside(command: record.sequence) }
                    return Recovered(record: record, content: .failure(Failure(.interrupted, "")))
                }
                var recovered = Recovered(record: record, content: content(of: record))
                let lane = (try? recovered.content.get().0.lane) ?? Command.defaultLane
                if record.state == .received, (try? recovered.content.get().0).map(isEarly) == true {
                    try transaction.putOff(record.sequence)
                    recovered.record.state = .scheduled
                }
                let mayHaveBegun: Bool
                switch recovered.record.state {
                case .received: mayHaveBegun = lanes.insert(lane).inserted
                case .resumed: mayHaveBegun = true
                case .scheduled, .held, .started, .finished, .acknowledged, .damaged: mayHaveBegun = false
                }
                if record.state == .held || record.state == .resumed {
                    try transaction.requeue(record.sequence)
                    recovered.record.state = .received
                }
                if isSuspect, mayHaveBegun {
                    try transaction.countAttempt(of: [record.sequence])
                    recovered.record.attempt += 1
                }
                return recovered
            }
            return (page, lanes)
        }
        guard let sequence = page.last?.record.sequence else { return false }
        (recovery.cursor, recovery.lanes) = (sequence, lanes)
        recovery.commands += page.count
        executor.admitted(page.compactMap { job($0, isSuspect: isSuspect) })
        executor.begin()
        return true
    }

    /// Whether a command whose time had come has to wait for it again.
    private func isEarly(_ header: CommandHeader) -> Bool {
        let now = clock.wall()
        return header.schedule.map {
            ($0.opening(from: now, until: header.expires, clock.zone)?.lowerBound ?? .max) > now
        }
            ?? false
    }

    /// The job of a command that has no result; nil when there is no sender to answer.
    private func job(_ recovered: Recovered, isSuspect: Bool) -> CommandJob? {
        let record = recovered.record
        guard record.damage != .row, let sender = topics.sender(ofCommandOn: record.topic) else {
            reportDamagedCommand()
            return nil
        }
        let content = recovered.content
        let header = (try? content.get().0) ?? CommandHeader(id: record.id, expires: record.expires)
        let end = end(of: record, content)
        let job = CommandJob(
            sequence: record.sequence, sender: sender,
            address: ReplyAddress(
                topic: topics.reply(of: configuration.agent, to: sender), correlation: record.correlation,
                trace: record.trace),
            header: header, payload: record.payload,
            end.map { .ended($0.result) } ?? (try? content.get().1).flatMap { $0 }.map { .decoded($0) }
                ?? .encoded,
            startBy: clock.monotonic() + (min(max(0, record.expires), .max / 2) - clock.wall()),
            turnBy: turnBy(header), isScheduled: end == nil && record.state == .scheduled,
            attempt: end?.attempt ?? record.attempt + 1, isSuspect: isSuspect)
        guard let spans else { return job }
        let sent = try? CommandPayload(stored: record.payload, limits: configuration.limits.json).fields
        spans.resumed(
            job,
            sent: TraceCarrier(
                parent: sent?["trace"]?.stringValue, state: sent?[TraceState.property]?.stringValue),
            earlier: record.trace)
        return job.within(spans.trace(of: job.sequence))
    }

    /// When the window closes in which a command may begin, on the monotonic clock; nil when it has none.
    private func turnBy(_ header: CommandHeader) -> Int64? {
        let now = clock.wall()
        let opening = header.schedule?.opening(from: now, until: header.expires, clock.zone)
        return opening.map { clock.monotonic().adding(clamping: $0.upperBound.subtracting(clamping: now)) }
    }

    /// How a command ends that must not run, and at which attempt; nil when it must.
    private func end(
        of record: InboxRecord, _ content: Result<(CommandHeader, Command.Operation?), Failure>
    ) -> (result: CommandResult, attempt: Int)? {
        let attempt = max(1, record.attempt)
        if record.damage != nil {
            return (.interrupted("the stored command is damaged on the disk; it is not run"), attempt)
        }
        if case .failure(let rejection) = content {
            return (CommandResult(rejection, origin: .intake), record.attempt + 1)
        }
        if record.state == .scheduled { return nil }
        if record.state != .received {
            return (
                .interrupted("the agent ended while the command ran; it is not declared idempotent"), attempt
            )
        }
        return record.attempt < configuration.limits.attempts
            ? nil : (.interrupted(after: record.attempt), record.attempt)
    }

    /// Decodes a command for as long as it takes to see what it is: what runs in a lane is decoded again when its turn
    /// comes.
    private func content(of record: InboxRecord) -> Result<(CommandHeader, Command.Operation?), Failure> {
        Result { () throws(Failure) in
            let payload = try CommandPayload(stored: record.payload, limits: configuration.limits.json)
            let command = try Command(
                id: record.id, fields: payload.fields, arrival: record.received,
                keptFor: Command.longestLifetime)
            if let refusal = intake.reader.refusal(of: command, stored: record.expires, at: record.received) {
                throw refusal
            }
            var header = CommandHeader(command)
            header.expires = record.expires
            return (header, command.operation.runsInLane ? nil : command.operation)
        }
    }

    // MARK: Damage

    /// Reports stored messages that the disk has changed; they are set aside already.
    func report(_ damaged: [Outbox.Damaged]) {
        for message in damaged {
            switch message {
            case .reply(_, let command?, let sender):
                reporter.failed(
                    .disk,
                    "the stored reply of command \(command.id) is damaged on the disk; it ends as interrupted",
                    in: .agent, of: command, sender: sender)
            case .reply: reportDamagedCommand()
            case .report(let sequence):
                journal.reportDamaged(sequence)
                reporter.failed(
                    .disk, "failure report \(sequence) is damaged on the disk and is set aside", in: .agent)
            }
        }
    }

    private func reportDamagedCommand() {
        reporter.failed(
            .disk, "a stored command is damaged on the disk, its id too; it is set aside and not answered",
            in: .agent)
    }
}

extension AgentState.Cause {
    /// How a run ended, for the one after it.
    fileprivate init(endOf run: AgentRun) {
        if let ended = run.ended {
            self.init(nil, run.reason ?? "stopped", at: ended)
        } else {
            self.init(
                nil,
                "the previous run was not stopped properly (process \(run.process), started \(Timestamp.rfc3339(run.began)))",
                at: run.began)
        }
    }
}
