import ArgumentParser
import Waypost
import WaypostAgent
import WaypostBackend
import WaypostMessages
import WaypostTools

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
              waypost check --routes contract-5.4.json --since contract-5.3.json
            """)

    @OptionGroup(title: "What") var source: RouteSource

    @Option(
        help: ArgumentHelp(
            "Commands of a backend as they are sent, JSON Lines; each is checked against the routes and services.",
            valueName: "file"))
    var commands: String?

    @Option(
        help: ArgumentHelp(
            "What callers know, a list of routes or a contract: what breaks them is a mistake, what else is different a note.",
            valueName: "file"), completion: .file(extensions: ["json"]))
    var since: String?

    @Flag(help: "Exit with 1 also for notes.")
    var strict = false

    @Option(
        help: ArgumentHelp(
            "How to print: \(CheckFormat.allCases.map(\.rawValue).joined(separator: ", ")).",
            discussion: "Default: text; json with --json.", valueName: "form"))
    var format: CheckFormat?

    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Router") var router: RouterOptions

    func validate() throws {
        try source.validateGiven()
        guard !output.isJSON || format ?? .json == .json else {
            throw ValidationError("use --json or --format, not both")
        }
        let files = [source.routes, since, commands].compactMap(\.self) + source.maps
        guard files.count(where: { $0 == "-" }) < 2 else {
            throw ValidationError("only one file can be standard input")
        }
    }

    func perform() async throws {
        let list = try source.file()
        let contract = list.contract
        let maximum = AgentLimits().mapBytes
        let maps = try source.maps.map { file in
            MapSource(
                try InputFile.read(file, purpose: "map file"), of: file, maximumBytes: maximum)
        }
        let configuration = try router.setup().configuration.completed(by: contract)
        let earlier = try since.map { try RouteFile($0).contract }
        var found = CheckFinding.all(in: list, maps, configuration, since: earlier)
        if let commands {
            let check = CommandCheck(
                try AgentContract(contract, configuration, maps.map(\.map.layer)),
                hasServices: !contract.services.isEmpty)
            found += try check.findings(commands)
        }
        let result = CheckResult(
            routes: list, file: source.routes, maps: maps, commands: commands, found: found)
        (format ?? (output.isJSON ? .json : .text)).show(result, output.style, strict: strict)
        guard result.isGood(strict: strict) else { throw Exit.failed }
    }
}

extension CommandCheck {
    /// What is wrong, or doubtful, about the commands of a file, one JSON object a line, in the order of the lines.
    func findings(_ file: String) throws(CommandError) -> [CheckFinding] {
        let lines = try LineReader(file, purpose: "commands file")
        var findings: [CheckFinding] = []
        while let batch = try lines.next() {
            for line in batch {
                let place = FilePlace(file: FilePlace.name(file), line: line.number)
                findings += self.findings(line.isWhole ? Array(line.bytes) : nil, at: place.description)
                    .map { CheckFinding($0, at: place) }
            }
        }
        return findings
    }
}
