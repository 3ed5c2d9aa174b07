import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages
import WaypostTools

/// The agent that a contract is read from.
struct ContractAgent: ParsableArguments {
    @Option(
        name: .customLong("agent"),
        help: ArgumentHelp("The agent whose routes and services are read from the broker.", valueName: "id"),
        completion: .agents)
    var name: String?

    func validate() throws { try NameCheck.check(name, of: "--agent") }
}

/// A verb about a contract: from an agent, from a file, or from the demo.
protocol ContractCommand: OperatorCommand {
    var agent: ContractAgent { get }
    var source: RouteSource { get }
    var wait: WaitOptions { get }
    var session: SessionOptions { get }
}

extension ContractCommand {
    /// Throws unless exactly one place is named.
    func validateGiven() throws {
        guard (agent.name != nil) != source.isGiven else {
            throw ValidationError("choose exactly one of --agent ID, --routes FILE and --demo")
        }
        guard agent.name == nil || source.maps.isEmpty else {
            throw ValidationError("an agent's routes have its maps applied already; leave out --map")
        }
    }

    func contract() async throws -> RouterContract {
        guard let agent = agent.name else {
            return try source.router(RouterConfiguration(registersLinked: false)).contract
        }
        return try await session.resolved().contract(of: agent, within: wait.duration)
    }
}
