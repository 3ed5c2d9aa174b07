import Waypost
import WaypostTools

/// A finding and its place in the files that were given.
struct CheckFinding {
    let finding: CheckReport.Finding
    /// Nil for what is in no file.
    let place: FilePlace?
    /// The other places that it is about.
    let others: [FilePlace]
    /// Its entry, from 1, and how many the map has.
    private let entry: (number: Int, count: Int)?

    var kind: CheckReport.Finding.Kind { finding.kind }

    init(
        _ finding: CheckReport.Finding, at place: FilePlace?, others: [FilePlace] = [], entries: Int = 0
    ) {
        self.finding = finding
        self.place = place
        self.others = others
        entry = if case .entry(_, let index, _) = finding.place { (index + 1, entries) } else { nil }
    }

    /// The entry by its number, from 1; nil when it is about none.
    var number: Int? { entry?.number }

    /// What it says, without file and kind: `entry 3 of 300 (app://old): no route matches app://gone`.
    var message: String {
        guard let entry else { return finding.sentence }
        let subject = finding.entrySubject.map { $0.isEmpty ? "" : " (\($0))" } ?? ""
        // The routes name their lines themselves.
        let more = others.count > 3 ? " and \(others.count - 3) more" : ""
        let see =
            others.isEmpty
            ? "" : "; see \(others.prefix(3).map(\.description).joined(separator: ", "))\(more)"
        return "entry \(entry.number) of \(entry.count)\(subject): \(finding.reason)\(see)"
    }

    /// `{"kind","subject","detail","mistake","entry","file","line","column","others"}`.
    var json: JSONValue {
        var members = finding.json
        if let place { members.merge(Self.members(place)) { mine, _ in mine } }
        if !others.isEmpty { members["others"] = .array(others.map { .object(Self.members($0)) }) }
        return .object(members)
    }

    private static func members(_ place: FilePlace) -> [String: JSONValue] {
        var members: [String: JSONValue] = ["file": .string(place.file)]
        if let line = place.line { members["line"] = .int(Int64(line)) }
        if let column = place.column { members["column"] = .int(Int64(column)) }
        return members
    }
}

extension CheckFinding: CustomStringConvertible {
    /// `maps/off.json:12:5: deadRedirect: entry 4 of 9 (app://old): no route matches app://gone`.
    var description: String { "\(place.map { "\($0): " } ?? "")\(kind.rawValue): \(message)" }
}
