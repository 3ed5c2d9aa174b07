/// Names that somebody may have meant instead of one that does not exist.
package enum NearestNames {
    /// The names with the smallest edit distance, best first; nothing when none is near.
    ///
    /// Both lengths are cut at 64 bytes, so that a stranger's long name costs no more than a short one.
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

    private static func distance(_ first: [UInt8], _ second: [UInt8]) -> Int {
        // A beginning that was left unfinished is as near as one slip.
        if !first.isEmpty, second.starts(with: first) { return 1 }
        var row = Array(0...second.count)
        for (line, byte) in first.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for (column, other) in second.enumerated() {
                let above = row[column + 1]
                row[column + 1] = min(above + 1, row[column] + 1, diagonal + (byte == other ? 0 : 1))
                diagonal = above
            }
        }
        return row[second.count]
    }
}
