import ArgumentParser
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

/// A reply for people: the result in the first line, the rest below.
struct ReplyText {
    var style: Style

    func lines(_ answer: CommandReply) -> [TerminalText] {
        outcome(answer) + answer.reply.warnings.prefix(NearestNames.maximum).map { "  warning: \($0)" }
    }

    private func outcome(_ answer: CommandReply) -> [TerminalText] {
        let reply = answer.reply
        if let due = reply.due, answer.isScheduled {
            return [
                "\(style.status(reply.status)): \(answer.agent) begins \(reply.id) at \(Timestamp.local(due))",
                "  to see it: waypost explain \(reply.id) --agent \(answer.agent)",
                "  to take it back: waypost cancel \(reply.id) --agent \(answer.agent)",
            ]
        }
        guard reply.code != .notMeant else {
            return ["\(style.dim("not meant")): \(answer.agent): \(reply.detail ?? "no detail given")"]
        }
        guard answer.isOK else {
            var lines: [TerminalText] = [
                "\(style.status(reply.status)): \(reply.code) from \(answer.agent): \(reply.detail ?? "no detail given")"
            ]
            let unnamed = NearestNames.unnamed(reply.nearest, in: reply.detail ?? "")
            if !unnamed.isEmpty { lines.append("  nearest: \(unnamed.joined(separator: ", "))") }
            if let payload = reply.payload { lines.append("  payload: \(payload.text)") }
            // A clock is not right the next time.
            if reply.code.isRetryable, ![.clock, .clockSkew].contains(reply.code) {
                lines.append("  it may work if you try again")
            }
            return lines
        }
        let again =
            reply.isDuplicate ? ", repeated reply" : reply.attempt > 1 ? ", attempt \(reply.attempt)" : ""
        return ["\(style.status(reply.status)): \(answer.agent) (\(reply.milliseconds) ms\(again))"]
            + details(reply.result)
    }

    /// The result: an opening field by field, anything else as JSON.
    private func details(_ result: JSONValue) -> [TerminalText] {
        guard let members = result.objectValue, let url = members["url"]?.stringValue, members["hops"] != nil
        else {
            return result.isNull ? [] : ["  result: \(result.text)"]
        }
        var lines: [TerminalText] = ["  url: \(url)"]
        if let route = members["route"]?.stringValue { lines.append("  route: \(route)") }
        let hops = members["hops"]?.arrayValue?.compactMap(\.stringValue) ?? []
        if !hops.isEmpty { lines.append("  redirects: \(hops.joined(separator: " → "))") }
        if let value = members["value"], !value.isNull { lines.append("  value: \(value.text)") }
        return lines
    }
}

/// A verb that sends one command to agents and prints the replies: what is its own.
protocol RequestVerb: ParsableArguments {
    static var configuration: CommandConfiguration { get }

    /// What is asked for.
    ///
    /// - Throws: ``CommandError`` 64 when the arguments make no command.
    func operation() throws -> Command.Operation

    /// Whether it is held against the agent's contract before it is sent.
    var isChecked: Bool { get }

    /// A reply for people; ``ReplyText`` unless the verb knows better.
    func lines(_ answer: CommandReply, _ style: Style) -> [TerminalText]
}

extension RequestVerb {
    var isChecked: Bool { false }

    func lines(_ answer: CommandReply, _ style: Style) -> [TerminalText] {
        ReplyText(style: style).lines(answer)
    }
}

/// Such a verb, with the options that all of them have.
struct RequestCommand<Verb: RequestVerb>: OperatorCommand {
    static var configuration: CommandConfiguration { Verb.configuration }

    @OptionGroup var verb: Verb
    @OptionGroup var output: OutputOptions
    @OptionGroup var audience: AudienceOptions
    @OptionGroup var local: LocalOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup var options: CommandOptions
    @OptionGroup(title: "Signing", visibility: .shared) var signing: SignOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws {
        try options.validate(signedBy: signing)
        guard local.isOn else { return }
        try wait.validateIsOn()
        if audience.group != nil {
            throw ValidationError("--local is for the agent of this machine, not a group")
        }
        if signing.isGiven { throw ValidationError("--local needs no signature") }
    }

    /// Sends it past the broker.
    private func performLocally() async throws {
        let command = try options.command(try verb.operation(), isSigned: false)
        let started = MonotonicTime.instant
        let (agent, reply) = try await local.send(
            command, isNamed: options.id != nil, to: audience.agent, file: session.configurationFile,
            within: wait.duration)
        let answer = CommandReply(
            agent: agent, reply: reply, bytes: reply.encoded(),
            roundTrip: (MonotonicTime.instant - started).milliseconds)
        if output.isJSON {
            Terminal.print(json: answer.jsonLine())
        } else {
            for line in verb.lines(answer, output.style) { Terminal.print(line) }
        }
        guard answer.isOK else { throw Exit.failed }
    }

    func perform() async throws {
        guard !local.isOn else { return try await performLocally() }
        let audience = try audience.audience
        let command = try options.command(try verb.operation(), isSigned: signing.isGiven)
        let request = try CommandRequest(
            command, to: audience, await session.resolved(), signer: signing.signer(), wait.replyWait,
            isChecked: verb.isChecked)
        var allOK = true
        let count: Int
        do {
            count = try await request.perform { answer in
                // A group has members that are not meant; an agent that is named and not meant did not do it.
                let isPassedBy = answer.reply.code == .notMeant && self.audience.agent == nil
                allOK = allOK && (answer.isOK || answer.isScheduled || isPassedBy)
                if output.isJSON {
                    Terminal.print(json: answer.jsonLine())
                } else {
                    let hint = ClockHint(answer.reply, command, isSigned: signing.isGiven).lines
                    for line in verb.lines(answer, output.style) + hint { Terminal.print(line) }
                }
            }
        } catch let error as BackendError where error.rejection != nil {
            printNotSent(error, audience)
            throw Exit.failed
        }
        if count == 0 { printSent(command, to: audience) }
        guard allOK else { throw Exit.failed }
    }

    /// What does not fit the agent's contract: it was not sent, so this is no reply.
    private func printNotSent(_ error: BackendError, _ audience: Audience) {
        guard output.isJSON, let fault = error.rejection else {
            Terminal.print(TerminalText(error.wording.shell))
            return
        }
        Terminal.print(json: [
            "agent": .string(audience.description), "sent": false, "code": .int(Int64(fault.code.number)),
            "name": .string(fault.code.name), "detail": .string(fault.detail),
            "nearest": .array(fault.nearest.map { .string($0) }),
        ])
    }

    private func printSent(_ command: Command, to audience: Audience) {
        if output.isJSON {
            Terminal.print(json: ["id": .string(command.id), "status": "sent"])
        } else {
            Terminal.print("sent: \(command.id) to \(audience)")
        }
    }
}
