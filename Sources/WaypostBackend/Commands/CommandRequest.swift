import Logging
import MQTTLink
import Threading
import Waypost
package import WaypostMessages
import WaypostTools

/// One command and the replies to it.
package struct CommandRequest: Sendable {
    private let settings: BackendConfiguration
    private let audience: Audience
    private let command: Command
    /// The command as it is sent.
    private let payload: [UInt8]
    private let wait: ReplyWait
    private let signer: Signer?
    /// Whether it is checked against the agent's contract first.
    private let isChecked: Bool
    /// Whether it only asks, so that nothing comes of it.
    private var isQuestion = false
    /// Whether an agent that is offline is not asked, unless it is to be waited for.
    package var leavesOfflineAlone = false

    /// - Throws: ``BackendError`` when it can't be signed.
    package init(
        _ command: Command, to audience: Audience, _ settings: BackendConfiguration, signer: Signer?,
        _ wait: ReplyWait, isChecked: Bool = false
    ) throws(BackendError) {
        (self.settings, self.audience, self.command) = (settings, audience, command)
        (self.signer, self.wait, self.isChecked) = (signer, wait, isChecked)
        payload = try signer?.payload(command, to: audience, from: settings.name) ?? command.encoded()
    }

    /// A request for something that an agent knows: it changes nothing.
    package init(
        asking operation: Command.Operation, of audience: Audience, _ settings: BackendConfiguration,
        signer: Signer?, _ wait: ReplyWait
    ) throws(BackendError) {
        try self.init(
            Command(sending: operation, isTimed: signer != nil), to: audience, settings, signer: signer, wait)
        isQuestion = true
    }

    /// Sends the command and hands over each terminal reply as it comes.
    ///
    /// - Returns: how many replies came; 0 only when it did not wait.
    /// - Throws: ``BackendError``: when it is not sent, because the agent is not known or its contract has no such
    ///   thing; with what the agent says of the command when no reply came in time.
    package func perform(_ each: (CommandReply) -> Void) async throws -> Int {
        var contract: ContractDocuments?
        if isChecked, case .agent(let agent) = audience {
            contract = ContractDocuments(of: agent, topics: settings.topics)
        }
        return try await BackendSession.with(
            settings, required: [replyFilter], useful: presenceFilters + (contract?.filters ?? [])
        ) { session in
            var diagnosis = NoReplyDiagnosis(audience, topics: settings.topics)
            diagnosis.command = command.id
            try await session.meet(audience, within: wait, &diagnosis) { contract?.saw($0) }
            if leavesOfflineAlone, !wait.isGiven, let unasked = diagnosis.unasked {
                throw BackendError(.noReply, unasked)
            }
            if let contract = contract?.contract { try check(by: contract) }
            if command.isConditional { try diagnosis.checkThatTheyKnowConditions() }
            return try await send(in: session, &diagnosis, isRead: true, each)
        }
    }

    /// Sends the command in a session that listens for the replies already.
    ///
    /// - Parameters:
    ///   - isFirst: Whether it is the first in this session, so that the broker is looked at for its receivers.
    ///   - known: What was read of the agents' presence so far; nil when it is still to come.
    package func perform(
        in session: BackendSession, isFirst: Bool = false, knowing known: NoReplyDiagnosis? = nil,
        _ each: (CommandReply) -> Void
    ) async throws -> Int {
        var diagnosis = known ?? NoReplyDiagnosis(audience, topics: settings.topics)
        diagnosis.command = command.id
        if isFirst { try await session.meet(audience, within: wait, &diagnosis) }
        return try await send(in: session, &diagnosis, isRead: isFirst, each)
    }

    private func send(
        in session: BackendSession, _ diagnosis: inout NoReplyDiagnosis, isRead: Bool,
        _ each: (CommandReply) -> Void
    ) async throws -> Int {
        let started = MonotonicTime.instant
        try await session.publish(message)
        guard wait.isOn else { return 0 }
        do {
            var isAccepted = false
            var progress: [String: String] = [:]
            return try await session.awaitAnswers(
                of: audience, wait, &diagnosis, by: \.agent,
                { (message: MQTTMessage) -> CommandReply? in
                    let answer = reply(message, since: started)
                    guard let answer, answer.reply.status == .accepted else { return answer }
                    // It is not waited for when it begins later than that.
                    if let due = answer.reply.due, due - WallClock.now() > left(since: started) {
                        return answer
                    }
                    if let text = answer.progressText {
                        // It comes once for each filter that it fits.
                        if progress.updateValue(text, forKey: answer.agent) != text {
                            note("\(command.id) on \(answer.agent): \(text)")
                        }
                        return nil
                    }
                    if !isAccepted { noteAccepted() }
                    isAccepted = true
                    return nil
                }, isRead: isRead, each)
        } catch var error as BackendError where error.kind == .noReply {
            error.id = command.id
            guard case .agent(let agent) = audience else { throw error }
            // One that is offline would not answer.
            if !diagnosis.isKnownOffline, let found = await situation(in: session, diagnosis) {
                error.wording = "no result from \(agent) within \(wait.text); \(found)"
            } else {
                error.wording += "; its id is \(command.id)"
            }
            throw error
        } catch var error as BackendError where error.kind == .noBroker {
            error.id = command.id
            let found = await situationInNewSession(diagnosis)
            error.wording += "; \(found ?? "\(command.id) was sent\(advice)")"
            throw error
        } catch is CancellationError where !isQuestion {
            let known = diagnosis
            let found = await Task { await situation(in: session, known) }.value
            note(found ?? "\(command.id) was sent\(advice)")
            throw CancellationError()
        }
    }

    /// Checks the command against the contract; warns of probable mistakes.
    ///
    /// A contract that makes no sense, such as one of a newer agent, says nothing.
    private func check(by contract: RouterContract) throws(BackendError) {
        guard let check = try? AgentContract(contract) else { return }
        let report = check.report(command.operation)
        for warning in report.warnings { settings.logger.warning("\(warning)") }
        guard let fault = report.fault else { return }
        let question = NearestNames.question(NearestNames.unnamed(fault.nearest, in: fault.detail))
        throw BackendError(
            .notSent,
            "not sent: \(fault.code): \(fault.detail)"
                + "\(question)\(shell: question.isEmpty ? "; --no-check sends it anyway" : " --no-check sends it anyway")",
            rejection: fault)
    }

    // MARK: What became of it

    private func noteAccepted() {
        guard case .agent(let agent) = audience else { return }
        note("\(agent) accepted \(command.id), and it takes longer\(advice)")
    }

    private func note(_ wording: Wording) {
        settings.logger.notice("\(settings.words(wording))")
    }

    /// How long an agent may take to say it.
    private static let patience = Duration.seconds(1)
    /// How long a broker may take to come back.
    private static let patienceWithBroker = Duration.seconds(3)

    /// How long the answers are still waited for, in milliseconds.
    private func left(since started: ContinuousClock.Instant) -> Int64 {
        (wait.duration - (MonotonicTime.instant - started)).milliseconds
    }

    private var advice: Wording {
        guard case .agent(let agent) = audience else { return "" }
        return
            "\(library: "; inspect(_:) says more", shell: "; see: waypost explain \(command.id) --agent \(agent)")"
    }

    /// What the agent says of the command, as a sentence; nil when it does not answer, or is a group.
    private func situation(in session: BackendSession, _ known: NoReplyDiagnosis) async -> Wording? {
        guard case .agent(let agent) = audience,
            let question = try? CommandRequest(
                asking: .inspect(target: command.id, sender: nil), of: audience, settings, signer: signer,
                ReplyWait())
        else { return nil }
        do {
            try await session.publish(question.message)
            let alarm = session.alarm(after: Self.patience)
            defer { alarm.cancel() }
            while case .message(let message) = try await session.next() {
                guard let answer = question.reply(message, since: MonotonicTime.instant) else { continue }
                guard answer.isOK else { return nil }
                guard let timeline = CommandTimeline.all(in: answer, of: command.id).first else {
                    // It did, whatever it knows by now.
                    guard !known.hasAccepted(agent) else { return nil }
                    return "\(agent) never received \(command.id); may \(settings.name) write "
                        + "\(settings.topics.command(to: audience, from: settings.name))?"
                }
                return "\(command.id) is \(timeline.situation) on \(agent)\(advice)"
            }
        } catch {}
        return nil
    }

    /// The same after the connection was lost.
    private func situationInNewSession(_ known: NoReplyDiagnosis) async -> Wording? {
        guard case .agent = audience else { return nil }
        // The broker may be about to come back.
        let end = MonotonicTime.instant + Self.patienceWithBroker
        while MonotonicTime.instant < end {
            do {
                return try await BackendSession.with(settings, required: [replyFilter], within: .seconds(1)) {
                    await situation(in: $0, known)
                }
            } catch {
                guard (try? await MonotonicTime.sleep(for: .milliseconds(200))) != nil else { return nil }
            }
        }
        return nil
    }

    private var message: MQTTMessage {
        var properties = MQTTProperties()
        properties.messageExpiry = UInt32(clamping: max(1, (command.expires - WallClock.now() + 999) / 1000))
        return .json(
            settings.topics.command(to: audience, from: settings.name), payload, properties: properties)
    }

    /// Where the replies come.
    var replyFilter: String {
        switch audience {
        case .agent(let agent): settings.topics.reply(of: agent, to: settings.name)
        case .group: settings.topics.reply(of: "+", to: settings.name)
        }
    }

    /// Where it is said who is there.
    var presenceFilters: [String] { NoReplyDiagnosis.filters(of: audience, settings.topics) }

    /// The reply to our command, if the message is one.
    private func reply(_ message: MQTTMessage, since started: ContinuousClock.Instant) -> CommandReply? {
        guard case (let agent, .reply(to: settings.name))? = settings.topics.outbound(message.topic),
            let json = message.json, let reply = try? Reply(json),
            reply.id == command.id
        else { return nil }
        return CommandReply(
            agent: agent, reply: reply, bytes: message.payload,
            roundTrip: (MonotonicTime.instant - started).milliseconds)
    }
}
