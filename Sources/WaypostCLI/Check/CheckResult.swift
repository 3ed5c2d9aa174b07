import Waypost
import WaypostMessages
import WaypostTools

/// What a check found, in the order of the files.
struct CheckResult {
    /// The files that were checked, in their order.
    let files: [String]
    let findings: [CheckFinding]
    private let routes: Int
    private let entries: Int
    /// The maps of which it is not known how many entries they have.
    private let unreadMaps: Int

    /// - Parameter found: What was found in the files, and in none.
    init(
        routes: RouteFile, file: String?, maps: [MapSource], commands: String?, found: [CheckFinding]
    ) {
        let files = ([file].compactMap(\.self) + maps.map(\.map.name) + [commands].compactMap(\.self))
            .map(FilePlace.name)
        self.files = files
        self.routes = routes.contract.routes.count
        entries = maps.compactMap(\.count).reduce(0, +)
        unreadMaps = maps.count { $0.count == nil }
        let order = Dictionary(files.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        func rank(_ finding: CheckFinding, _ number: Int) -> (Int, Int, Int, Int) {
            let place = finding.place
            return (
                place.map { order[$0.file] ?? files.count } ?? -1, place?.line ?? 0, place?.column ?? 0,
                number
            )
        }
        findings = found.enumerated().map { ($1, rank($1, $0)) }.sorted { $0.1 < $1.1 }.map(\.0)
    }

    var refusals: Int { findings.count(where: \.kind.isRefusal) }
    var problems: Int { findings.count { $0.kind.isMistake && !$0.kind.isRefusal } }
    var notes: Int { findings.count { !$0.kind.isMistake } }

    /// Whether nothing should be done; a note counts only where that is asked for.
    func isGood(strict: Bool) -> Bool { strict ? findings.isEmpty : refusals + problems == 0 }

    /// `203 routes, 300 map entries`.
    var checked: String {
        let unread = unreadMaps == 0 ? "" : ", \(unreadMaps.counted("map")) not read"
        return "\(routes.counted("route")), \(entries.counted("map entry", "map entries"))\(unread)"
    }

    /// `6 refusals, 7 problems`; `no problems` without any.
    var mistakes: String {
        let parts = [(refusals, "refusal"), (problems, "problem")].filter { $0.0 > 0 }
        return parts.isEmpty ? "no problems" : parts.map { $0.0.counted($0.1) }.joined(separator: ", ")
    }

    /// `203 routes, 300 map entries: 6 refusals, 7 problems, 1 note`.
    var summary: String { "\(checked): \(mistakes)\(noted)" }

    /// `, 1 note`; empty without notes.
    var noted: String { notes == 0 ? "" : ", \(notes.counted("note"))" }
}
