import ArgumentParser
import WaypostMessages

struct OpenCommand: RequestVerb {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Open a URL in an agent's router and print the result.",
        discussion: """
            Examples:
              waypost open 'scheme://router/demo?id=2' --agent k1
              waypost open scheme://router/demo --agent k1 --param name=AKyS --json
              waypost open scheme://router/demo --agent k1 \\
                --params '{"id":2,"tags":["a"]}'
              waypost open scheme://router/demo --group lobby --wait 3
              waypost open scheme://router/demo --agent k1 --window '02:00-04:00'
              waypost open scheme://router/demo --local --agent k1    # past the broker
            """)

    @Argument(help: "The URL; a service URL becomes a call.", completion: .routes)
    var url: String

    @Option(
        name: .customLong("param"), parsing: .singleValue,
        help: ArgumentHelp("A parameter as text; may be repeated.", valueName: "key=value"),
        completion: .parameters)
    var pairs: [String] = []

    @Option(
        name: .customLong("params"), help: ArgumentHelp("Parameters as a JSON object.", valueName: "json"))
    var object: String?

    @Flag(
        name: .customLong("check"), inversion: .prefixedNo,
        help: "Check it against the agent's routes and services before sending it.")
    var isChecked = true

    func operation() throws -> Command.Operation {
        .open(url: url, parameters: try JSONArgument.parameters(object, pairs))
    }
}
