internal import CPathScan

/// Names that are similar to one that does not exist, and how a person is asked about them.
package enum NearestNames {
    /// The names with the smallest edit distance, best first; none when all are too different.
    ///
    /// Only the first 64 bytes of each count, so that a long name from outside costs no more than a short one.
    ///
    /// - Parameter slips: how many bytes may differ; half of those that the name has unless given.
    package static func find(
        _ name: String, among names: some Sequence<String>, limit: Int = 3, slips: Int? = nil
    ) -> [String] {
        let wanted = Array(name.lowercased().utf8.prefix(64))
        let farthest = slips ?? max(2, wanted.count / 2)
        return
            names
            .map { (name: $0, distance: distance(wanted, Array($0.lowercased().utf8.prefix(64)))) }
            .filter { $0.distance <= farthest }
            .sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }
            .prefix(limit)
            .map(\.name)
    }

    /// The names, and the warnings, that are shown; an agent sends fewer.
    package static let maximum = 10

    /// Those of the first names that the detail does not contain: that of a missing route names its neighbours.
    package static func unnamed(_ names: [String], in detail: String) -> [String] {
        // Not by `contains`: among characters it takes seconds for 64 KiB of flags.
        names.prefix(maximum).filter { !contains(detail, $0) }
    }

    private static func contains(_ text: String, _ name: String) -> Bool {
        var (text, name) = (text, name)
        return text.withUTF8 { text in
            name.withUTF8 { name in
                guard let wanted = name.baseAddress, !name.isEmpty else { return true }
                guard let start = text.baseAddress else { return false }
                return waypost_find(start, text.count, wanted, name.count) < text.count
            }
        }
    }

    /// `; did you mean A or B?`; empty without names.
    package static func question(_ names: [String]) -> String {
        names.isEmpty ? "" : "; did you mean \(names.joined(separator: " or "))?"
    }

    private static func distance(_ name: [UInt8], _ known: [UInt8]) -> Int {
        // A beginning that was left unfinished is as near as one slip.
        !name.isEmpty && known.starts(with: name) ? 1 : EditDistance.between(name, known)
    }
}

/// The edit distance of Levenshtein, on bytes.
enum EditDistance {
    static func between(_ one: [UInt8], _ other: [UInt8]) -> Int {
        if one == other { return 0 }
        return withUnsafeTemporaryAllocation(of: Int.self, capacity: other.count + 1) { row in
            for position in row.indices { row[position] = position }
            for (index, byte) in one.enumerated() {
                var diagonal = row[0]
                row[0] = index + 1
                for position in other.indices {
                    let substituted = diagonal + (byte == other[position] ? 0 : 1)
                    diagonal = row[position + 1]
                    row[position + 1] = min(substituted, diagonal + 1, row[position] + 1)
                }
            }
            return row[other.count]
        }
    }
}
