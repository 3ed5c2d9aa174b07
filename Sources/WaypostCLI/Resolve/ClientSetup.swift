import ArgumentParser
import Waypost
import WaypostAgent

/// The client that asks: what an agent tells its router.
struct ClientSetup: Hashable {
    var agent: String?
    var facts = ClientFacts()
    /// The time, in milliseconds since 1970; nil is the time at which it is asked.
    var at: Int64?

    /// The context that an agent with these settings has.
    var context: RelocationContext {
        var context = RelocationContext(
            agent: agent, build: facts.build, locale: facts.locale, labels: facts.labels)
        if let at { context.now = { at } }
        return context
    }
}

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
