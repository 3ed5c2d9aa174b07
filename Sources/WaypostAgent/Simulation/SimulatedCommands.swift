import DequeModule
package import MQTTLink
package import Waypost
package import WaypostMessages

/// What an agent makes of the commands that it is sent, as one value with a store in memory: for simulated agents.
///
/// It decides by the agent's own values, ``CommandReader``, ``IntakeState``, ``LedgerState`` and ``LaneQueues``. What the
/// agent does then with its link, journal and threads is a list of steps here.
package struct SimulatedCommands: Sendable {
    /// What is the same for all agents.
    package final class Rules: Sendable {
        let limits: AgentLimits
        let topics: Topics
        let redaction: Redaction
        let kept: Int
        fileprivate let reader: CommandReader

        /// - Parameter kept: replies of one agent that are in memory, to answer an id that comes again.
        package init(_ limits: AgentLimits, topics: Topics, redaction: Redaction, kept: Int) {
            self.limits = limits
            self.topics = topics
            self.redaction = redaction
            self.kept = kept
            reader = CommandReader(limits: limits, trusted: .none, mustBeSigned: false)
        }
    }

    /// Two clocks, in milliseconds.
    package struct Time: Sendable {
        /// Since 1970, as the agent has it.
        var wall: Int64
        var isWallCorrect: Bool
        var monotonic: Int64

        package init(wall: Int64, isWallCorrect: Bool, monotonic: Int64) {
            self.wall = wall
            self.isWallCorrect = isWallCorrect
            self.monotonic = monotonic
        }
    }

    /// A command whose turn has come.
    package struct Turn: Sendable {
        fileprivate let job: CommandJob

        /// Its number among those of the agent.
        package var sequence: Int64 { job.sequence }
        package var sender: String { job.sender }
        package let operation: Command.Operation
        package var context: OpenContext {
            OpenContext(
                ref: job.id, caller: job.sender, attempt: job.attempt, trace: job.address.trace,
                isTimedByCaller: true)
        }
    }

    package enum Step: Sendable {
        /// ``SimulatedCommands/ended(_:_:at:)`` follows.
        case run(Turn)
        case cancel(sequence: Int64)
        case send(MQTTMessage)
        /// A failure report, and the command that it is about.
        case report(CommandResult, of: CommandReference?)
    }

    private let rules: Rules
    private let agent: String
    private var intake: IntakeState
    private var ledger: LedgerState
    private var lanes: LaneQueues
    /// Those without a result, by row.
    private var open: [Int64: ReceivedCommand] = [:]
    /// The store: what has ended, the oldest first in `order`.
    private var stored: [CommandKey: KnownCommand] = [:]
    private var order: Deque<ReceivedCommand> = []
    /// How commands ended, by status.
    package private(set) var counts: [Code.Status: Int64] = [:]

    package init(_ rules: Rules, agent: String) {
        self.rules = rules
        self.agent = agent
        intake = IntakeState(rules.limits)
        intake.endedCleanly()
        ledger = LedgerState(shares: SenderShares(rules.limits), lastSequence: 0)
        lanes = LaneQueues(
            deadline: rules.limits.handlerDeadline.milliseconds, runningBytes: rules.limits.runningBytes,
            share: rules.limits.senderShare)
    }

    /// Whether no command waits or runs.
    package var isIdle: Bool { lanes.all == 0 }
    package var counters: (received: Int64, duplicates: Int64, rejected: Int64) {
        (intake.counters.received, intake.counters.duplicates, intake.counters.rejected)
    }

    // MARK: What happens

    /// A command came.
    package mutating func received(
        _ message: MQTTMessage, for audience: Audience, from sender: String, at time: Time
    ) -> [Step] {
        let admission = intake.messageCame(message, from: sender, at: time.monotonic).admission
        _ = intake.acknowledged()
        let busy = admission == .within ? nil : intake.busy(sender, admission)
        do throws(Failure) {
            if admission == .unread, let busy { throw busy }
            let read = try rules.reader.read(
                message, for: audience, from: sender, isStored: busy == nil, at: time.wall,
                isClockCorrect: time.isWallCorrect)
            let address = ReplyAddress(
                topic: rules.topics.reply(of: agent, to: sender),
                correlation: message.properties.correlationData, trace: read.trace)
            let command = ReceivedCommand(
                message, from: sender, id: read.id, content: read.content, address: address,
                header: read.header, operation: read.operation,
                rejection: rules.reader.refusal(
                    of: message, busy: busy, isOutboxFull: false, waiting: lanes.all), at: time.wall,
                isStoredFirst: false, earlierStarts: 0)
            return take(command, at: time)
        } catch {
            intake.rejected()
            return [
                .report(
                    CommandResult(
                        Failure(
                            error.code, busy == nil ? "command of \(sender): \(error.detail)" : error.detail),
                        origin: .intake), of: nil)
            ]
        }
    }

    private mutating func take(_ command: ReceivedCommand, at time: Time) -> [Step] {
        let finding =
            ledger.inFlight(command)
            ?? ledger.commandReceived(command, stored: stored[command.key], refusal: nil)
        switch finding {
        case .new(let sequence):
            open[sequence] = command
            if case .failure = command.header { intake.rejected() }
            let job = command.job(sequence, attempts: rules.limits.attempts, at: time.wall, time.monotonic)
            return begin(job, at: time)
        case .duplicate(_, let reply):
            intake.repeated()
            return reply.map { [.send(command.address.message(repeating: $0))] } ?? []
        case .conflict, .damaged, .rejected:
            return finding.refusal(command.id).map { refuse(command, $0, at: time) } ?? []
        case .noSpace(let refusal):
            return refuse(command, Failure(.busy, ledger.shares.text(refusal, command.sender)), at: time)
        }
    }

    private mutating func begin(_ job: CommandJob, at time: Time) -> [Step] {
        if let result = job.end { return end(of: job, result, at: time) }
        guard job.isScheduled || time.monotonic < job.startBy else { return end(of: job, .expired, at: time) }
        if case .cancel(let target)? = job.operation {
            return steps(lanes.cancel(target, for: job, at: time.monotonic), at: time)
        }
        guard job.isScheduled || job.operation?.runsInLane == true else { return [.run(turn(job))] }
        return steps(lanes.admitted(job, at: time.monotonic), at: time)
    }

    /// A command that had its turn has ended.
    package mutating func ended(_ turn: Turn, _ result: CommandResult, at time: Time) -> [Step] {
        turn.operation.runsInLane
            ? steps(lanes.finished(turn.sequence, result, at: time.monotonic), at: time)
            : end(of: turn.job, result, at: time)
    }

    /// Checks times: what takes long is announced, what takes too long is ended.
    package mutating func timePassed(at time: Time) -> [Step] {
        steps(
            lanes.ticked(at: time.monotonic) + (time.isWallCorrect ? lanes.timeCame(at: time.wall) : []),
            at: time)
    }

    // MARK: What follows

    private mutating func steps(_ actions: [LaneQueues.Action], at time: Time) -> [Step] {
        actions.flatMap { action -> [Step] in
            switch action {
            case .run(let job): [.run(turn(job))]
            case .commitHeld(let job):
                steps(lanes.heldCommitted(job.sequence, at: time.monotonic), at: time)
            case .commitEnd(let job): steps(lanes.endCommitted(job, at: time.monotonic), at: time)
            case .commitDue(let jobs):
                jobs.flatMap {
                    steps(lanes.dueCommitted($0.sequence, at: time.wall, time.monotonic), at: time)
                }
            case .commitPutOff(let job): putOffCommitted(job)
            case .cancelTask(let sequence): [.cancel(sequence: sequence)]
            // Its handlers are made up.
            case .sendProgress: []
            case .sendAccepted(let job):
                [
                    .send(
                        job.address.message(
                            Reply.accepted(
                                id: job.id, attempt: job.attempt, at: time.wall,
                                due: job.isScheduled ? job.header.opening?.lowerBound : nil)))
                ]
            case .end(let ended): end(ended, at: time)
            }
        }
    }

    private func turn(_ job: CommandJob) -> Turn {
        Turn(job: job, operation: job.operation ?? (try? job.decode(rules.limits.json)) ?? .ping())
    }

    private mutating func putOffCommitted(_ job: CommandJob) -> [Step] {
        lanes.putOffCommitted(job.sequence)
        return []
    }

    private mutating func end(of job: CommandJob, _ result: CommandResult, at time: Time) -> [Step] {
        end(EndedCommand(job: job, result: result), at: time)
    }

    private mutating func end(_ ended: EndedCommand, at time: Time) -> [Step] {
        let ended = rules.redaction.masked(ended)
        let reply = ended.reply(at: time.wall)
        counts[reply.status, default: 0] += 1
        let bytes = reply.encoded()
        let sequence = ended.job.sequence
        ledger.resultsCommitted([(sequence, bytes.count)])
        if let command = open.removeValue(forKey: sequence) {
            stored[command.key] = KnownCommand(sequence: sequence, digest: command.digest, reply: bytes)
            order.append(command)
            forget()
        }
        let sent = Step.send(ended.job.address.message(bytes))
        return ended.result.isFailure ? [sent, .report(ended.result, of: ended.job.reference)] : [sent]
    }

    private mutating func forget() {
        while order.count > rules.kept, let oldest = order.popFirst() {
            let bytes = stored.removeValue(forKey: oldest.key)?.reply?.count ?? 0
            ledger.shares.forgot(
                InboxUsage(topic: oldest.topic, rows: 1, bytes: bytes), of: oldest.sender)
        }
    }

    private mutating func refuse(
        _ command: ReceivedCommand, _ failure: Failure, at time: Time
    ) -> [Step] {
        intake.rejected()
        let reply = Reply(id: command.id, code: failure.code, at: time.wall, detail: failure.detail)
        return [
            .send(command.address.message(reply)),
            .report(CommandResult(failure, origin: .intake), of: command.reference),
        ]
    }
}
