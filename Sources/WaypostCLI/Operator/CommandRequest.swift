import MQTTLink
import Waypost
import WaypostMessages

/// An agent's terminal reply, with its bytes.
struct AgentReply: Sendable {
    var agent: String
    var reply: Reply
    var payload: [UInt8]
    /// From the publishing to the reply, in milliseconds.
    var roundTrip: Int64

    var isOK: Bool { reply.status == .ok }

    /// The reply as one JSON line, with the agent's name.
    func jsonLine() -> [UInt8] {
        let json = (try? JSONValue(parsing: payload, limits: .shown)) ?? .null
        return JSONLine.make(agent: agent, payload: payload, json)
    }
}

/// One command and the replies to it.
struct CommandRequest {
    var settings: BrokerSettings
    var sender: String
    var audience: Audience
    var command: Command
    /// The command as it is sent.
    var payload: [UInt8]
    var wait: WaitOptions
    /// Whether it is held against the agent's contract first.
    var isChecked = false

    /// Sends the command and hands over each terminal reply as it comes.
    ///
    /// - Returns: how many replies came; 0 only when it did not wait.
    /// - Throws: ``CommandError`` 3 with what is known of the agent when no reply came in time.
    func perform(_ each: (AgentReply) -> Void) async throws -> Int {
        var contract: ContractDocuments?
        if isChecked, case .agent(let agent) = audience {
            contract = ContractDocuments(of: agent, topics: settings.topics)
        }
        return try await OperatorSession.with(
            settings, as: sender, required: [replyFilter], useful: presenceFilters + (contract?.filters ?? [])
        ) { session in
            var diagnosis = NoReplyDiagnosis(audience, topics: settings.topics)
            if contract != nil {
                try await session.readUpToFence { message in
                    contract?.saw(message)
                    diagnosis.saw(message)
                }
                if let refusal = refusal(by: contract?.contract) {
                    each(refusal)
                    return 1
                }
            }
            return try await send(in: session, &diagnosis, each)
        }
    }

    /// Sends the command in a session that listens for the replies already.
    func perform(in session: OperatorSession, _ each: (AgentReply) -> Void) async throws -> Int {
        var diagnosis = NoReplyDiagnosis(audience, topics: settings.topics)
        return try await send(in: session, &diagnosis, each)
    }

    private func send(
        in session: OperatorSession, _ diagnosis: inout NoReplyDiagnosis, _ each: (AgentReply) -> Void
    ) async throws -> Int {
        let started = ContinuousClock.now
        try await session.publish(message)
        guard wait.isOn else { return 0 }
        return try await session.awaitAnswers(
            of: audience, wait, &diagnosis, by: \.agent, { reply($0, since: started) }, each)
    }

    /// What the agent would answer, when the command does not fit its contract; warns of probable mistakes.
    ///
    /// A contract that makes no sense, such as one of a newer agent, says nothing.
    private func refusal(by contract: RouterContract?) -> AgentReply? {
        guard let contract, case .agent(let agent) = audience, let check = try? ContractCheck(contract) else {
            return nil
        }
        let report = check.report(command.operation)
        for warning in report.warnings { Terminal.note("waypost: warning: \(warning)") }
        guard let fault = report.fault else { return nil }
        let reply = Reply(
            id: command.id, code: fault.code, at: WallClock.now(),
            detail: "\(fault.detail); not sent, --no-check sends it", nearest: fault.nearest)
        return AgentReply(agent: agent, reply: reply, payload: reply.encoded(), roundTrip: 0)
    }

    private var message: MQTTMessage {
        var properties = MQTTProperties()
        properties.messageExpiry = UInt32(clamping: max(1, (command.expires - WallClock.now() + 999) / 1000))
        return .json(
            settings.topics.command(to: audience, from: sender), payload, properties: properties)
    }

    /// Where the replies come.
    var replyFilter: String {
        switch audience {
        case .agent(let agent): settings.topics.reply(of: agent, to: sender)
        case .group: settings.topics.reply(of: "+", to: sender)
        }
    }

    /// Where it is said who is there.
    var presenceFilters: [String] { NoReplyDiagnosis.filters(of: audience, settings.topics) }

    /// The terminal reply to our command, if the message is one.
    private func reply(_ message: MQTTMessage, since started: ContinuousClock.Instant) -> AgentReply? {
        guard case (let agent, .reply(to: sender))? = settings.topics.outbound(message.topic),
            let json = message.json, let reply = try? Reply(json),
            reply.id == command.id, reply.status != .accepted
        else { return nil }
        return AgentReply(
            agent: agent, reply: reply, payload: message.payload,
            roundTrip: (ContinuousClock.now - started).milliseconds)
    }
}

extension CommandRequest {
    /// A request for something that an agent knows: it changes nothing.
    init(
        asking operation: Command.Operation, of audience: Audience, _ settings: BrokerSettings,
        as sender: String,
        _ signing: SignOptions, _ wait: WaitOptions
    ) throws {
        let command = Command(sending: operation, isTimed: signing.isGiven)
        self.init(
            settings: settings, sender: sender, audience: audience, command: command,
            payload: try signing.payload(command, to: audience, from: sender), wait: wait)
    }
}
