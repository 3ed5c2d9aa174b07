extension Store.Transaction {
    /// The marker in the state file, with the commits that are counted in the inbox; nil when its row is not intact.
    func marker() throws -> StateMarker? {
        let markers = try database.rows("SELECT identity, commits, row_digest FROM marker") { row in
            let marker = StateMarker(
                identity: row.bytes("identity") ?? [], commits: row.integer("commits"), epoch: 0)
            return marker.rowDigest == row.integer("row_digest") && marker.isPossible ? marker : nil
        }
        guard markers.count == 1, var marker = markers[0] else { return nil }
        // An older version counted none there.
        let stamps = "SELECT count(*) FROM pragma_table_info('inbox') WHERE name = 'stored'"
        guard try database.integer(stamps) > 0 else { return marker }
        // The newest first: most of the others are lower then.
        try database.eachRow(
            "SELECT stored FROM inbox WHERE stored > ? ORDER BY seq DESC", [.integer(marker.stamp)]
        ) { row in
            marker.count(stamp: row.integer("stored"))
            return true
        }
        return marker
    }

    /// Writes the whole row, so that a log of another state file brings that one's identity along.
    func save(_ marker: StateMarker) throws {
        try database.run(
            "UPDATE marker SET identity = ?, commits = ?, row_digest = ?",
            [.blob(marker.identity), .integer(marker.commits), .integer(marker.rowDigest)])
    }
}
