import ArgumentParser
import Waypost
import WaypostTools

struct ServicesCommand: ContractCommand {
    static let configuration = CommandConfiguration(
        commandName: "services",
        abstract: "List the services that can be called, with their methods.",
        discussion: """
            Examples:
              waypost services --agent k1
              waypost services --demo --json | jq -r .name
            """)

    @OptionGroup(title: "What") var agent: ContractAgent
    @OptionGroup(title: "What") var source: RouteSource
    @OptionGroup(title: "What") var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions
    @OptionGroup var output: OutputOptions

    func validate() throws { try validateGiven() }

    func perform() async throws {
        let services = try await contract().services
        if output.isJSON {
            for service in services { Terminal.print(json: service.json) }
        } else if services.isEmpty {
            Terminal.note("there are no services")
        } else {
            let text = ContractText(style: output.style)
            for line in services.flatMap(text.lines) { Terminal.print(line) }
        }
    }
}
