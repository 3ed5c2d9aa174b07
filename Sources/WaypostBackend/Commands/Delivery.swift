import MQTTLink
import Threading
import Waypost
import WaypostMessages

/// Brings one command to its agent: sends the same bytes again until a reply is there.
struct Delivery: Sendable {
    /// After so long the same is sent again: the broker may have lost it together with the agent's session.
    private static let resendAfter = Duration.seconds(30)
    /// When it is first looked whether the agent is there at all.
    private static let lookAfter = Duration.seconds(1)

    let command: SealedCommand
    let settings: BackendConfiguration
    private let link: SharedLink
    /// Whether the link is there for this command alone.
    private let isAlone: Bool
    /// Nil until the agent has certainly forgotten it.
    let deadline: Duration?
    /// Whether an agent that is offline is waited for.
    let isPatient: Bool
    /// Whether the agent has taken it: true as soon as it said so, false when it ended before.
    let isAccepted = Promise<Bool>()
    /// How far it is, or when it begins.
    let progress = ProgressFeed()

    /// - Parameter shared: The connection that is there already; nil for one of its own.
    init(
        command: SealedCommand, settings: BackendConfiguration, shared: SharedLink?, deadline: Duration?,
        isPatient: Bool
    ) {
        (self.command, self.settings, isAlone) = (command, settings, shared == nil)
        link = shared ?? SharedLink(topics: settings.topics, name: settings.name)
        (self.deadline, self.isPatient) = (deadline, isPatient)
    }

    /// - Throws: ``BackendError``; `CancellationError` when the task is cancelled.
    func run() async throws -> CommandReply {
        guard isAlone else { return try await deliver() }
        link.start(settings.lasting(clientID: settings.newClientID), over: settings.makeLink)
        let result: Result<CommandReply, any Error>
        do { result = .success(try await deliver()) } catch { result = .failure(error) }
        await link.stop(within: .seconds(2))
        return try result.get()
    }

    private func deliver() async throws -> CommandReply {
        let started = MonotonicTime.instant
        let rest = Duration.milliseconds(max(0, command.forgottenAt - WallClock.now()))
        let end = started + min(deadline ?? rest, rest)
        let (queue, token) = link.expect(command.id)
        defer { link.forget(command.id, token) }
        var diagnosis = NoReplyDiagnosis(.agent(command.agent), topics: settings.topics)
        diagnosis.command = command.id
        var presence: SharedReader?
        var sentOn: Int?
        var (next, look) = (end, min(end, started + Self.lookAfter))
        while MonotonicTime.instant < end, !link.isStopped {
            if let current = try await link.connected(until: end),
                current.number != sentOn || MonotonicTime.instant >= next
            {
                if sentOn == nil, command.asksForMore { presence = try await meet(queue, &diagnosis) }
                try await publish()
                (sentOn, next) = (current.number, MonotonicTime.instant + Self.resendAfter)
            }
            if MonotonicTime.instant >= look {
                look = end
                if presence == nil { presence = try await watch(queue) }
                queue.alarm()
            }
            let alarm = Task { [due = min(end, next, look)] in
                try await MonotonicTime.sleep(until: due)
                queue.alarm()
            }
            defer { alarm.cancel() }
            switch await queue.next() {
            case .message(let message)?:
                if let reply = take(message, since: started) { return reply }
                if let wait = timeToBegin {
                    guard MonotonicTime.instant + wait < end else { throw silence(diagnosis, wasSent: true) }
                    // The agent has it on disk.
                    next = MonotonicTime.instant + wait + Self.resendAfter
                }
                let wasOnline = diagnosis.isOnline == true
                diagnosis.saw(message)
                // It came back just now: the broker may have lost what it kept for it.
                if !wasOnline, diagnosis.isOnline == true, !message.retain { next = MonotonicTime.instant }
            case .alarm?:
                guard presence != nil, !isPatient, diagnosis.isKnownOffline else { continue }
                throw BackendError(.noReply, diagnosis.explanation(after: nil), id: command.id)
            case nil: throw CancellationError()
            }
        }
        throw silence(diagnosis, wasSent: sentOn != nil)
    }

    /// Has the queue take what the broker knows of the agent, and what becomes of it.
    private func watch(_ queue: MessageQueue) async throws -> SharedReader? {
        let filters = NoReplyDiagnosis.filters(of: .agent(command.agent), settings.topics)
        let reader = try await link.open(
            queue, filters.map { Subscription($0) }, within: .seconds(2), lasts: true)?
            .reader
        // What is retained comes before the answer to one more request.
        _ = try? await reader?.subscribe([Subscription(settings.topics.reply(of: "+", to: settings.name))])
        return reader
    }

    /// Looks who is there: an agent of an older version would run at once what has a time.
    private func meet(_ queue: MessageQueue, _ diagnosis: inout NoReplyDiagnosis) async throws
        -> SharedReader?
    {
        let presence = try await watch(queue)
        queue.alarm()
        while true {
            switch await queue.next() {
            case .message(let message)?: diagnosis.saw(message)
            case .alarm?:
                try diagnosis.checkThatTheyKnowConditions()
                return presence
            case nil: throw CancellationError()
            }
        }
    }

    /// How long it is until the command begins, as its agent said; nil when it has not said so, and from then on.
    private var timeToBegin: Duration? {
        progress.begins.flatMap { due in
            let wait = due.subtracting(clamping: WallClock.now())
            return wait > 0 ? .milliseconds(wait) : nil
        }
    }

    private func publish() async throws {
        var properties = MQTTProperties()
        properties.messageExpiry = UInt32(clamping: max(1, (command.expires - WallClock.now() + 999) / 1000))
        for (name, value) in [
            (TraceParent.property, command.trace), (TraceState.property, command.traceState),
        ] {
            if let value { properties.user.append(MQTTProperties.User(name, value)) }
        }
        let topic = settings.topics.command(to: .agent(command.agent), from: settings.name)
        switch try await link.publish(.json(topic, Array(command.payload.utf8), properties: properties)) {
        case .acknowledged, .lost: break
        case .refused(let code):
            throw BackendError.denied(topic, code, to: settings, id: command.id)
        case .rejected(let reason):
            throw BackendError(.notSent, "publish to \(topic): \(reason)", id: command.id)
        }
    }

    /// The reply in a message; nil while there is none.
    private func take(_ message: MQTTMessage, since started: ContinuousClock.Instant) -> CommandReply? {
        guard case (command.agent, .reply)? = settings.topics.outbound(message.topic),
            let reply = message.json.flatMap({ try? Reply($0) }), reply.id == command.id
        else { return nil }
        if let due = reply.due { progress.begins(at: due) }
        isAccepted.fulfill(true)
        guard reply.status != .accepted else {
            if let found = reply.progress { progress.yield(found) }
            return nil
        }
        return CommandReply(
            agent: command.agent, reply: reply, bytes: message.payload,
            roundTrip: (MonotonicTime.instant - started).milliseconds)
    }

    private func silence(_ diagnosis: NoReplyDiagnosis, wasSent: Bool) -> BackendError {
        let id = command.id
        if timeToBegin != nil, let due = progress.begins {
            return BackendError(
                .noReply, "\(command.agent) has \(id), and begins it at \(Timestamp.local(due))", id: id)
        }
        guard WallClock.now() < command.forgottenAt else {
            return BackendError(
                .noReply,
                "no reply to \(id) before \(command.agent) forgot it; it is not known whether it ran",
                id: id)
        }
        guard wasSent else {
            let reason = link.reason.map { "\($0)" } ?? "there was no connection in time"
            return BackendError(.noBroker, "\(id) was not sent: \(reason)", id: id)
        }
        let limit = deadline.map { TimeText.span($0.milliseconds) }
        return BackendError(.noReply, "\(diagnosis.explanation(after: limit)) (\(id))", id: id)
    }
}
