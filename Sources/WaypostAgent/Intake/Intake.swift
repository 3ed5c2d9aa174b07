import MQTTLink
import Waypost
import WaypostMessages

/// Takes what the link read: decodes it, recognises repetitions, stores it, and only then lets it be acknowledged.
///
/// It runs on the link's thread, between the reading and the writing of acknowledgements.
final class Intake: Sendable {
    /// What intake calls; connected by the agent.
    struct Connections: Sendable {
        /// Stored commands, in order of arrival.
        var dispatch: @Sendable ([CommandJob]) -> Void
        /// A stored command that is not run, and why.
        var end: @Sendable (CommandJob, CommandResult) -> Void
        /// A reply to a command that is not stored.
        var reply: @Sendable (Reply, ReplyAddress) -> Void
        /// The stored reply to a repeated command, with the sequence number of its row.
        var repeatReply: @Sendable (_ sequence: Int64, _ reply: [UInt8], ReplyAddress) -> Void
        /// A document for a layer of the map; false when it can't be stored.
        var applyMap: @Sendable (MQTTMessage, _ layer: String, Audience, _ now: Int64) -> Bool
        /// A message on the agent's own echo topic.
        var echoReceived: @Sendable (_ payload: [UInt8]) -> Void
        /// Whether a command under the agent's own name is its message to itself: that is no one's command.
        var isSelfTest: @Sendable (_ payload: [UInt8]) -> Bool
        /// Commands that wait or run at this moment.
        var waitingCommands: @Sendable () -> Int
        var isOutboxFull: @Sendable () -> Bool
    }

    /// What health shows.
    struct Counters: Sendable {
        var received: Int64 = 0
        var duplicates: Int64 = 0
        var rejected: Int64 = 0
    }

    private struct State {
        var senders: SenderTable
        /// Rows in the inbox.
        var keys: Int
        var rate: Int
        var counters = Counters()
    }

    /// A repeated id is recognised at least this long, in milliseconds.
    static let minimumRecognition: Int64 = 15 * 60_000
    /// And this long after the command's `exp`.
    private static let recognitionAfterExpiry: Int64 = 5 * 60_000
    /// A sender's clock may be ahead by this much, in milliseconds.
    private static let maximumSkew: Int64 = 30_000

    private let agent: String
    private let groups: Set<String>
    private let topics: Topics
    private let limits: AgentLimits
    private let trusted: TrustedKeys
    private let mustBeSigned: Bool
    private let clock: AgentClock
    private let clockMonitor: ClockMonitor
    private let store: Store
    private let inFlight: InFlightCommands
    private let reporter: Reporter
    private let connections: Connections
    private let state: Guarded<State>

    init(
        _ configuration: AgentConfiguration, topics: Topics, clock: AgentClock, clockMonitor: ClockMonitor,
        store: Store, inFlight: InFlightCommands, reporter: Reporter, connections: Connections
    ) throws(StoreError) {
        agent = configuration.agent
        groups = Set(configuration.groups + ["all"])
        self.topics = topics
        limits = configuration.limits
        trusted = configuration.trust.keys
        mustBeSigned = configuration.trust.coversCommands
        self.clock = clock
        self.clockMonitor = clockMonitor
        self.store = store
        self.inFlight = inFlight
        self.reporter = reporter
        self.connections = connections
        state = Guarded(
            State(
                senders: SenderTable(
                    maximum: limits.senders, rate: limits.intakeRate, burst: limits.intakeBurst),
                keys: try store.commit { try $0.inboxCount() }, rate: limits.intakeRate))
    }

    var counters: Counters { state.withLock(\.counters) }

    /// Sets other limits; all senders may send a whole burst again.
    func setSenderLimits(rate: Int, burst: Int) {
        let now = clock.monotonic()
        state.withLock { state in
            state.rate = rate
            state.senders.setLimits(rate: rate, burst: burst, at: now)
        }
    }

    /// Commands were forgotten, so there is space in the table of known ids.
    func forgot(_ count: Int) { state.withLock { $0.keys -= count } }

    /// Takes a batch and says whether it may be acknowledged.
    ///
    /// Nothing of it is acknowledged before this returns, because the acknowledgements leave afterwards.
    func take(_ batch: [MQTTMessage]) -> BatchDecision {
        let now = clock.wall()
        var commands: [ReceivedCommand] = []
        for message in batch {
            guard let topic = topics.inbound(message.topic), isAddressedToUs(topic.audience) else {
                reject(
                    Rejection(
                        .badField, "topic \(message.topic.debugDescription): a name in it is not allowed here"
                    ))
                continue
            }
            switch topic {
            case .command(_, agent) where connections.isSelfTest(message.payload): break
            case .command(let audience, let sender):
                if let command = read(message, for: audience, from: sender, at: now) {
                    commands.append(command)
                }
            case .map, .patch:
                // In the order of arrival: commands that came before a map are stored before it.
                guard store(&commands, at: now), apply(message, to: topic, at: now) else { return .refuse }
            case .echo: connections.echoReceived(message.payload)
            }
        }
        return store(&commands, at: now) ? .acknowledge : .refuse
    }

    private func isAddressedToUs(_ audience: Audience) -> Bool {
        switch audience {
        case .agent(let name): name == agent
        case .group(let name): groups.contains(name)
        }
    }

    private func apply(_ message: MQTTMessage, to topic: InboundTopic, at now: Int64) -> Bool {
        let isPatch = if case .patch = topic { true } else { false }
        let layer = isPatch ? MapRecord.patchLayer : topic.audience.description
        return connections.applyMap(message, layer, topic.audience, now)
    }

    // MARK: Reading

    /// Reads a command as far as it can be stored; what can't be is reported here.
    private func read(
        _ message: MQTTMessage, for audience: Audience, from sender: String, at now: Int64
    ) -> ReceivedCommand? {
        let isTooFast = state.withLock { state in
            state.counters.received += 1
            return !state.senders.admits(sender, at: clock.monotonic())
        }
        guard message.payload.count <= limits.commandBytes else {
            reject(
                Rejection(
                    .tooLarge,
                    "a command has at most \(limits.commandBytes) bytes; \(sender) sent \(message.payload.count)"
                ))
            return nil
        }
        do throws(Rejection) {
            let payload = try CommandPayload(
                message.payload, limits: limits.json, trusted: trusted, mustBeSigned: mustBeSigned,
                for: audience)
            let json = payload.json
            let id = try Command.id(in: json)
            let command = Result { () throws(Rejection) -> Command in
                let command = try Command(id: id, fields: json, arrival: now)
                try checkClock(command, at: now)
                return command
            }
            return ReceivedCommand(
                topic: message.topic, sender: sender, id: id, digest: SHA256.digest(of: message.payload),
                payload: message.payload,
                address: replyAddress(of: message, to: sender, trace: json["trace"]?.stringValue),
                command: command,
                rejection: rejection(of: message, sender, isTooFast: isTooFast) ?? payload.fault,
                isTooFast: isTooFast,
                expires: (try? command.get().expires) ?? now)
        } catch {
            reject(Rejection(error.code, "command of \(sender): \(error.detail)"))
            return nil
        }
    }

    private func checkClock(_ command: Command, at now: Int64) throws(Rejection) {
        let isCorrect = clockMonitor.isCorrect(at: now)
        guard isCorrect || !command.hasAbsoluteExpiry else {
            throw Rejection(.clock, "the agent's clock can't be trusted now; send the command without exp")
        }
        guard isCorrect else { return }
        if let at = command.at, at > now + Self.maximumSkew {
            throw Rejection(.clockSkew, "at is \(at - now) ms ahead of the agent's clock")
        }
    }

    /// Why a command is not stored unless its id is known already.
    ///
    /// What is rejected here may come again under the same id: it was not kept.
    private func rejection(of message: MQTTMessage, _ sender: String, isTooFast: Bool) -> Rejection? {
        if message.retain {
            return Rejection(
                .retainedCommand, "commands are never retained; clear the topic \(message.topic)")
        }
        if isTooFast {
            return Rejection(
                .busy, "\(sender) sends more than \(state.withLock(\.rate)) commands a second")
        }
        if connections.isOutboxFull() {
            return Rejection(.outbox, "the outbox is full; the broker has to take reports first")
        }
        if connections.waitingCommands() >= limits.waitingCommands {
            return Rejection(.busy, "\(limits.waitingCommands) commands wait already")
        }
        return nil
    }

    /// The sender's own reply topic, or the response topic it named when that is under the agent's `reply/`.
    private func replyAddress(
        of message: MQTTMessage, to sender: String, trace: String?
    ) -> ReplyAddress {
        let usual = topics.reply(of: agent, to: sender)
        var address = ReplyAddress(
            topic: usual, correlation: message.properties.correlationData, trace: trace)
        if let wanted = message.properties.responseTopic, wanted != usual {
            if let (owner, content) = topics.outbound(wanted), owner == agent, case .reply = content {
                address.topic = wanted
            } else {
                reporter.log(
                    .warning, "Intake",
                    "response topic \(wanted.debugDescription) is not under this agent's reply/; ignored")
            }
        }
        return address
    }

    // MARK: Storing

    /// Stores the commands and dispatches the new ones; false when they can't be stored.
    private func store(_ commands: inout [ReceivedCommand], at now: Int64) -> Bool {
        defer { commands = [] }
        for (command, sequence) in inFlight.takeRepeated(&commands) {
            repeated(command, sequence, nil)
        }
        for batch in commands.chunks(limits.commitEntries) where !store(batch, at: now) {
            // The broker sends them again; a sender must not get BUSY for our full disk.
            let again = commands[batch.startIndex...]
            state.withLock { state in
                for command in again where !command.isTooFast { state.senders.refund(command.sender) }
            }
            return false
        }
        return true
    }

    /// Stores the commands in one transaction and dispatches the new ones; false when they can't be stored.
    private func store(_ commands: ArraySlice<ReceivedCommand>, at now: Int64) -> Bool {
        FaultPoint.beforeStore.reached()
        let free = limits.dedupeKeys - state.withLock(\.keys)
        let receipts: [Result<InboxReceipt, Rejection>]
        do {
            receipts = try store.commit { transaction in
                var stored = 0
                return try commands.map { command in
                    let receipt = try receive(command, freeKeys: free - stored, at: now, in: transaction)
                    if case .success(.stored) = receipt { stored += 1 }
                    return receipt
                }
            }
        } catch {
            reporter.log(.error, "Store", error.description, isError: true)
            return false
        }
        FaultPoint.afterStore.reached()
        FaultPoint.commandsStored()
        var jobs: [CommandJob] = []
        var started: [(ReceivedCommand, sequence: Int64)] = []
        for (command, receipt) in zip(commands, receipts) {
            switch receipt {
            case .success(.stored(let sequence)):
                guard let job = job(of: command, sequence, at: now) else { continue }
                started.append((command, sequence))
                jobs.append(job)
            case .success(.duplicate(let sequence, let reply)): repeated(command, sequence, reply)
            case .success(.reused):
                answer(
                    Rejection(.idReused, "id \(command.id) was used before on this topic, with other bytes"),
                    to: command)
            case .failure(let rejection): answer(rejection, to: command)
            }
        }
        inFlight.began(started)
        connections.dispatch(jobs)
        return true
    }

    /// Looks up the command's id, before anything else is asked, and stores the command when it is new.
    private func receive(
        _ command: ReceivedCommand, freeKeys: Int, at now: Int64, in transaction: Store.Transaction
    ) throws -> Result<InboxReceipt, Rejection> {
        var rejection = command.rejection
        if rejection == nil, freeKeys <= 0 {
            rejection = Rejection(
                .busy, "\(limits.dedupeKeys) ids are remembered; no new one until some expire")
        }
        let receipt: InboxReceipt
        if let rejection {
            guard
                let known = try transaction.known(
                    topic: command.topic, id: command.id, digest: command.digest)
            else { return .failure(rejection) }
            receipt = known
        } else {
            receipt = try transaction.receive(
                topic: command.topic, id: command.id, digest: command.digest, payload: command.payload,
                properties: command.address.stored(unless: topics.reply(of: agent, to: command.sender)),
                at: now, expires: command.expires,
                keepUntil: max(
                    now + Self.minimumRecognition, command.expires + Self.recognitionAfterExpiry))
        }
        if case .duplicate(let sequence, .some) = receipt { try transaction.reopen(sequence) }
        return .success(receipt)
    }

    /// The job of a stored command; nil when it is not run, and then its end is passed on.
    private func job(of received: ReceivedCommand, _ sequence: Int64, at now: Int64) -> CommandJob? {
        state.withLock { $0.keys += 1 }
        let command: Command
        switch received.command {
        case .success(let read): command = read
        case .failure(let rejection):
            state.withLock { $0.counters.rejected += 1 }
            let rejected = CommandJob(
                sequence: sequence, sender: received.sender, address: received.address,
                command: Command(id: received.id, operation: .ping, expires: now), startBy: 0)
            connections.end(rejected, CommandResult(rejection, origin: .intake))
            return nil
        }
        let monotonic = clock.monotonic()
        if let sequence = command.sequence {
            let last = state.withLock {
                $0.senders.gap(before: sequence, of: received.sender, at: monotonic)
            }
            if let last {
                reporter.failed(
                    .sequenceGap, "seq of \(received.sender) went from \(last) to \(sequence)", in: .intake,
                    ref: command.id)
            }
        }
        return CommandJob(
            sequence: sequence, sender: received.sender, address: received.address, command: command,
            startBy: monotonic + (command.expires - now))
    }

    /// The command came before: it is not run again, and its stored reply goes out again once there is one.
    private func repeated(_ command: ReceivedCommand, _ sequence: Int64, _ reply: [UInt8]?) {
        state.withLock { $0.counters.duplicates += 1 }
        reporter.log(.debug, "Intake", "repeated \(command.id); not run again", ref: command.id)
        if let reply { connections.repeatReply(sequence, reply, command.address) }
    }

    // MARK: Rejecting

    /// Reports what can't be answered, because it names no sender or no id.
    private func reject(_ rejection: Rejection) {
        state.withLock { $0.counters.rejected += 1 }
        reporter.failed(rejection.code, rejection.detail, in: .intake)
    }

    /// Answers and reports a command that is not stored under its id.
    private func answer(_ rejection: Rejection, to command: ReceivedCommand) {
        state.withLock { $0.counters.rejected += 1 }
        connections.reply(
            Reply(id: command.id, code: rejection.code, at: clock.wall(), detail: rejection.detail),
            command.address)
        // Too many commands are one failure of their sender, not one for each command.
        let ref = rejection.code == .busy || rejection.code == .outbox ? nil : command.id
        reporter.failed(rejection.code, rejection.detail, in: .intake, ref: ref)
    }
}
