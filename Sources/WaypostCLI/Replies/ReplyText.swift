import Waypost
import WaypostBackend
import WaypostMessages

/// A reply for people: the result in the first line, the rest below.
struct ReplyText {
    var style: Style

    func lines(_ answer: AgentReply) -> [TerminalText] {
        outcome(answer) + answer.reply.warnings.prefix(NearestNames.maximum).map { "  warning: \($0)" }
    }

    private func outcome(_ answer: AgentReply) -> [TerminalText] {
        let reply = answer.reply
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

/// A command that sends one command to agents and prints the replies.
protocol RequestCommand: OperatorCommand {
    var options: CommandOptions { get }

    /// What is asked for.
    ///
    /// - Throws: ``CommandError`` 64 when the arguments make no command.
    func operation() throws -> Command.Operation

    /// Whether it is held against the agent's contract before it is sent.
    var isChecked: Bool { get }

    /// A reply for people; ``ReplyText`` unless the command knows better.
    func lines(_ answer: AgentReply) -> [TerminalText]
}

extension RequestCommand {
    var isChecked: Bool { false }

    func lines(_ answer: AgentReply) -> [TerminalText] { ReplyText(style: output.style).lines(answer) }

    func perform() async throws {
        let audience = try options.audience.audience
        let command = options.command(try operation())
        let request = try CommandRequest(
            command, to: audience, await options.broker.resolved(as: options.sender.name),
            signer: options.signing.signer(), options.wait.replyWait, isChecked: isChecked)
        var allOK = true
        let count: Int
        do {
            count = try await request.perform { answer in
                allOK = allOK && answer.isOK
                if output.isJSON {
                    Terminal.print(json: answer.jsonLine())
                } else {
                    let hint = ClockHint(answer.reply, command, isSigned: options.signing.isGiven).lines
                    for line in lines(answer) + hint { Terminal.print(line) }
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
            Terminal.print(TerminalText(error.description))
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
