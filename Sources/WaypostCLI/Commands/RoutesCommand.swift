public import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages
public import WaypostTools

struct RoutesCommand: ContractCommand {
    static let configuration = CommandConfiguration(
        commandName: "routes",
        abstract:
            "Print routes, with maps applied: as Markdown, JSON, a property list, a graph or Swift.",
        discussion: """
            json and plist are the formats of TheRouter; swift prints constants, so that no path is typed in code; \
            dot is a Graphviz graph with the redirects.

            Examples:
              waypost routes --agent k1
              waypost routes --demo
              waypost routes --routes routes.json --map map.json --format json
              waypost routes --routes routes.json --format swift \\
                > Sources/App/RouteKeys.swift
              waypost routes --demo --map map.json --format dot | dot -Tsvg > routes.svg
            """)

    @OptionGroup(title: "What") var agent: ContractAgent
    @OptionGroup(title: "What") var source: RouteSource
    @OptionGroup(title: "What") var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    @Option(
        help: ArgumentHelp(
            "The format: \(RouteExportFormat.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "form"))
    var format = RouteExportFormat.markdown

    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Router") var router: RouterOptions

    func validate() throws { try validateGiven() }

    func perform() async throws {
        let configuration = try router.setup().configuration
        let router: Router
        if let agent = agent.name {
            let contract = try await contract()
            router = Router(configuration: configuration.completed(by: contract))
            try StandInRoutes.register(RouteFile(contract), of: agent, in: router)
            if !contract.redirects.isEmpty { try await redirect(router, as: agent) }
        } else {
            router = try source.router(configuration)
        }
        let form = output.isJSON ? .json : format
        // The text ends with a line feed of its own.
        let text = String(router.export.text(form).dropLast())
        switch form {
        case .json: Terminal.print(json: Array(text.utf8))
        case .plist: Terminal.print(TerminalText(xml: text))
        case .markdown, .dot, .swift: Terminal.print(TerminalText(lines: text))
        }
    }
}

extension RoutesCommand {
    /// Lays the agent's redirects over its routes; paths that maps added or took away are in the routes already.
    private func redirect(_ router: Router, as agent: String) async throws {
        let client = Backend(perCall: try await session.resolved()).agent(agent)
        let maps: AgentMaps
        do {
            maps = try await client.maps(deadline: wait.deadline)
        } catch let error as BackendError where error.kind != .noBroker {
            // Who may not ask is told so; that is no fault of the agent's.
            return Terminal.note(
                "waypost: warning: \(agent) has redirects, which are not listed: \(error)")
        }
        let layers = maps.relocationLayers.map { layer in
            RelocationLayer(name: layer.name, entries: layer.entries.filter(\.isRedirect))
        }
        _ = try? router.relocate(layers)
    }
}

extension RouteExportFormat: ExpressibleByArgument {}
