import MQTTLink
import Synchronization
import Threading
import Waypost
import WaypostFleet
import WaypostMessages

/// Takes what the link read: decodes it, recognises repetitions, has it stored, and only then lets it be acknowledged.
///
/// A command usually runs before it is stored: one commit has the command and its result then. What must not run twice
/// waits for the disk before its handler runs. It runs on the link's thread, between the reading and the writing of acknowledgements.
final class Intake: Sendable {
    /// What intake calls; connected by the agent.
    struct Connections: Sendable {
        /// Commands that are stored or will be, in order of arrival.
        var dispatch: @Sendable ([CommandJob]) -> Void
        /// Takes commands that ``commitReceived`` must store; false when they have to be stored at once.
        var received: @Sendable ([NewCommand]) -> Bool
        /// Stores commands at once, and with them what else waits to be stored; the replies in these rows wait for the
        /// broker again.
        var commit: @Sendable (_ new: [NewCommand], _ repeated: [Int64]) throws(StoreError) -> Void
        /// Stores what ``received`` took.
        var commitReceived: @Sendable () throws(StoreError) -> Void
        /// Stores the results that were sent without a commit; false when none are.
        var commitSent: @Sendable () -> Bool
        /// A reply to a command that is not stored.
        var reply: @Sendable (Reply, ReplyAddress) -> Void
        /// The stored reply to a repeated command, with the sequence number of its row.
        var repeatReply: @Sendable (_ sequence: Int64, _ reply: [UInt8], ReplyAddress) -> Void
        /// A document for a layer of the map; false when it can't be stored.
        var applyMap: @Sendable (MQTTMessage, _ layer: String, Audience, _ now: Int64) -> Bool
        /// A message on the agent's own echo topic.
        var echoReceived: @Sendable (_ payload: [UInt8]) -> Void
        /// Whether a command under the agent's own name is its message to itself: that is no client's command.
        var isSelfTest: @Sendable (_ payload: [UInt8]) -> Bool
        /// A message on the topic of a document that the agent publishes itself; false for any other.
        var documentReceived: @Sendable (MQTTMessage) -> Bool
        /// Commands that wait or run at this moment.
        var waitingCommands: @Sendable () -> Int
        /// Whether reports about commands of a sender find no space.
        var isOutboxFull: @Sendable (_ sender: String) -> Bool
    }

    /// A repeated id is recognised at least this long, in milliseconds, and ``Command/recognitionAfterExpiry``.
    static let minimumRecognition: Int64 = 15 * 60_000

    let agent: String
    let groups: AgentGroups
    let topics: Topics
    let limits: AgentLimits
    let reader: CommandReader
    let clock: AgentClock
    private let clockMonitor: ClockMonitor
    let store: Store
    let ledger: CommandLedger
    let reporter: Reporter
    let connections: Connections
    let state: Guarded<IntakeState>
    private let exclusive = ExclusiveThread()
    private let hasOwn = Atomic(false)
    private let decodedSpace = DecodedSpace()

    /// Nil without a tracer.
    let spans: CommandSpans?

    init(
        _ configuration: AgentConfiguration, groups: AgentGroups, topics: Topics, clock: AgentClock,
        clockMonitor: ClockMonitor, store: Store, ledger: CommandLedger, reporter: Reporter,
        spans: CommandSpans?,
        connections: Connections
    ) {
        self.spans = spans
        agent = configuration.agent
        self.groups = groups
        self.topics = topics
        limits = configuration.limits
        reader = CommandReader(
            limits: limits, trusted: configuration.trust.keys,
            mustBeSigned: configuration.trust.coversCommands, zone: clock.zone)
        self.clock = clock
        self.clockMonitor = clockMonitor
        self.store = store
        self.ledger = ledger
        self.reporter = reporter
        self.connections = connections
        state = Guarded(IntakeState(limits))
    }

    var counters: IntakeState.Counters { state.withLock(\.counters) }

    /// Whether a command to the agent itself, and not to a group, has come on this connection.
    var hasOwnCommand: Bool { hasOwn.load(ordering: .relaxed) }

    /// Sets other limits; all senders may send a whole burst again.
    func setSenderLimits(rate: Int, burst: Int) {
        let now = clock.monotonic()
        state.withLock { $0.limitsChanged(rate: rate, burst: burst, at: now) }
    }

    /// The agent stopped cleanly the last time: no command was in flight.
    func endedCleanly() { state.withLock { $0.endedCleanly() } }

    func connected() {
        let now = clock.monotonic()
        hasOwn.store(false, ordering: .relaxed)
        state.withLock { $0.connected(at: now) }
    }

    /// Gives up the space for more than there is now.
    func releaseMemory() {
        ledger.releaseMemory()
        state.withLock { $0.releaseMemory() }
    }

    /// Takes a batch; refuses it when it has to be stored at once, and can't be.
    func take(_ batch: [MQTTMessage]) -> BatchDecision { takeAll(batch) ? .acknowledge : refuse() }

    /// Whether what was taken may be acknowledged: what is not on disk yet is stored before this returns.
    func mayAcknowledge() -> BatchDecision {
        assert(exclusive.enter())
        defer { assert(exclusive.leave()) }
        do throws(StoreError) {
            try connections.commitReceived()
        } catch {
            return refuse()
        }
        if state.withLock({ $0.acknowledged() }) { FaultPoint.commandsStored() }
        return .acknowledge
    }

    private func refuse() -> BatchDecision {
        state.withLock { $0.batchRefused() }
        return .refuse
    }

    private func takeAll(_ batch: [MQTTMessage]) -> Bool {
        assert(exclusive.enter())
        defer { assert(exclusive.leave()) }
        let now = clock.wall()
        var commands: [ReceivedCommand] = []
        // Most of a batch have the same topic.
        var last = Origin()
        for message in batch {
            if message.topic != last.text { last = origin(message.topic) }
            let topic = last.topic
            switch topic.flatMap({ isAddressedToUs($0.audience) ? $0 : nil }) {
            case .command(_, agent)? where connections.isSelfTest(message.payload): break
            case .command(_, CommandJob.localSender)?:
                let admission = arrival(of: message, from: CommandJob.localSender).admission
                let name = CommandJob.localSender
                reject(
                    Failure(
                        .notAllowed,
                        "no client of the broker is \(name): so programs of the agent's machine are called"),
                    of: name, admission)
            case .command(let audience, let sender)?:
                if case .agent = audience { hasOwn.store(true, ordering: .relaxed) }
                if let command = read(message, for: audience, from: sender, repliesTo: last.replies, at: now)
                {
                    commands.append(command)
                }
            case .map?, .patch?, .candidate?, .rollout?, .groups?:
                // In the order of arrival: commands that came before a map are taken before it.
                guard let topic, dispatch(&commands, at: now), apply(message, to: topic, at: now) else {
                    return false
                }
            case .echo?: connections.echoReceived(message.payload)
            case nil where connections.documentReceived(message): break
            case nil where hasLeft(last.topic):
                reporter.log(
                    .info, "Intake",
                    "\(message.topic.quoted) is of a group that the agent has left; it is not taken")
            case nil:
                let admission = arrival(of: message, from: "").admission
                let name = message.topic.quoted
                let detail = "topic \(name) is none of this agent's, or has a name that is not allowed"
                reject(Failure(.badField, detail), of: "", admission)
            }
        }
        return dispatch(&commands, at: now)
    }

    /// What the topic of a message says.
    private struct Origin {
        var text = ""
        var topic: InboundTopic?
        /// Where replies to its sender go.
        var replies = ""
    }

    private func origin(_ text: String) -> Origin {
        var origin = Origin(text: text, topic: topics.inbound(text))
        if case .command(_, let sender) = origin.topic {
            origin.replies = topics.reply(of: agent, to: sender)
        }
        return origin
    }

    private func arrival(of message: MQTTMessage, from sender: String) -> IntakeState.Arrival {
        let now = clock.monotonic()
        return state.withLock { $0.messageCame(message, from: sender, at: now) }
    }

    /// A message was too large for the link to be read; it counts like any other of its sender.
    func skipped(_ message: SkippedMessage) {
        let sender = topics.sender(ofCommandOn: message.topic) ?? ""
        let rejection = Failure(
            .tooLarge,
            "a message of \(message.bytes) bytes on \(message.topic.quoted) was not read; the limit is \(message.limit)"
        )
        let now = clock.monotonic()
        reject(rejection, of: sender, state.withLock { $0.messageSkipped(of: sender, at: now) })
    }

    private func isAddressedToUs(_ audience: Audience) -> Bool {
        switch audience {
        case .agent(let name): name == agent
        case .group: groups.audiences.contains(audience)
        }
    }

    /// What was on its way when the agent left a group is no failure.
    private func hasLeft(_ topic: InboundTopic?) -> Bool {
        guard case .group(let name)? = topic?.audience else { return false }
        return groups.current.left.contains(name)
    }

    private func apply(_ message: MQTTMessage, to topic: InboundTopic, at now: Int64) -> Bool {
        let group = topic.audience.description
        let layer =
            switch topic {
            case .patch: MapRecord.patchLayer
            case .candidate: MapRecord.candidateKey(of: group)
            case .rollout: MapRecord.controlKey(of: group)
            case .groups: MapRecord.groupsKey
            default: group
            }
        return connections.applyMap(message, layer, topic.audience, now)
    }

    // MARK: Reading

    /// Reads a command as far as it can be stored; what can't be is reported here.
    private func read(
        _ message: MQTTMessage, for audience: Audience, from sender: String, repliesTo topic: String,
        at now: Int64
    ) -> ReceivedCommand? {
        let arrival = arrival(of: message, from: sender)
        let admission = arrival.admission
        guard admission != .unread else {
            reject(busy(sender, admission), of: sender, admission)
            return nil
        }
        let refusal = reader.refusal(
            of: message, busy: admission == .within ? nil : busy(sender, admission),
            isOutboxFull: connections.isOutboxFull(sender), waiting: connections.waitingCommands())
        do throws(Failure) {
            let read = try reader.read(
                message, for: audience, from: sender, isStored: admission == .within, at: now,
                isClockCorrect: clockMonitor.isCorrect(at: now))
            if read.hasBadTrace { state.withLock { $0.traceIgnored() } }
            let isRun = read.operation?.runsInLane == true
            let lease = isRun ? decodedSpace.lease(message.payload.count) : nil
            return ReceivedCommand(
                message, from: sender, id: read.id, content: read.content,
                address: replyAddress(of: message, from: sender, topic, read),
                header: read.header, operation: isRun && lease == nil ? nil : read.operation, lease: lease,
                rejection: refusal ?? read.fault,
                at: now, isStoredFirst: arrival.isStoredFirst,
                earlierStarts: arrival.earlierStarts)
        } catch {
            reject(Failure(error.code, "command of \(sender): \(error.detail)"), of: sender, admission)
            return nil
        }
    }

    private func busy(_ sender: String, _ admission: SenderTable.Admission) -> Failure {
        state.withLock { $0.busy(sender, admission) }
    }

    /// The sender's own reply topic, with what its command wants returned.
    private func replyAddress(
        of message: MQTTMessage, from sender: String, _ topic: String, _ read: CommandReader.Read
    ) -> ReplyAddress {
        if let wanted = message.properties.responseTopic, !wanted.utf8.elementsEqual(topic.utf8) {
            // Any other would be read as an answer of this agent to someone else.
            warn(
                .responseTopic, sender,
                "response topic \(wanted.quoted) of \(sender) is ignored; its own is \(topic)"
            )
        }
        var correlation = message.properties.correlationData
        if let data = correlation, data.count > AgentLimits.correlationBytes {
            correlation = nil
            warn(
                .correlation, sender,
                "correlation data of \(sender) has more than \(AgentLimits.correlationBytes) bytes and is not returned"
            )
        }
        return ReplyAddress(
            topic: topic, correlation: correlation, trace: read.trace, traceState: read.traceState)
    }

    private func warn(_ warning: SenderTable.Warnings, _ sender: String, _ text: @autoclosure () -> String) {
        let now = clock.monotonic()
        guard state.withLock({ $0.noteWarning(warning, of: sender, at: now) }) else { return }
        reporter.log(.warning, "Intake", text())
    }

    // MARK: Rejecting

    /// Reports what can't be answered, because it names no sender or no id.
    ///
    /// Over the rate it is one failure of its sender, not one for each message.
    private func reject(_ rejection: Failure, of sender: String, _ admission: SenderTable.Admission) {
        state.withLock { $0.rejected() }
        let rejection = admission == .within ? rejection : busy(sender, admission)
        reporter.failed(rejection.code, rejection.detail, in: .intake, sender: sender)
    }
}
