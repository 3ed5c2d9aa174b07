package import Waypost

extension StateInspection {
    /// The rows that are shown of one table, the newest.
    private static let maximumRows = 1_000

    /// The tables of an agent that does not run, without what its commands, replies and maps hold.
    ///
    /// - Throws: ``StoreError`` when the file can't be read.
    package static func tables(directory: String) throws(StoreError) -> JSONValue {
        let path = "\(directory)/\(Store.fileName)"
        do {
            let db = try Database(path: path, isReadOnly: true, patience: 2_000)
            let version = try db.integer("PRAGMA user_version")
            var members: [String: JSONValue] = ["schema": .int(Int64(version))]
            // The tables of another version may be others.
            guard version == Schema.version else { return .object(members) }
            for (table, columns) in shown {
                let count = try db.integer("SELECT count(*) FROM \(table)")
                let order = table == "maps" ? "layer" : "seq"
                let rows = try db.rows(
                    "SELECT json_object(\(columns)) AS row FROM \(table) ORDER BY \(order) DESC LIMIT \(maximumRows)"
                ) { try? JSONValue(parsing: Array($0.text("row").utf8), limits: .trustedFile) }
                // A changed byte can make text of a row that is none.
                members[table] = ["count": .int(Int64(count)), "rows": .array(rows.compactMap(\.self))]
            }
            return .object(members)
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(error, path: path, doing: "read the state file")
        }
    }

    /// What is shown of each table: payloads, replies and entries only by their size.
    private static let shown = [
        (
            "inbox",
            """
            'seq', seq, 'topic', topic, 'id', id, 'state', state, 'attempt', attempt, 'trace', trace, 'received', received,
            'expires', expires, 'started', started, 'acknowledged', acknowledged, 'bytes', length(payload),
            'replyBytes', length(reply)
            """
        ),
        ("outbox", "'seq', seq, 'topic', topic, 'sender', sender, 'bytes', length(payload)"),
        ("damaged", "'seq', seq, 'topic', topic, 'bytes', length(payload)"),
        (
            "maps",
            """
            'layer', layer, 'rev', rev, 'floor', rev_floor, 'digest', hex(digest), 'applied', applied, 'expires', expires,
            'author', author, 'signers', signers, 'bytes', bytes, 'changes', changes
            """
        ),
        (
            "map_history",
            """
            'layer', layer, 'rev', rev, 'digest', hex(digest), 'author', author, 'began', began, 'ended', ended, 'bytes', bytes,
            'changes', changes
            """
        ),
        // What the agent published, or would have: it is masked already.
        (
            "failures",
            "'id', id, 'sender', sender, 'last', last, 'report', CASE WHEN json_valid(CAST(payload AS TEXT)) THEN json(CAST(payload AS TEXT)) END"
        ),
    ]
}
