import MQTTLink
import Threading
import Waypost
import WaypostMessages

extension Agent {
    /// Payloads that are read from disk at one time, in bytes.
    private static var pageBytes: Int { 1 << 20 }

    /// Recovers what an earlier run left on disk, each command at the step it had reached; asks no router.
    func recover() throws(StoreError) {
        let (isClean, repliesTo, reports) = try store.commit { transaction in
            // After a clean stop nothing was in flight, nor before the first command.
            let isClean = try transaction.wasStoppedCleanly() ?? (transaction.lastSequence() == 0)
            try transaction.setStoppedCleanly(false)
            let last = try transaction.run()
            runs.previousEnd = last.map { AgentState.Cause(endOf: $0) }
            events.continues(after: last?.unsaidEvents ?? 0)
            try transaction.setRun(AgentRun(began: clock.wall(), process: CurrentThread.process))
            return (isClean, try transaction.topicsOfUnsentReplies(), try transaction.outboxSizes().count)
        }
        if isClean { intake.endedCleanly() }
        // They are read from disk when it is their turn.
        outbox.repliesStoredEarlier(to: repliesTo)
        if reports > 0 { outbox.reportsStoredEarlier() }
        // Those without space are reported by the first commit that finds some.
        if journal.counters.droppedReports > 0 { journal.commitAll() }
        let (jobs, commands) = try recoverCommands(countingAttempts: !isClean)
        if commands > 0 || reports > 0 {
            reporter.log(
                .info, "Agent",
                "recovered \(commands.counted("command")) and \(reports.counted("report")) from an earlier run"
            )
        }
        executor.admitted(jobs)
        executor.begin()
    }

    /// What is left of a command that was stored without a result.
    private struct Recovered {
        var record: InboxRecord
        /// Its header, and what it asks for when that runs in no lane; or why it can't be read.
        var content: Result<(CommandHeader, Command.Operation?), Failure>
    }

    /// The commands that have to run, and how many had no result.
    private func recoverCommands(
        countingAttempts: Bool
    ) throws(StoreError) -> (jobs: [CommandJob], commands: Int) {
        var jobs: [CommandJob] = []
        var commands = 0
        // In a lane one runs after another, so the first that has no result is the one that was started. One that a gate
        // holds has left its lane and has not begun; one that went on after that may have.
        var lanes: Set<String> = []
        var last: Int64 = 0
        while true {
            let (page, seen) = try store.commit { transaction in
                var lanes = lanes
                let page = try transaction.unfinished(after: last, bytes: Self.pageBytes).map { record in
                    guard record.damage == nil else {
                        if record.damage == .row { try transaction.setAside(command: record.sequence) }
                        return Recovered(record: record, content: .failure(Failure(.interrupted, "")))
                    }
                    var recovered = Recovered(record: record, content: content(of: record))
                    let lane = (try? recovered.content.get().0.lane) ?? Command.defaultLane
                    let mayHaveBegun: Bool
                    switch record.state {
                    case .received: mayHaveBegun = lanes.insert(lane).inserted
                    case .resumed: mayHaveBegun = true
                    case .held, .started, .finished, .acknowledged, .damaged: mayHaveBegun = false
                    }
                    if record.state == .held || record.state == .resumed {
                        try transaction.requeue(record.sequence)
                        recovered.record.state = .received
                    }
                    if countingAttempts, mayHaveBegun {
                        try transaction.countAttempt(of: [record.sequence])
                        recovered.record.attempt += 1
                    }
                    return recovered
                }
                return (page, lanes)
            }
            guard let sequence = page.last?.record.sequence else { return (jobs, commands) }
            (last, lanes) = (sequence, seen)
            commands += page.count
            jobs += page.compactMap { job($0, isSuspect: countingAttempts) }
        }
    }

    /// The job of a command that has no result; nil when no one can be answered.
    private func job(_ recovered: Recovered, isSuspect: Bool) -> CommandJob? {
        let record = recovered.record
        guard record.damage != .row, let sender = topics.sender(ofCommandOn: record.topic) else {
            reportDamagedCommand()
            return nil
        }
        let content = recovered.content
        let header = (try? content.get().0) ?? CommandHeader(id: record.id, expires: record.expires)
        let end = end(of: record, content)
        return CommandJob(
            sequence: record.sequence, sender: sender,
            address: ReplyAddress(
                topic: topics.reply(of: configuration.agent, to: sender), correlation: record.correlation,
                trace: record.trace),
            header: header, payload: record.payload,
            end.map { .ended($0.result) } ?? (try? content.get().1).flatMap { $0 }.map { .decoded($0) }
                ?? .encoded,
            startBy: clock.monotonic() + (min(max(0, record.expires), .max / 2) - clock.wall()),
            attempt: end?.attempt ?? record.attempt + 1, isSuspect: isSuspect)
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
            let command = try Command(id: record.id, fields: payload.fields, arrival: record.received)
            return (CommandHeader(command), command.operation.runsInLane ? nil : command.operation)
        }
    }

    // MARK: Damage

    /// Reports stored messages that the disk has changed; they are set aside already.
    func report(_ damaged: [Outbox.Damaged]) {
        for message in damaged {
            switch message {
            case .reply(_, let id?, let sender):
                reporter.failed(
                    .disk, "the stored reply of command \(id) is damaged on the disk; it ends as interrupted",
                    in: .agent, ref: id, sender: sender)
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
