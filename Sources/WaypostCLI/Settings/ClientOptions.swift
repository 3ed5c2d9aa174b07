import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

/// The client that the maps are meant for, as their conditions ask about it.
struct ClientOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The agent's name, for shares of maps.", valueName: "id"))
    var agent: String?

    @Option(
        help: ArgumentHelp("The version of the app, for conditions of maps: 2.4.1.", valueName: "version"))
    var build: String?

    @Option(
        help: ArgumentHelp(
            "The language and region, for conditions of maps: de-AT.", valueName: "locale"))
    var locale: String?

    @Option(
        name: .customLong("label"), parsing: .singleValue,
        help: ArgumentHelp(
            "A label of the client, for conditions of maps: region=eu. May be repeated.",
            valueName: "name=value"))
    var labels: [String] = []

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
            agent: agent, facts: try ClientFacts(build: build, locale: locale, labels: labels), at: at)
    }
}

/// The client that asks: what an agent gives its router.
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

extension ClientFacts {
    /// Facts as they are written in options and settings.
    ///
    /// - Throws: ``CommandError`` 64 naming the setting.
    init(build: String?, locale: String?, labels texts: [String]) throws(CommandError) {
        var labels: [String: String] = [:]
        for (number, text) in texts.enumerated() {
            guard let mark = text.firstIndex(of: "=") else {
                // Not what it is: without a name it may be a secret.
                throw CommandError(.usage, "label number \(number + 1) must be name=value; it has no =")
            }
            let name = String(text[..<mark])
            guard labels.updateValue(String(text[text.index(after: mark)...]), forKey: name) == nil else {
                throw CommandError(.usage, "label \(name.debugDescription) is given twice")
            }
        }
        self.init(build: build, locale: locale, labels: labels)
        if let fault { throw CommandError(.usage, fault) }
    }
}
