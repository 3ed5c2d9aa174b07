import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages
import WaypostTools

struct DescribeCommand: ContractCommand {
    static let configuration = CommandConfiguration(
        commandName: "describe",
        abstract:
            "Print the routes and services of an agent, with parameters and methods; or all about the agent.",
        discussion: """
            describe agent ID prints its health, maps, screens and counters. An agent that is online is asked; of \
            another, the last values at the broker are shown with their time. Name a route by its pattern or by \
            a URL that it matches, a service by its name. Without a name all are listed. With --json and without a name \
            it prints the whole contract, which resolve, check and routes read with --routes.

            Examples:
              waypost describe agent k1
              waypost describe --agent k1
              waypost describe scheme://router/user/7 --agent k1
              waypost describe CalculatorService --agent k1
              waypost describe --agent k1 --json > contract.json
              waypost describe --demo scheme://router/demo
            """)

    @Argument(
        help: ArgumentHelp(
            "A pattern, a URL, or a service; all unless given. Or: agent ID.", valueName: "name"),
        completion: .routesAndServices)
    var names: [String] = []

    @OptionGroup(title: "What") var agent: ContractAgent
    @OptionGroup(title: "What") var source: RouteSource
    @OptionGroup(title: "What") var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if let whole {
            guard agent.name == nil, !source.isGiven else {
                throw ValidationError("describe agent ID needs no --agent, --routes or --demo")
            }
            return try NameCheck.check(whole, of: "agent")
        }
        guard names.count <= 1 else {
            throw ValidationError("describe takes one name, or: describe agent ID")
        }
        if let name = names.first, agent.name == nil, !source.isGiven {
            throw ValidationError(
                name == "agent"
                    ? "name the agent: waypost describe agent ID"
                    : "choose exactly one of --agent ID, --routes FILE and --demo; "
                        + "for an agent as a whole: waypost describe agent \(Name.isValid(name) ? name : "ID")"
            )
        }
        try validateGiven()
    }

    /// The agent that is described as a whole.
    private var whole: String? { names.count == 2 && names[0] == "agent" ? names[1] : nil }

    func perform() async throws {
        if let whole {
            let page = try await AgentPage.read(whole, session.resolved(), within: wait.duration)
            return show(page.json, page.lines(output.style, within: Terminal.width))
        }
        let contract = try await contract()
        let text = ContractText(style: output.style)
        guard let name = names.first else {
            return show(contract.json, text.lines(contract))
        }
        if let service = contract.services.first(where: { $0.name == name }) {
            return show(service.json, text.lines(service))
        }
        let resolved = await resolved(name)
        if let failure = resolved?.failure, !contract.routes.contains(where: { $0.path == name }) {
            throw CommandError(
                .failed, "describe \(name): \(failure.detail)\(NearestNames.question(failure.nearest))")
        }
        let hops = resolved?.hops ?? []
        if let route = try contract.routes.first(where: { $0.path == resolved?.route ?? name })
            ?? AgentContract(contract).route(of: resolved?.final ?? name)
        {
            guard !hops.isEmpty, let resolved else { return show(route.json, text.lines(route)) }
            let json = route.json.objectValue ?? [:]
            let redirected = ResolvedText.hops(resolved)
            return show(
                .object(json.merging(["redirected": resolved.json["hops"] ?? .null]) { $1 }),
                redirected + text.lines(route))
        }
        let near = NearestNames.find(
            name, among: contract.routes.map(\.path) + contract.services.map(\.name))
        throw CommandError(
            .failed,
            "describe \(name): there is no such route or service\(NearestNames.question(near))")
    }

    /// Where the agent itself says that a URL leads; nil when it is no URL, or no agent answers.
    private func resolved(_ name: String) async -> ResolvedRoute? {
        guard let agent = agent.name, name.contains("://"), let settings = try? await session.resolved()
        else { return nil }
        do {
            return try await Backend(perCall: settings).agent(agent).resolve([name], deadline: wait.deadline)
                .first
        } catch {
            let reason = error.words
            Terminal.note(
                "waypost: warning: it is not known where redirects lead on \(agent): \(reason)")
            return nil
        }
    }

    private func show(_ json: JSONValue, _ lines: [TerminalText]) {
        if output.isJSON {
            Terminal.print(json: json)
        } else {
            for line in lines { Terminal.print(line) }
        }
    }
}
