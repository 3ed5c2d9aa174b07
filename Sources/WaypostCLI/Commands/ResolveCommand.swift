import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages
import WaypostTools

struct ResolveCommand: MapAskingCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract:
            "Find out what a URL would open, or a call would run. Nothing is opened; no broker is needed.",
        discussion: """
            With --call it says what a call of a service's method would run, after maps: that method, another, \
            a fixed answer, or why not. With --agent and without routes it asks that agent, whose maps are in force: waypost resolve URL --agent k1.

            With --cases it reads cases, one JSON object per line, and prints one answer per line in the same order: \
            a team can keep its URLs and their targets in a file and check them in CI. A case has "open" and, if \
            needed, "id", "routes" (patterns), "priorities", "params", "maps" (patches, in order), "dialect", \
            "config" (webPath, host, allowedSchemes, ignoresCase) and "client" (agent, build, locale, labels, at); the options apply \
            to what it leaves out. An answer has "route", "params", "url", "hops", "presentation" and "error", and \
            "rules" where map entries have conditions or exceptions, "refused" where maps are refused, and "inactive" where \
            entries do nothing. If a case has "expect", each of its keys is compared \
            with the answer, and the answer has "pass". A member with another name makes the line an error. The exit status is \
            1 when a case failed.

            Examples:
              waypost resolve scheme://router/demo --agent k1
              waypost resolve --call CalculatorService add --agent k1
              waypost resolve --demo 'scheme://router/user/7?from=menu'
              waypost resolve --routes routes.json --map map.json scheme://router/demo
              waypost resolve --routes routes.json --map map.json --agent kiosk-7 \\
                --label region=eu scheme://home
              waypost resolve --routes keys.json --dialect reerRouter --param id=1 \\
                app://user/profile
              waypost resolve --routes routes.json --cases contract.jsonl \\
                --junit contract.xml
              echo '{"routes":["a://b/:c"],"open":"a://b/1","expect":{"url":"a://b/1"}}' \\
                | waypost resolve --cases -
            """)

    @Argument(help: "The URL; with --call the service and the method.")
    var words: [String] = []

    @Flag(help: "What a call would run, and not where a URL leads.")
    var call = false

    private var url: String? { call ? nil : words.first }
    /// The service and the method of --call.
    private var method: RelocationEntry.Method? {
        call && words.count == 2 ? .init(words[0], words[1]) : nil
    }

    @Option(help: ArgumentHelp("A file of cases, JSON Lines; - is standard input.", valueName: "file"))
    var cases: String?

    @Option(
        help: ArgumentHelp(
            "With --cases: also write which cases passed, as JUnit's XML for CI.", valueName: "file"))
    var junit: String?

    @OptionGroup(title: "What") var source: RouteSource

    @Option(
        name: .customLong("param"), parsing: .singleValue,
        help: ArgumentHelp("A parameter as text; may be repeated.", valueName: "key=value"))
    var pairs: [String] = []

    @Option(
        name: .customLong("params"), help: ArgumentHelp("Parameters as a JSON object.", valueName: "json"))
    var object: String?

    @OptionGroup(title: "Client") var client: ClientOptions

    @Option(
        name: .customLong("as-caller"),
        help: ArgumentHelp(
            "Of an agent: where it leads for this sender, for redirects that ask who calls.",
            valueName: "name"))
    var caller: String?

    @OptionGroup(title: "Signing", visibility: .shared) var signing: SignOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Router") var router: RouterOptions

    func validate() throws {
        try NameCheck.check(caller, of: "--as-caller")
        if call {
            guard words.count == 2, cases == nil else {
                throw ValidationError("--call needs a service and a method: --call SERVICE METHOD")
            }
            guard caller == nil else { throw ValidationError("--as-caller is for URLs") }
        } else {
            guard words.count == (cases == nil ? 1 : 0) else {
                throw ValidationError("give a URL, or a file of cases with --cases")
            }
        }
        guard junit == nil || cases != nil else { throw ValidationError("--junit is for --cases") }
        if cases == nil, askedAgent == nil { try source.validateGiven() }
        guard cases == nil || (pairs.isEmpty && object == nil) else {
            throw ValidationError("with --cases, the parameters are in the cases")
        }
        guard cases != "-" || !([source.routes].compactMap(\.self) + source.maps).contains("-") else {
            throw ValidationError("only one file can be standard input")
        }
    }

    /// The agent that is asked; nil when the routes are here.
    private var askedAgent: String? {
        let isAlone =
            !source.isGiven && source.maps.isEmpty && client.at == nil && client.build == nil
            && client.locale == nil && client.labels.isEmpty
        return isAlone ? client.agent : nil
    }

    func perform() async throws {
        if cases == nil, let agent = askedAgent {
            try await resolve(at: agent)
        } else if cases == nil {
            try resolveHere()
        } else if let cases {
            var run = CaseFile(cases, try defaults(), reports: junit != nil)
            let isGood = try run.answer()
            if let junit {
                try OutputFile.write(Array("\(run.report.text)\n".utf8), to: junit, purpose: "JUnit report")
            }
            guard isGood else { throw Exit.failed }
        }
    }

    private func resolve(at agent: String) async throws {
        let parameters = try JSONArgument.parameters(object, pairs)
        try NameCheck.check(agent, of: "--agent")
        let maps = try await maps(of: .agent(agent))
        let found =
            if let method {
                try await maps.resolve(calls: [method], parameters: parameters)
            } else {
                try await maps.resolve([url ?? ""], parameters: parameters, as: caller)
            }
        guard let resolved = found.first else { return }
        if output.isJSON {
            Terminal.print(json: resolved.json)
        } else {
            for line in ResolvedText.lines(resolved, output.style) { Terminal.print(line) }
        }
        guard resolved.failure == nil else { throw Exit.failed }
    }

    /// What the options give to cases that leave it out.
    private func defaults() throws -> ResolveDefaults {
        let setup = try router.setup()
        var contract = source.isGiven ? try source.file().contract : nil
        if let routes = contract?.routes {
            contract?.routes = RouteFile.known(routes, setup.configuration)
        }
        return ResolveDefaults(
            setup, try client.setup(), contract: contract, layers: try source.layers())
    }

    private func resolveHere() throws {
        var configuration = try router.setup().configuration
        configuration.relocationContext = try client.setup().context
        let router = try source.router(configuration)
        let parameters = try JSONArgument.parameters(object, pairs)
        let resolution =
            if let method {
                router.resolveCall(method.service, method.name, arguments: .labeled(parameters))
            } else {
                router.resolve(url ?? "", parameters: parameters)
            }
        if output.isJSON {
            var answer = ResolveAnswer(resolution).writer(for: nil)
            if let name = resolution.className { answer.member("class", name) }
            if let method = resolution.method { answer.member("method", method.name) }
            if let service = resolution.service { answer.member("service", service) }
            if let fixed = resolution.answer { answer.member("answer", fixed.text) }
            if !resolution.interceptors.isEmpty { answer.member("interceptors", resolution.interceptors) }
            if let error = resolution.error { answer.member("nearest", error.nearest) }
            answer.endObject()
            Terminal.print(json: answer.bytes)
        } else {
            for line in ResolutionText.lines(resolution, output.style) { Terminal.print(line) }
        }
        guard resolution.error == nil else { throw Exit.failed }
    }
}
