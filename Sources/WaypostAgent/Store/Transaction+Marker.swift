extension Store.Transaction {
    /// The marker in the state file; nil when its row is not intact.
    func marker() throws -> StateMarker? {
        let markers = try database.rows("SELECT identity, commits, row_digest FROM marker") { row in
            let marker = StateMarker(
                identity: row.bytes("identity") ?? [], commits: row.integer("commits"), epoch: 0)
            return marker.rowDigest == row.integer("row_digest") && marker.isPossible ? marker : nil
        }
        return markers.count == 1 ? markers[0] : nil
    }

    /// Counts the commit that this is part of.
    ///
    /// The whole row, so that a log of another state file brings that one's identity along.
    ///
    /// - Returns: its number.
    func count(after marker: StateMarker) throws -> Int64 {
        var marker = marker
        marker.commits += 1
        try database.run(
            "UPDATE marker SET identity = ?, commits = ?, row_digest = ?",
            [.blob(marker.identity), .integer(marker.commits), .integer(marker.rowDigest)])
        return marker.commits
    }
}
