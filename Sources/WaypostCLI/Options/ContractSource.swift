import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages
import WaypostTools

/// Where a contract comes from: from an agent, from a file, or from the demo.
struct ContractSource: ParsableArguments {
    @Option(
        help: ArgumentHelp("The agent whose routes and services are read from the broker.", valueName: "id"),
        completion: .agents)
    var agent: String?

    @OptionGroup
    var routes: RouteSource

    @OptionGroup
    var wait: WaitOptions

    @OptionGroup(title: "Sender", visibility: .shared)
    var sender: SenderOptions

    @OptionGroup(title: "Broker", visibility: .shared)
    var broker: BrokerOptions

    func validate() throws { try NameCheck.check(agent, of: "--agent") }

    /// Throws unless exactly one place is named.
    func validateGiven() throws {
        guard (agent != nil) != routes.isGiven else {
            throw ValidationError("choose exactly one of --agent ID, --routes FILE and --demo")
        }
        guard agent == nil || routes.maps.isEmpty else {
            throw ValidationError("an agent's routes have its maps applied already; leave out --map")
        }
    }

    func contract() async throws -> RouterContract {
        guard let agent else {
            return try routes.router(RouterConfiguration(registersLinked: false)).contract
        }
        return try await ContractReader(broker.resolved(as: sender.name))
            .contract(of: agent, within: wait.duration)
    }
}
