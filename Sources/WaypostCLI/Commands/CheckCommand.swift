import ArgumentParser
import Waypost
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
              waypost check --demo --map all.json --map kiosk.json --json | jq -r '.[].detail'
            """)

    @OptionGroup(title: "What")
    var source: RouteSource

    @Flag(help: "Exit with 1 also for what is only good to know.")
    var strict = false

    @OptionGroup
    var output: OutputOptions

    @OptionGroup(title: "Router")
    var router: RouterOptions

    func validate() throws { try source.validateGiven() }

    func perform() async throws {
        let routes = try source.list()
        let (layers, refused) = try layers()
        var report = Router.check(
            routes: routes, layers: layers,
            configuration: try router.setup().configuration.withWebRoute(of: routes))
        report.findings += refused
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
