import ArgumentParser
import Waypost
import WaypostBackend

/// The client that the maps are meant for.
struct ClientSetupOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The agent's name, for shares of maps.", valueName: "id"))
    var agent: String?

    @OptionGroup
    var client: ClientOptions

    @Option(
        help: ArgumentHelp(
            "The time for conditions of maps, in milliseconds since 1970.", discussion: "Default: now.",
            valueName: "ms"))
    var at: Int64?

    func validate() throws {
        do {
            _ = try setup()
        } catch {
            // Any other error would end with 1, as if the URL had not been found.
            throw ValidationError(error.description)
        }
    }

    /// The options, checked.
    func setup() throws(CommandError) -> ClientSetup {
        ClientSetup(
            agent: agent,
            facts: try ClientFacts(build: client.build, locale: client.locale, labels: client.labels), at: at)
    }
}
