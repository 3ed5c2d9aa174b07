import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

struct ExplainCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explain a code or a health check, and what to do about it; or trace a command.",
        discussion: """
            With --agent, traces a command through the agent: when it was received, started and ended, and when the \
            broker had the reply. An agent remembers a command for at least 15 minutes.

            Examples:
              waypost explain 404
              waypost explain NO_ROUTE
              waypost explain store      # a health check
              waypost explain            # all codes, all checks
              waypost explain 01K2XJ7S4TQ5WZ8M3N6R9V0B4D --agent k1
              waypost explain c-17 --agent k1 --of orders
            """)

    @Argument(
        help:
            "The number or name of a code, or a health check. Default: all. With --agent, the id of a command.",
        completion: .list(CodeExplanation.all.map(\.code.name) + HealthCheckGuide.all.map(\.name)))
    var code: String?

    @Option(help: ArgumentHelp("The agent that received the command.", valueName: "id"), completion: .agents)
    var agent: String?

    @Option(
        help: ArgumentHelp(
            "Who sent the command.", discussion: "Default: the sender, see --as.", valueName: "name"))
    var of: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Signing", visibility: .shared) var signing: SignOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws {
        try NameCheck.check(agent, of: "--agent")
        try NameCheck.check(of, of: "--of")
        guard agent != nil || of == nil else { throw ValidationError("--of needs --agent") }
        if isAboutCommand {
            try NameCheck.check(code, of: "id")
            try wait.validateIsOn()
        }
    }

    /// A code is one also where the environment names an agent.
    private var isAboutCommand: Bool {
        agent != nil
            && code.map { code in
                of != nil || (CodeExplanation.find(code).isEmpty && HealthCheckGuide.find(code) == nil)
            } == true
    }

    func perform() async throws {
        if isAboutCommand, let agent, let code {
            try await explain(command: code, at: agent)
        } else {
            try explainCode()
        }
    }

    private func explain(command id: String, at agent: String) async throws {
        let settings = try await session.resolved(signedBy: signing)
        let sender = settings.name
        var request = try CommandRequest(
            asking: .inspect(target: id, sender: of), of: .agent(agent), settings, signer: settings.signer,
            wait.replyWait)
        request.leavesOfflineAlone = true
        var isOK = true
        _ = try await request.perform { answer in
            let isKnown = answer.reply.result["commands"]?.arrayValue?.isEmpty == false
            isOK = answer.isOK && isKnown
            guard !output.isJSON else {
                Terminal.print(json: answer.jsonLine())
                return
            }
            let lines: [TerminalText]
            if isOK {
                lines = CommandTimelineText(id: id, sender: of ?? sender, style: output.style)
                    .lines(answer)
                let error = answer.clockAhead.milliseconds
                if error != 0 { Terminal.note("--- \(ClockOffset.notice(agent, error: error))") }
            } else if answer.isOK {
                lines = [
                    "\(agent) knows no command \(id) of \(of ?? sender): never received, or forgotten; see --of"
                ]
            } else {
                lines = ReplyText(style: output.style).lines(answer)
            }
            for line in lines { Terminal.print(line) }
        }
        guard isOK else { throw Exit.failed }
    }

    private func explainCode() throws {
        let codes = code.map(CodeExplanation.find) ?? CodeExplanation.all
        let checks = code.map { [HealthCheckGuide.find($0)].compactMap(\.self) } ?? HealthCheckGuide.all
        guard !codes.isEmpty || !checks.isEmpty else {
            let known = CodeExplanation.all.map(\.code.name) + HealthCheckGuide.all.map(\.name)
            throw CommandError(
                .usage,
                "explain \(code ?? ""): there is no such code and no such health check\(NearestNames.question(NearestNames.find(code ?? "", among: known))); to trace a command: waypost explain ID --agent NAME"
            )
        }
        let style = output.style
        for explanation in codes {
            show(
                explanation.json, ["\(explanation.code): \(explanation.meaning)"], explanation.lines(style))
        }
        for check in checks {
            show(
                check.json, ["\(check.name): \(check.failsWhen)"],
                [
                    "\(style.bold(TerminalText(check.name)))  health check",
                    "  fails when: \(check.failsWhen)", "  do:         \(check.advice)",
                ])
        }
    }

    private func show(_ json: JSONValue, _ short: [TerminalText], _ long: [TerminalText]) {
        if output.isJSON {
            Terminal.print(json: json)
        } else {
            for line in code == nil ? short : long { Terminal.print(line) }
        }
    }
}

extension CodeExplanation {
    /// For people: the code, what it means, whether to try again, and what to do.
    fileprivate func lines(_ style: Style) -> [TerminalText] {
        let isOfApplication = Code.applicationNumbers.contains(code.number)
        let again =
            isOfApplication
            ? "as the program says"
            : code.status == nil
                ? "only in failure reports"
                : code.isRetryable ? "sending it again may help" : "sending it again does not help"
        let status = code.status?.rawValue ?? (isOfApplication ? "failed or rejected" : "report")
        return [
            "\(style.bold("\(code)"))  \(status)", "  means: \(meaning)",
            "  again: \(again)", "  do:    \(advice)",
        ]
    }
}

extension HealthCheckGuide {
    fileprivate var json: JSONValue {
        ["check": .string(name), "failsWhen": .string(failsWhen), "do": .string(advice)]
    }
}
