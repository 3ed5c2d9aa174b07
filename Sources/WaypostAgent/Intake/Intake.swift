import FoundationEssentials
import MQTTLink
import Waypost
import WaypostMessages

/// Takes what the link read: decodes it, recognises repetitions, stores it, and only then lets it be acknowledged.
///
/// It runs on the link's thread, between the reading and the writing of acknowledgements.
final class Intake: Sendable {
    /// The rooms that intake hands things to.
    struct Rooms: Sendable {
        var store: Store
        var maps: MapRoom
        var dispatcher: Dispatcher
        var runner: CommandRunner
        var journal: Journal
        var underWay: CommandsUnderWay
        var outbox: Outbox
        var events: EventLog
        var health: HealthMonitor
    }

    private struct State {
        var senders: SenderLimits
        var keys: Int
        var clock: ClockGuard
        /// On the monotonic clock: from when on ids may be forgotten.
        var forgetsFrom: Int64 = 0
        /// The newest `seq` of each sender; bounded like the senders.
        var sequences: [String: Int64] = [:]
    }

    private static let maximumCountedSenders = 1_000
    /// A repeated id is recognised at least this long, in milliseconds.
    private static let minimumRecognition: Int64 = 15 * 60_000
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
    private let rooms: Rooms
    private let state: Guarded<State>

    init(
        agent: String, groups: [String], topics: Topics, limits: AgentLimits, clock: AgentClock, rooms: Rooms,
        trust: MapTrust, keys: Int
    ) {
        trusted = trust.keys
        mustBeSigned = trust.coversCommands
        self.agent = agent
        self.groups = Set(groups + ["all"])
        self.topics = topics
        self.limits = limits
        self.clock = clock
        self.rooms = rooms
        state = Guarded(
            State(
                senders: SenderLimits(rate: limits.intakeRate, burst: limits.intakeBurst), keys: keys,
                clock: ClockGuard(wall: clock.wall(), monotonic: clock.monotonic())))
    }

    /// Senders begin anew under other limits.
    func setSenderLimits(rate: Int, burst: Int) {
        state.withLock { $0.senders = SenderLimits(rate: rate, burst: burst) }
    }

    /// Commands that were forgotten make room in the table of known ids.
    func forgot(_ count: Int) { state.withLock { $0.keys -= count } }

    /// Takes a batch and says whether it may be acknowledged.
    ///
    /// Nothing of it is acknowledged before this returns, for the acknowledgements leave afterwards.
    func take(_ batch: [MQTTMessage]) -> BatchDecision {
        let now = clock.wall()
        var candidates: [Candidate] = []
        for message in batch {
            guard let topic = topics.inbound(message.topic), concerns(topic.audience) else {
                refuse(
                    Rejection(
                        .badField, "topic \(message.topic.debugDescription): the names in it break the rule"),
                    at: now)
                continue
            }
            switch topic {
            case .command(let audience, let sender):
                if let candidate = candidate(message, for: audience, from: sender, at: now) {
                    candidates.append(candidate)
                }
            case .map, .patch:
                // Commands that came before a map are stored before it, those after it after it.
                guard store(&candidates, at: now), apply(message, to: topic, at: now) else { return .refuse }
            case .echo:
                rooms.health.update { $0.echo = .ok }
            }
        }
        return store(&candidates, at: now) ? .acknowledge : .refuse
    }

    // MARK: Commands

    /// Reads a command as far as it can be stored; what can't be is reported here.
    private func candidate(
        _ message: MQTTMessage, for audience: Audience, from sender: String, at now: Int64
    ) -> Candidate? {
        rooms.health.update { $0.received += 1 }
        guard message.payload.count <= limits.commandBytes else {
            refuse(
                Rejection(
                    .tooLarge,
                    "a command has at most \(limits.commandBytes) bytes; \(sender) sent \(message.payload.count)"
                ),
                at: now)
            return nil
        }
        do throws(Rejection) {
            let payload = try CommandPayload(
                message.payload, limits: limits.json, trusted: trusted, mustBeSigned: mustBeSigned,
                for: audience)
            let json = payload.json
            let id = try Command.id(in: json)
            let address = replyAddress(of: message, to: sender, trace: json["trace"]?.stringValue)
            if message.retain {
                answer(
                    Rejection(
                        .retainedCommand, "commands are never retained; clear the topic \(message.topic)"),
                    id: id, to: address, at: now)
                return nil
            }
            if let busy = overload(sender, at: now) {
                // Not stored, so that the same id may come again; the answer is not worth a commit.
                answer(busy, id: id, to: address, at: now, reportedBySender: true)
                return nil
            }
            if let fault = payload.fault {
                // Not stored: whoever can't sign may not take an id away from those who can.
                answer(fault, id: id, to: address, at: now)
                return nil
            }
            let command = Result { () throws(Rejection) -> Command in
                let command = try Command(id: id, fields: json, arrival: now)
                try checkClock(command, at: now)
                return command
            }
            return Candidate(
                topic: message.topic, sender: sender, id: id,
                digest: SHA256.digest(of: message.payload),
                payload: message.payload, address: address, command: command,
                expires: (try? command.get().expires) ?? now)
        } catch {
            refuse(Rejection(error.code, "command of \(sender): \(error.detail)"), at: now)
            return nil
        }
    }

    /// Whether times in a message may be compared with the agent's clock; looked at with every message and chore.
    func isClockSound(at now: Int64) -> Bool {
        let monotonic = clock.monotonic()
        let isSound = state.withLock { state in
            let isSound = state.clock.isSound(wall: now, monotonic: monotonic)
            if !isSound { state.forgetsFrom = monotonic + Self.minimumRecognition }
            return isSound
        }
        rooms.health.update { $0.isClockSound = isSound }
        return isSound
    }

    /// Whether ids whose time is over by the clock may be forgotten.
    ///
    /// A clock that jumps ahead would end that time at once, and a repeated command would run again. So for as long
    /// as an id is recognised at the least, nothing is forgotten after a step.
    func mayForget(at now: Int64) -> Bool {
        isClockSound(at: now) && state.withLock { clock.monotonic() >= $0.forgetsFrom }
    }

    private func checkClock(_ command: Command, at now: Int64) throws(Rejection) {
        let isSound = isClockSound(at: now)
        guard isSound || !command.hasAbsoluteExpiry else {
            throw Rejection(
                .clock, "the agent's clock is not to be trusted now; send the command without exp")
        }
        guard isSound else { return }
        if let at = command.at, at > now + Self.maximumSkew {
            throw Rejection(.clockSkew, "at is \(at - now) ms ahead of the agent's clock")
        }
    }

    private func overload(_ sender: String, at now: Int64) -> Rejection? {
        state.withLock { state in
            guard state.senders.admits(sender, at: clock.monotonic()) else {
                return Rejection(
                    .busy, "\(sender) sends more than \(limits.intakeRate) commands a second for long")
            }
            guard state.keys < limits.dedupeKeys else {
                return Rejection(
                    .busy, "\(limits.dedupeKeys) ids are remembered; no new one until some expire")
            }
            guard !rooms.health.snapshot.isOutboxFull else {
                return Rejection(.outbox, "the outbox is full; the broker has to take reports first")
            }
            guard rooms.health.commandsWaiting < limits.waitingCommands else {
                return Rejection(.busy, "\(limits.waitingCommands) commands wait already")
            }
            return nil
        }
    }

    /// Stores the candidates and hands on what is new; false when they can't be stored.
    private func store(_ candidates: inout [Candidate], at now: Int64) -> Bool {
        defer { candidates = [] }
        for (candidate, sequence) in rooms.underWay.takeRepeated(&candidates) {
            repeatReply(candidate, sequence, nil)
        }
        return candidates.chunks(limits.commitEntries).allSatisfy { store($0, at: now) }
    }

    /// Stores the candidates in one transaction and hands on what is new; false when they can't be stored.
    private func store(_ candidates: ArraySlice<Candidate>, at now: Int64) -> Bool {
        let receipts: [InboxReceipt]
        FaultPoint.beforeStore.reached()
        do {
            receipts = try rooms.store.commit { transaction in
                try candidates.map { candidate in
                    let receipt = try transaction.receive(
                        topic: candidate.topic, id: candidate.id, digest: candidate.digest,
                        payload: candidate.payload,
                        properties: candidate.address.stored(
                            unless: topics.reply(of: agent, to: candidate.sender)),
                        at: now, expires: candidate.expires,
                        keepUntil: max(
                            now + Self.minimumRecognition, candidate.expires + Self.recognitionAfterExpiry))
                    if case .duplicate(let sequence, .some) = receipt { try transaction.reopen(sequence) }
                    return receipt
                }
            }
        } catch {
            rooms.health.storeFailed(error)
            rooms.events.log(.error, "Store", error.description, isError: true)
            return false
        }
        rooms.health.storeRecovered()
        FaultPoint.afterStore.reached()
        FaultPoint.commandsStored()
        var work: [Work] = []
        var begun: [(Candidate, sequence: Int64)] = []
        for (candidate, receipt) in zip(candidates, receipts) {
            switch receipt {
            case .stored(let sequence):
                let new = handOn(candidate, sequence, at: now)
                if !new.isEmpty { begun.append((candidate, sequence)) }
                work += new
            case .duplicate(let sequence, let reply): repeatReply(candidate, sequence, reply)
            case .reused:
                answer(
                    Rejection(
                        .idReused, "id \(candidate.id) was used before on this topic, with other bytes"),
                    id: candidate.id, to: candidate.address, at: now)
            }
        }
        rooms.underWay.began(begun)
        rooms.dispatcher.admitted(work)
        return true
    }

    /// Makes work of a stored command, or ends it when it is refused.
    private func handOn(_ candidate: Candidate, _ sequence: Int64, at now: Int64) -> [Work] {
        state.withLock { $0.keys += 1 }
        switch candidate.command {
        case .success(let command):
            countSequence(of: candidate.sender, command, at: now)
            return [
                Work(
                    sequence: sequence, sender: candidate.sender, address: candidate.address,
                    command: command,
                    startBy: clock.monotonic() + (command.expires - now), attempts: 0,
                    isIdempotent: rooms.runner.isIdempotent(command.operation))
            ]
        case .failure(let refusal):
            rooms.health.update { $0.refused += 1 }
            let refused = Work(
                sequence: sequence, sender: candidate.sender, address: candidate.address,
                command: Command(id: candidate.id, operation: .ping, expires: now), startBy: 0, attempts: 0,
                isIdempotent: true)
            rooms.journal.end(refused, Verdict(refusal, room: .intake), milliseconds: 0, at: now)
            return []
        }
    }

    /// The command came before: it is not run again, and its stored reply goes out again once there is one.
    private func repeatReply(_ candidate: Candidate, _ sequence: Int64, _ reply: [UInt8]?) {
        rooms.health.update { $0.duplicates += 1 }
        rooms.events.log(.debug, "Intake", "repeated \(candidate.id); not run again", ref: candidate.id)
        guard let reply else { return }
        rooms.outbox.enqueue([
            OutboxItem(
                origin: .reply(sequence: sequence), kind: .reply,
                message: candidate.address.message(Reply.duplicate(of: reply)))
        ])
    }

    private func countSequence(of sender: String, _ command: Command, at now: Int64) {
        guard let sequence = command.sequence else { return }
        let last = state.withLock { state -> Int64? in
            if state.sequences[sender] == nil, state.sequences.count >= Self.maximumCountedSenders {
                return nil
            }
            return state.sequences.updateValue(sequence, forKey: sender)
        }
        guard let last, sequence != last + 1 else { return }
        rooms.journal.report(
            FailureReport(
                id: Identifier.ulid(at: now), code: .sequenceGap, origin: .intake, ref: command.id,
                detail: "seq of \(sender) went from \(last) to \(sequence)", at: now))
    }

    // MARK: Maps

    /// Applies a map or a patch; false when it can't be stored.
    private func apply(_ message: MQTTMessage, to topic: InboundTopic, at now: Int64) -> Bool {
        guard !message.payload.isEmpty else {
            rooms.events.log(
                .warning, "Map",
                "an empty payload on \(message.topic) changes nothing; send entries:[] to empty it")
            return true
        }
        do {
            let outcome = try rooms.maps.apply(
                message.payload, to: topic, at: now, isClockSound: isClockSound(at: now), store: rooms.store)
            switch outcome {
            case .applied(let layer, let revision, let entries, let inactive):
                let text = revision.map { " rev \($0)" } ?? ""
                rooms.events.log(
                    .info, "Map",
                    "applied \(layer)\(text): \(entries.counted("entry", "entries")), \(inactive) inactive in all"
                )
            case .unchanged:
                rooms.events.log(.debug, "Map", "\(message.topic): in force already")
                return true
            case .refused(let refusal, let layer, let isNews):
                rooms.health.update { $0.refused += 1 }
                guard isNews else {
                    rooms.events.log(
                        .debug, "Map", "\(message.topic): refused before, \(refusal.code.name)")
                    return true
                }
                rooms.journal.report(
                    FailureReport(
                        id: Identifier.ulid(at: now), code: refusal.code, origin: .map,
                        detail: "map of \(layer) refused: \(refusal.detail)", at: now))
            }
        } catch {
            rooms.health.storeFailed(error)
            return false
        }
        publishApplied()
        return true
    }

    /// Publishes the map in force.
    func publishApplied() {
        rooms.outbox.replace(
            .retained(topics.applied(of: agent), rooms.maps.applied.encoded()))
    }

    // MARK: Refusing

    /// Reports what can't be answered, for it names no sender or no id.
    private func refuse(_ refusal: Rejection, at now: Int64) {
        rooms.health.update { $0.refused += 1 }
        rooms.journal.report(
            FailureReport(
                id: Identifier.ulid(at: now), code: refusal.code, origin: .intake, detail: refusal.detail,
                at: now))
    }

    /// Answers and reports a command that is not stored under its id.
    private func answer(
        _ refusal: Rejection, id: String, to address: ReplyAddress, at now: Int64,
        reportedBySender: Bool = false
    ) {
        rooms.health.update { $0.refused += 1 }
        let reply = Reply(id: id, code: refusal.code, at: now, detail: refusal.detail)
        rooms.outbox.enqueue([
            OutboxItem(origin: .volatile, kind: .reply, message: address.message(reply.encoded()))
        ])
        rooms.journal.report(
            FailureReport(
                id: Identifier.ulid(at: now), code: refusal.code, origin: .intake,
                ref: reportedBySender ? nil : id, detail: refusal.detail, at: now))
    }

    // MARK: Addresses

    private func concerns(_ audience: Audience) -> Bool {
        switch audience {
        case .agent(let name): name == agent
        case .group(let name): groups.contains(name)
        }
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
                rooms.events.log(
                    .warning, "Intake",
                    "response topic \(wanted.debugDescription) is not under this agent's reply/; ignored")
            }
        }
        return address
    }
}
