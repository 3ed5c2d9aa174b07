import ArgumentParser
import WaypostBackend

struct MapDiffCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Print what a document would change on agents. Nothing is changed.",
        discussion: """
            Entries that are added (+), removed (-) and changed (~), URLs that would lead elsewhere (before → after), \
            entries that would have no effect, and why an agent would refuse it: once for agents with the same routes and \
            maps. The exit status is 1 when something speaks against the map, 3 when what it would do is not known of all \
            agents.

            Examples:
              waypost map diff --agent k1 --file map.json
              waypost map diff --group all --file map.json
            """)

    @OptionGroup var audience: AudienceOptions

    @Option(help: ArgumentHelp("A document with entries; - is standard input.", valueName: "file"))
    var file: String

    @OptionGroup var asking: AskOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Signing", visibility: .shared) var signing: SignOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func perform() async throws {
        let audience = try audience.audience
        let settings = try await session.resolved(signedBy: signing, asking: asking)
        let relocation = try RelocationOptions.relocation(file: file, by: settings.name)
        let delivery = MapDelivery(backend: Backend(perCall: settings), audience: audience, output: output)
        try await delivery.preview(relocation)
    }
}
