import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

/// How an agent is asked where a URL leads.
struct AskedAgentOptions: ParsableArguments {
    @Option(
        name: .customLong("as-caller"),
        help: ArgumentHelp(
            "Of an agent: where it leads for this sender, for redirects that ask who calls.",
            valueName: "name"))
    var caller: String?

    @OptionGroup
    var asking: AskOptions

    func validate() throws { try NameCheck.check(caller, of: "--as-caller") }

    /// Prints where a URL leads at an agent.
    ///
    /// - Throws: ``Exit`` 1 when nothing would be opened.
    func resolve(
        _ url: String, _ parameters: [String: JSONValue], at agent: String, _ output: OutputOptions
    ) async throws {
        try NameCheck.check(agent, of: "--agent")
        let maps = try await asking.maps(of: .agent(agent))
        let found = try await maps.resolve([url], parameters: parameters, as: caller)
        guard let resolved = found.first else { return }
        if output.isJSON {
            Terminal.print(json: resolved.json)
        } else {
            for line in ResolvedText.lines(resolved, output.style) { Terminal.print(line) }
        }
        guard resolved.failure == nil else { throw Exit.failed }
    }
}
