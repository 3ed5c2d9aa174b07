import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

struct MapShowCommand: MapAskingCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print the relocation entries in force on agents, the layer that applies first on top.",
        discussion: """
            Layers are a program's own, @all, the agent's groups, its own map (agent) and patches (patch); a later one \
            overrides those before it. Entries are counted from 1. With --at it prints which entries apply to a URL.

            Examples:
              waypost map --agent k1
              waypost map --agent k1 --at scheme://router/demo
              waypost map --group all --layer patch
              waypost map --agent k1 --json
            """)

    @OptionGroup var audience: AudienceOptions

    @Option(
        name: .customLong("at"), help: ArgumentHelp("Show which entries apply to this URL.", valueName: "url")
    )
    var url: String?

    @Option(
        help: ArgumentHelp("Only this layer: agent, patch, @ and the name of a group.", valueName: "name"))
    var layer: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Signing", visibility: .shared) var signing: SignOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws {
        guard url == nil || audience.group == nil else { throw ValidationError("--at needs one --agent") }
        try wait.validateIsOn()
    }

    func perform() async throws {
        let audience = try audience.audience
        let answers = try await maps(of: audience).maps(layer: layer, at: url)
        let text = MapText(style: output.style)
        for (_, maps) in answers.values {
            if output.isJSON {
                Terminal.print(json: maps.json)
            } else {
                let resolved = maps.resolved.map { ResolvedText.lines($0, output.style) } ?? []
                for line in text.lines(maps) + resolved { Terminal.print(line) }
            }
        }
        try MapAnswers.report(answers)
    }
}

/// A verb that asks agents about their maps.
protocol MapAskingCommand: OperatorCommand {
    var wait: WaitOptions { get }
    var signing: SignOptions { get }
    var session: SessionOptions { get }
}

extension MapAskingCommand {
    /// The maps of one agent, or of a group.
    func maps(of audience: Audience) async throws -> MapClient {
        MapClient(try await session.resolved(signedBy: signing), of: audience, wait.replyWait)
    }
}

/// What did not come of an answer about maps.
enum MapAnswers {
    /// - Throws: What the command ends with when something is missing.
    static func report<Value>(_ answers: MapReader.Answers<Value>) throws {
        for (agent, error) in answers.wrongClocks.sorted(by: { $0.key < $1.key }) {
            Terminal.note("--- \(ClockOffset.notice(agent, error: error))")
        }
        for refusal in answers.refusals {
            let hint = refusal.reply.code == .unknownType ? "; its version is too old for this" : ""
            Terminal.note(
                "waypost: \(refusal.agent): \(refusal.reply.code): \(refusal.reply.detail ?? "refused")\(hint)"
            )
        }
        if let silence = answers.silence { throw silence }
        guard answers.refusals.isEmpty else { throw Exit.failed }
    }
}
