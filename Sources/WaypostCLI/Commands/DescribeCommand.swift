import ArgumentParser
import Waypost
import WaypostMessages

struct DescribeCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "describe",
        abstract:
            "Print what can be opened and called: routes with their parameters, services with their methods.",
        discussion: """
            A route is named by its pattern, or by a URL that it takes; a service by its name. Without a name all are \
            listed. With --json and without a name it prints the whole contract, which resolve, check and routes read \
            with --routes.

            Examples:
              waypost describe --agent k1
              waypost describe scheme://router/user/7 --agent k1
              waypost describe CalculatorService --agent k1
              waypost describe --agent k1 --json > contract.json
              waypost describe --demo scheme://router/demo
            """)

    @Argument(help: "A pattern, a URL, or a service; all unless given.", completion: .routesAndServices)
    var name: String?

    @Option(
        help: ArgumentHelp("The agent whose contract is read from the broker.", valueName: "id"),
        completion: .agents)
    var agent: String?

    @OptionGroup(title: "What")
    var source: RouteSource

    @OptionGroup
    var output: OutputOptions

    @OptionGroup(title: "Waiting")
    var wait: WaitOptions

    @OptionGroup(title: "Sender")
    var sender: SenderOptions

    @OptionGroup(title: "Broker")
    var broker: BrokerOptions

    func validate() throws {
        try NameCheck.check(agent, of: "--agent")
        guard (agent != nil) != source.isGiven else {
            throw ValidationError("choose exactly one of --agent ID, --routes FILE and --demo")
        }
        guard agent == nil || source.maps.isEmpty else {
            throw ValidationError("the contract of an agent has its maps applied already; leave out --map")
        }
    }

    func perform() async throws {
        let contract = try await contract()
        let text = ContractText(style: output.style)
        guard let name else {
            return show(contract.json, text.lines(contract))
        }
        if let service = contract.services.first(where: { $0.name == name }) {
            return show(service.json, text.lines(service))
        }
        if let route = try contract.routes.first(where: { $0.path == name })
            ?? ContractCheck(contract).route(of: name)
        {
            return show(route.json, text.lines(route))
        }
        let near = NearestNames.find(
            name, among: contract.routes.map(\.path) + contract.services.map(\.name))
        throw CommandError(
            .failed,
            "describe \(name): there is no such route or service\(NearNames.question(near))")
    }

    private func show(_ json: JSONValue, _ lines: [TerminalText]) {
        if output.isJSON {
            Terminal.print(json: json)
        } else {
            for line in lines { Terminal.print(line) }
        }
    }

    private func contract() async throws -> RouterContract {
        guard let agent else {
            return try source.router(RouterConfiguration(registersLinked: false)).contract
        }
        return try await ContractReader(settings: try await broker.resolved(), sender: sender.sender)
            .contract(of: agent, within: wait.duration)
    }
}
