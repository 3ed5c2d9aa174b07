import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

struct MapHistoryCommand: MapAskingCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List the maps that were in force on agents: the last eight of each layer.",
        discussion: """
            CHANGED counts the entries that were added (+), removed (-) and changed (~). BY is who published it, as far \
            as the agent knows: the keys that signed it, what the document says, or its id. With --rev or --digest it \
            prints one document, as waypost relocate --file sends it.

            Examples:
              waypost map history --agent k1
              waypost map history --group lobby --layer @lobby
              waypost map history --agent k1 --rev 41 > before.json
            """)

    @OptionGroup var audience: AudienceOptions

    @Option(
        help: ArgumentHelp("Only this layer: agent, patch, @ and the name of a group.", valueName: "name"))
    var layer: String?

    @Option(
        name: .customLong("rev"),
        help: ArgumentHelp("Print the document with this revision.", valueName: "number"))
    var revision: Int64?

    @Option(help: ArgumentHelp("Print the document whose digest begins with this.", valueName: "digits"))
    var digest: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Signing", visibility: .shared) var signing: SignOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws {
        try wait.validateIsOn()
        guard revision == nil || digest == nil else {
            throw ValidationError("use --rev or --digest, not both")
        }
        guard (revision == nil && digest == nil) || audience.group == nil else {
            throw ValidationError("--rev and --digest need one --agent")
        }
    }

    func perform() async throws {
        let audience = try audience.audience
        let maps = try await maps(of: audience)
        if let subject { return show(try await maps.document(subject, layer: layer ?? "agent")) }
        let answers = try await maps.history(layer: layer)
        let text = MapText(style: output.style)
        for (agent, history) in answers.values {
            if output.isJSON {
                for version in history {
                    var members = version.json.objectValue ?? [:]
                    members["agent"] = .string(agent)
                    Terminal.print(json: .object(members))
                }
            } else {
                for line in text.lines(agent, history) { Terminal.print(line) }
            }
        }
        try MapAnswers.report(answers)
    }

    private var subject: MapsRequest.Subject? {
        if let revision { return .revision(revision) }
        return digest.map { .digest($0.hasPrefix("sha256:") ? $0 : "sha256:\($0)") }
    }

    private func show(_ document: KeptMap) {
        if document.isMasked {
            Terminal.note(
                "waypost: warning: values of secret keys are masked: this document can't be sent again as it is"
            )
        }
        Terminal.print(json: document.json)
    }
}
