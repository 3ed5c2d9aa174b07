import ArgumentParser
import Waypost

struct ResolveCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Find out where a URL would lead; nothing is opened, no broker is needed.",
        discussion: """
            With --cases, reads cases, one JSON object a line, and prints one answer a line in the same order, so \
            that a team keeps its URL contract as a file. A case has "open", and as it needs "id", "routes" \
            (patterns), "priorities", "params", "maps" (patches, one after the other), "dialect" and "config" \
            (webPath, host, allowedSchemes); what it leaves out comes from the options. An answer has "route", \
            "params", "url", "hops", "presentation" and "error". A case with "expect" is compared, key by key, with \
            its answer, which then has "pass"; the command ends with 1 when one failed.

            Examples:
              waypost resolve --demo 'scheme://router/user/7?from=menu'
              waypost resolve --routes routes.json --map map.json --json scheme://router/demo
              waypost resolve --routes keys.json --dialect reerRouter --param id=1 app://user/profile
              waypost resolve --routes routes.json --cases contract.jsonl
              echo '{"routes":["a://b/:c"],"open":"a://b/1","expect":{"route":"a://b/:c"}}' | waypost resolve --cases -
            """)

    @Argument(help: "The URL.")
    var url: String?

    @Option(help: ArgumentHelp("Cases to answer, JSON Lines; - is standard input.", valueName: "file"))
    var cases: String?

    @OptionGroup(title: "What")
    var source: RouteSource

    @Option(
        name: .customLong("param"), parsing: .singleValue,
        help: ArgumentHelp("A parameter as text; repeat it for more.", valueName: "key=value"))
    var pairs: [String] = []

    @Option(
        name: .customLong("params"), help: ArgumentHelp("Parameters as a JSON object.", valueName: "json"))
    var object: String?

    @OptionGroup
    var output: OutputOptions

    @OptionGroup(title: "Router")
    var router: RouterOptions

    func validate() throws {
        guard (url == nil) != (cases == nil) else {
            throw ValidationError("name a URL, or a file of cases with --cases")
        }
        if url != nil { try source.validateGiven() }
        guard cases == nil || (pairs.isEmpty && object == nil) else {
            throw ValidationError("with --cases, parameters stand in the cases")
        }
        guard cases != "-" || !([source.routes].compactMap(\.self) + source.maps).contains("-") else {
            throw ValidationError("only one file can be standard input")
        }
    }

    func perform() async throws {
        if let url {
            try resolve(url)
        } else if let cases {
            let defaults = try ResolveDefaults(source, router)
            guard try CaseRun(defaults).answer(cases) else { throw Exit.failed }
        }
    }

    private func resolve(_ url: String) throws {
        let router = try source.router(try router.setup().configuration)
        let parameters = try JSONArgument.parameters(object, pairs)
        let resolution = router.resolve(url, parameters: parameters)
        if output.isJSON {
            var answer = ResolveAnswer(resolution).writer(for: nil)
            if let name = resolution.className { answer.member("class", name) }
            if let method = resolution.method { answer.member("method", method.name) }
            if let error = resolution.error { answer.member("nearest", error.nearest) }
            answer.endObject()
            Terminal.print(bytes: answer.bytes)
        } else {
            for line in ResolutionText.lines(resolution, output.style) { Terminal.print(line) }
        }
        guard resolution.error == nil else { throw Exit.failed }
    }
}
