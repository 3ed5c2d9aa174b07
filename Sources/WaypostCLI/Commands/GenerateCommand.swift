import ArgumentParser
import Waypost
import WaypostBackend
import WaypostTools

struct GenerateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Generate source code from what an agent can do.",
        discussion: """
            Example:
              waypost generate swift --agent k1
            """,
        subcommands: [GenerateSwiftCommand.self])
}

struct GenerateSwiftCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "swift",
        abstract: "Generate a struct for each service, with a method for each of its methods.",
        discussion: """
            The source is for a backend that uses the library WaypostBackend. Labels, types, optionals and listed values \
            are those of the contract: when it changes incompatibly, the backend no longer compiles.

            Examples:
              waypost generate swift --agent k1 > Sources/Shop/Services.swift
              waypost describe --agent k1 --json > contract.json
              waypost generate swift --contract contract.json
            """)

    @Option(
        help: ArgumentHelp("The agent whose contract is read from the broker.", valueName: "id"),
        completion: .agents)
    var agent: String?

    @Option(
        help: ArgumentHelp("A contract, as waypost describe --json prints it.", valueName: "file"),
        completion: .file(extensions: ["json"]))
    var contract: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws {
        try NameCheck.check(agent, of: "--agent")
        guard (agent == nil) != (contract == nil) else {
            throw ValidationError("choose one of --agent ID and --contract FILE")
        }
    }

    func perform() async throws {
        let found: RouterContract
        if let agent {
            found = try await ContractReader(session.resolved()).contract(
                of: agent, within: wait.duration)
        } else {
            found = try RouteFile(contract ?? "-").contract
        }
        guard !found.services.isEmpty else {
            throw CommandError(.failed, "\(agent ?? contract ?? "") lists no service: nothing to generate")
        }
        // Not the name of the file: that depends on the machine.
        let text = SwiftStubs(found, from: agent.map { "the agent \($0)" } ?? "a contract").text
        if output.isJSON {
            Terminal.print(json: ["swift": .string(text)])
        } else {
            Terminal.print(TerminalText(lines: String(text.dropLast())))
        }
    }
}
