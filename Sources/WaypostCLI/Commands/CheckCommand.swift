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
            nothing, origins that take no URL, resets of nothing, unknown classes, deletions of unknown paths, \
            conditions that can never be true, or that overlap, and entries that an agent would refuse. Maps are read \
            to the end. Each finding is named by file, line and column, and by its entry, counted from 1. The exit \
            status is 0 when nothing is wrong, else 1. Notes are listed too, for instance a route that a redirect \
            leads away from; with --strict the exit status is 1 then as well.

            Examples:
              waypost check --routes routes.json
              waypost check --routes routes.json --map map.json
              waypost check --routes routes.json --map map.json --strict
              waypost check --routes routes.json --map map.json --format sarif > check.sarif
              waypost check --demo --map all.json --map kiosk.json --json \\
                | jq -r '.[].detail'
              waypost describe --agent k1 --json > contract.json
              waypost check --routes contract.json --commands backend.jsonl
            """)

    @OptionGroup(title: "What")
    var source: RouteSource

    @Option(
        help: ArgumentHelp(
            "Commands of a backend as they are sent, JSON Lines; each is checked against the routes and services.",
            valueName: "file"))
    var commands: String?

    @Flag(help: "Exit with 1 also for notes.")
    var strict = false

    @Option(
        help: ArgumentHelp(
            "How to print: \(CheckFormat.allCases.map(\.rawValue).joined(separator: ", ")).",
            discussion: "Default: text; json with --json.", valueName: "form"))
    var format: CheckFormat?

    @OptionGroup
    var output: OutputOptions

    @OptionGroup(title: "Router")
    var router: RouterOptions

    func validate() throws {
        try source.validateGiven()
        guard !output.isJSON || format ?? .json == .json else {
            throw ValidationError("use --json or --format, not both")
        }
        guard commands != "-" || !([source.routes].compactMap(\.self) + source.maps).contains("-") else {
            throw ValidationError("only one file can be standard input")
        }
    }

    func perform() async throws {
        let list = try source.file()
        let contract = list.contract
        var maps: [MapSource] = []
        for file in source.maps { maps.append(try MapSource(file)) }
        let configuration = try router.setup().configuration.completed(by: contract)
        let report = Router.check(
            routes: contract.routes, maps: maps.map(\.map), configuration: configuration, place: list.place)
        var found = list.notes.map { CheckFinding($0.finding, at: $0.place) } + maps.flatMap(\.findings)
        found += report.findings.map { located($0, list, maps) }
        if let commands {
            let check = CommandCheck(
                try ContractCheck(contract, configuration, maps.map(\.map.layer)),
                hasServices: !contract.services.isEmpty)
            found += try check.findings(commands)
        }
        let result = CheckResult(
            routes: list, file: source.routes, maps: maps, commands: commands, found: found)
        (format ?? (output.isJSON ? .json : .text)).show(result, output.style, strict: strict)
        guard result.isGood(strict: strict) else { throw Exit.failed }
    }

    private func located(
        _ finding: CheckReport.Finding, _ list: RouteFile, _ maps: [MapSource]
    ) -> CheckFinding {
        func source(_ place: CheckReport.Finding.Place) -> MapSource? {
            switch place {
            case .route: nil
            case .map(let layer, _), .entry(let layer, _, _): maps.first { $0.map.name == layer }
            }
        }
        func filePlace(_ place: CheckReport.Finding.Place) -> FilePlace? {
            if case .route(let index) = place {
                list.filePlace(index)
            } else {
                source(place)?.place(of: place)
            }
        }
        return CheckFinding(
            finding, at: finding.place.flatMap(filePlace), others: finding.others.compactMap(filePlace),
            entries: finding.place.flatMap(source)?.count ?? 0)
    }
}
