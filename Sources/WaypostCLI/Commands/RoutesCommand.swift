public import ArgumentParser
public import Waypost

struct RoutesCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "routes",
        abstract:
            "Write out routes, with maps laid over them: for people, for programs, as a graph, as Swift.",
        discussion: """
            json and plist are TheRouter's forms; swift writes constants, so that callers hold no paths; dot is a \
            Graphviz graph with the redirects drawn. What a running agent has is on its topic routes.

            Examples:
              waypost routes --demo
              waypost routes --routes routes.json --map map.json --format json
              waypost routes --routes routes.json --format swift > Sources/App/RouteKeys.swift
              waypost routes --demo --map map.json --format dot | dot -Tsvg > routes.svg
            """)

    @OptionGroup(title: "What")
    var source: RouteSource

    @Option(
        help: ArgumentHelp(
            "How: \(RouteExportFormat.allCases.map(\.rawValue).joined(separator: ", ")).", valueName: "form"))
    var format = RouteExportFormat.markdown

    @OptionGroup
    var output: OutputOptions

    @OptionGroup(title: "Router")
    var router: RouterOptions

    func validate() throws { try source.validateGiven() }

    func perform() async throws {
        let router = try source.router(try router.setup().configuration)
        let text = router.export.text(output.isJSON ? .json : format)
        // The text ends with a line feed of its own.
        Terminal.print(text.dropLast())
    }
}

extension RouteExportFormat: ExpressibleByArgument {}
