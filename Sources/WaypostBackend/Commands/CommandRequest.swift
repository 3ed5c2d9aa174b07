import Logging
import MQTTLink
import Waypost
package import WaypostMessages

/// One command and the replies to it.
package struct CommandRequest {
    private let settings: BackendConfiguration
    private let audience: Audience
    private let command: Command
    /// The command as it is sent.
    private let payload: [UInt8]
    private let wait: ReplyWait
    /// Whether it is checked against the agent's contract first.
    private let isChecked: Bool

    /// - Throws: ``BackendError`` when it can't be signed.
    package init(
        _ command: Command, to audience: Audience, _ settings: BackendConfiguration, signer: Signer?,
        _ wait: ReplyWait, isChecked: Bool = false
    ) throws(BackendError) {
        (self.settings, self.audience, self.command) = (settings, audience, command)
        (self.wait, self.isChecked) = (wait, isChecked)
        payload = try signer?.payload(command, to: audience, from: settings.name) ?? command.encoded()
    }

    /// A request for something that an agent knows: it changes nothing.
    package init(
        asking operation: Command.Operation, of audience: Audience, _ settings: BackendConfiguration,
        signer: Signer?, _ wait: ReplyWait
    ) throws(BackendError) {
        try self.init(
            Command(sending: operation, isTimed: signer != nil), to: audience, settings, signer: signer, wait)
    }

    /// Sends the command and hands over each terminal reply as it comes.
    ///
    /// - Returns: how many replies came; 0 only when it did not wait.
    /// - Throws: ``BackendError`` with what is known of the agent when no reply came in time.
    package func perform(_ each: (AgentReply) -> Void) async throws -> Int {
        var contract: ContractDocuments?
        if isChecked, case .agent(let agent) = audience {
            contract = ContractDocuments(of: agent, topics: settings.topics)
        }
        return try await BackendSession.with(
            settings, required: [replyFilter], useful: presenceFilters + (contract?.filters ?? [])
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
    ///
    /// - Parameter known: What was read of the agents' presence so far; nil when it is still to come.
    package func perform(
        in session: BackendSession, knowing known: NoReplyDiagnosis? = nil, _ each: (AgentReply) -> Void
    ) async throws -> Int {
        var diagnosis = known ?? NoReplyDiagnosis(audience, topics: settings.topics)
        return try await send(in: session, &diagnosis, each)
    }

    private func send(
        in session: BackendSession, _ diagnosis: inout NoReplyDiagnosis, _ each: (AgentReply) -> Void
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
        for warning in report.warnings { settings.logger.warning("\(warning)") }
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
            settings.topics.command(to: audience, from: settings.name), payload, properties: properties)
    }

    /// Where the replies come.
    package var replyFilter: String {
        switch audience {
        case .agent(let agent): settings.topics.reply(of: agent, to: settings.name)
        case .group: settings.topics.reply(of: "+", to: settings.name)
        }
    }

    /// Where it is said who is there.
    package var presenceFilters: [String] { NoReplyDiagnosis.filters(of: audience, settings.topics) }

    /// The terminal reply to our command, if the message is one.
    private func reply(_ message: MQTTMessage, since started: ContinuousClock.Instant) -> AgentReply? {
        guard case (let agent, .reply(to: settings.name))? = settings.topics.outbound(message.topic),
            let json = message.json, let reply = try? Reply(json),
            reply.id == command.id, reply.status != .accepted
        else { return nil }
        return AgentReply(
            agent: agent, reply: reply, payload: message.payload,
            roundTrip: (ContinuousClock.now - started).milliseconds)
    }
}
