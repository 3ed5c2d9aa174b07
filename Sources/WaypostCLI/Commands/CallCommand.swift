import ArgumentParser
import Waypost
import WaypostMessages

struct CallCommand: RequestVerb {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Call a method of a service in an agent and print its result.",
        discussion: """
            A method has its Swift name, add(a:b:), or only add when that is unique, or its Objective-C selector.

            Examples:
              waypost call CalculatorService add --args '[2,3]' --agent k1
              waypost call CalculatorService 'divide(a:by:)' --agent k1 \\
                --args '{"a":1,"by":4}'
              waypost call CalculatorService add --args '[2,3]' --local --agent k1
              waypost call AppConfigServiceProtocol openMiniProgramWithInfo: \\
                --agent k1 --args '[{"key":"value"}]'
            """)

    @Argument(help: "The service's name.", completion: .services)
    var service: String

    @Argument(help: "The method's name.", completion: .methods)
    var method: String

    @Option(
        name: .customLong("args"),
        help: ArgumentHelp(
            "The arguments: a JSON array by position, or an object by label.", valueName: "json"),
        completion: .arguments)
    var arguments: String?

    @Flag(
        name: .customLong("check"), inversion: .prefixedNo,
        help: "Check it against the agent's routes and services before sending it.")
    var isChecked = true

    func operation() throws -> Command.Operation {
        .call(service: service, method: method, arguments: try Command.Arguments(option: "--args", arguments))
    }
}

extension Command.Arguments {
    /// Arguments on the command line; none when there is no text.
    init(option: String, _ text: String?) throws {
        guard let text else {
            self = .positional([])
            return
        }
        switch try JSONArgument.parse(text, option: option) {
        case .array(let values): self = .positional(values)
        case .object(let members): self = .labeled(members)
        case let other:
            throw CommandError(
                .usage, "\(option) must be a JSON array or object, such as '[2,3]'; found \(other.kind)")
        }
    }
}
