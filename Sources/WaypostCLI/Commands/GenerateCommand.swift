import ArgumentParser
import Waypost
import WaypostBackend
import WaypostTools

struct GenerateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Generate a client from what an agent can do.",
        discussion: """
            Each is one file with a function for each method of each service and for each route.

            Examples:
              waypost generate python --agent k1 > shop.py
              waypost generate typescript --agent k1 > shop.ts
              waypost generate swift --agent k1 > Sources/Shop/Services.swift
            """,
        subcommands: [GeneratePythonCommand.self, GenerateTypeScriptCommand.self, GenerateSwiftCommand.self])
}

/// Where the contract of a client is from.
struct ContractOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The agent whose contract is read from the broker.", valueName: "id"),
        completion: .agents)
    var agent: String?

    @Option(
        help: ArgumentHelp("A contract, as waypost describe --json prints it.", valueName: "file"),
        completion: .file(extensions: ["json"]))
    var contract: String?

    func validate() throws {
        try NameCheck.check(agent, of: "--agent")
        guard agent == nil || contract == nil else { throw Self.choice }
    }

    static let choice = ValidationError("choose one of --agent ID and --contract FILE")
}

/// A verb that prints the source of a client.
protocol ClientCommand: OperatorCommand {
    var source: ContractOptions { get }
    var wait: WaitOptions { get }
    var session: SessionOptions { get }
}

extension ClientCommand {
    /// Prints the source that is made of the contract.
    ///
    /// - Parameter language: Its key in JSON.
    fileprivate func generate(
        _ language: String, _ text: (RouterContract, _ origin: String) -> String
    ) async throws {
        let (found, origin): (RouterContract, String)
        // Not the name of a file: that depends on the machine.
        switch (source.agent, source.contract) {
        case (let agent?, _):
            let contract = try await session.resolved().contract(of: agent, within: wait.duration)
            (found, origin) = (contract, "the agent \(agent)")
        case (nil, let file?): (found, origin) = (try RouteFile(file).contract, "a contract")
        // What calls anything by name.
        case (nil, nil): (found, origin) = (RouterContract(), "no contract")
        }
        if let name = source.agent ?? source.contract, found.services.isEmpty, found.routes.isEmpty {
            throw CommandError(.failed, "\(name) lists no service and no route: nothing to generate")
        }
        let text = text(found, origin)
        if output.isJSON {
            Terminal.print(json: [language: .string(text)])
        } else {
            Terminal.print(TerminalText(lines: String(text.dropLast())))
        }
    }
}

struct GeneratePythonCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "python",
        abstract: "Generate a client in Python: one file, for Python 3.10 and paho-mqtt 2.",
        discussion: """
            A class for each service and one for the routes, plain and for asyncio, and what sends commands and follows \
            events. Its types, defaults and listed values are those of the contract. Without --agent and --contract it has neither \
            services nor routes, and calls anything by name.

            Examples:
              waypost generate python --agent k1 > shop.py
              waypost describe --agent k1 --json > contract.json
              waypost generate python --contract contract.json
            """)

    @OptionGroup var source: ContractOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func perform() async throws {
        try await generate("python") { PythonClient($0, from: $1).text }
    }
}

struct GenerateTypeScriptCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "typescript",
        abstract: "Generate a client in TypeScript: one file, for the package mqtt 4.3 and newer.",
        discussion: """
            A class for each service and one for the routes, and what sends commands and follows events. Its types, defaults \
            and listed values are those of the contract. Without --agent and --contract it has neither services nor routes, \
            and calls anything by name.

            Examples:
              waypost generate typescript --agent k1 > shop.ts
              waypost describe --agent k1 --json > contract.json
              waypost generate typescript --contract contract.json
            """)

    @OptionGroup var source: ContractOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func perform() async throws {
        try await generate("typescript") { TypeScriptClient($0, from: $1).text }
    }
}

struct GenerateSwiftCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "swift",
        abstract: "Generate a struct for each service and one for the routes, in Swift.",
        discussion: """
            A struct has a method for each method of its service, and for each route. The source is for a backend that uses the \
            library WaypostBackend. Labels, types, optionals and listed values are those of the contract: when it changes incompatibly, the backend no longer compiles.

            Examples:
              waypost generate swift --agent k1 > Sources/Shop/Services.swift
              waypost describe --agent k1 --json > contract.json
              waypost generate swift --contract contract.json
            """)

    @OptionGroup var source: ContractOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws {
        guard source.agent != nil || source.contract != nil else { throw ContractOptions.choice }
    }

    func perform() async throws {
        try await generate("swift") { SwiftStubs($0, from: $1).text }
    }
}
