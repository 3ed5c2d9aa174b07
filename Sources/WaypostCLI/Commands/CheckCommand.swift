import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

struct CheckCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check routes and maps before they go to agents; for CI.",
        discussion: """
            Finds routes that conflict, invalid patterns, routes that no URL reaches, redirects in a circle or to \
            nothing, unknown classes, deletions of unknown paths, conditions that never hold or that hold together, \
            and entries that an agent would refuse. The exit status is 0 when nothing is wrong, else 1. What is only \
            good to know is listed too, for instance a route that a redirect leads away from; with --strict the exit \
            status is 1 then as well.

            Examples:
              waypost check --routes routes.json
              waypost check --routes routes.json --map map.json
              waypost check --routes routes.json --map map.json --strict
              waypost check --demo --map all.json --map kiosk.json --json \\
                | jq -r '.[].detail'
              waypost describe --agent k1 --json > contract.json
              waypost check --routes contract.json --commands backend.jsonl
            """)

    @OptionGroup(title: "What")
    var source: RouteSource

    @Option(
        help: ArgumentHelp(
            "Commands of a backend as they are sent, JSON Lines; each is held against the routes and services.",
            valueName: "file"))
    var commands: String?

    @Flag(help: "Exit with 1 also for what is only good to know.")
    var strict = false

    @OptionGroup
    var output: OutputOptions

    @OptionGroup(title: "Router")
    var router: RouterOptions

    func validate() throws {
        try source.validateGiven()
        guard commands != "-" || !([source.routes].compactMap(\.self) + source.maps).contains("-") else {
            throw ValidationError("only one file can be standard input")
        }
    }

    func perform() async throws {
        let list = try source.file()
        let contract = list.contract
        let routes = contract.routes
        let (layers, refused) = try layers()
        let configuration = try router.setup().configuration.completed(by: contract)
        var report = Router.check(
            routes: routes, layers: layers, configuration: configuration, place: list.place)
        report.findings += list.notes + refused
        if let commands {
            let check = try ContractCheck(contract, configuration, layers)
            report.findings += try CommandCheck(check, hasServices: !contract.services.isEmpty).findings(
                commands)
        }
        if output.isJSON {
            Terminal.print(json: report.json)
        } else {
            let entries = layers.map(\.entries.count).reduce(0, +)
            for finding in report.findings { Terminal.print(line(finding)) }
            let mistakes = report.findings.count(where: \.kind.isMistake)
            let notes = report.findings.count - mistakes
            let summary: TerminalText =
                mistakes == 0 ? output.style.green("no problems") : "\(mistakes.counted("problem"))"
            let more = notes == 0 ? "" : ", \(notes.counted("note"))"
            Terminal.print(
                "\(routes.count.counted("route")), \(entries.counted("map entry", "map entries")): \(summary)\(more)"
            )
        }
        guard strict ? report.findings.isEmpty : report.isClean else { throw Exit.failed }
    }

    /// The maps, and those that an agent would refuse before it looks at the routes.
    private func layers() throws -> ([RelocationLayer], [CheckReport.Finding]) {
        var layers: [RelocationLayer] = []
        var refused: [CheckReport.Finding] = []
        for file in source.maps {
            do {
                layers.append(RelocationLayer(name: file, entries: try MapFile.entries(file)))
            } catch let refusal as Rejection {
                let detail = "\(file): \(refusal.code): \(refusal.detail)"
                refused.append(.init(kind: .refused, subject: file, detail: detail))
            }
        }
        return (layers, refused)
    }

    private func line(_ finding: CheckReport.Finding) -> TerminalText {
        let kind = TerminalText(finding.kind.rawValue)
        return "\(finding.kind.isMistake ? output.style.red(kind) : kind): \(finding.detail)"
    }
}
