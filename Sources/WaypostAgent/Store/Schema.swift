import CSQLite

/// The tables of the state file, and how those of an earlier release become these.
enum Schema {
    /// The version of the first release, kept in SQLite's `user_version`; builds before it counted up to here.
    static let first = 9
    /// The version that this build writes.
    static let version = first + steps.count

    /// What SQLite's `application_id` is in a state file: WYPT.
    static let application = 0x5759_5054

    /// Brings a database up to the last version, step by step; one that is newer, or of no release, is refused
    /// untouched.
    ///
    /// - Parameter steps: what leads from each version to the next, from ``first`` on.
    static func migrate(_ db: Database, path: String, by steps: [String] = Schema.steps) throws {
        let found = try db.integer("PRAGMA user_version")
        let version = first + steps.count
        try check(found, against: version, path)
        guard found < version else { return }
        for (name, function) in functions { try db.add(function: name, function) }
        defer { for name in functions.keys { db.remove(function: name) } }
        if found == 0 { try db.execute(beginning) }
        for step in max(found, first)..<version { try change(db, path, from: step, by: steps[step - first]) }
        try db.execute("PRAGMA user_version = \(version)")
    }

    /// Refuses what this build can't go on with; 0 is a database in which nothing is stored yet.
    static func check(_ found: Int, against version: Int = Schema.version, _ path: String) throws(StoreError)
    {
        guard found <= version else {
            throw StoreError(.newerSchema(found: found, supported: version), path: path, detail: "")
        }
        guard found == 0 || found >= first else {
            throw StoreError(
                .olderSchema(found: found, supported: first), path: path,
                detail: "its schema \(found) is of a build before the first release")
        }
    }

    private static func change(_ db: Database, _ path: String, from version: Int, by step: String) throws {
        do {
            try db.execute(step)
        } catch {
            guard error.primaryCode == SQLITE_ERROR else { throw error }
            // A table or column is not as that version made it.
            throw StoreError(
                .corrupt, path: path,
                detail: "bring its tables from schema \(version) to \(version + 1): \(error.message)")
        }
    }

    /// Whether tables and columns are those of this version: a changed byte can rename one.
    static func isIntact(_ db: Database) throws -> Bool {
        let found = try db.rows(
            """
            SELECT t.name || ': ' || group_concat(c.name, ' ') AS columns
            FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table' GROUP BY t.name
            """
        ) { $0.text("columns") }
        return Set(found) == tables
    }

    /// The tables that the steps lead to, with their columns in order.
    private static let tables: Set = [
        "damaged: seq topic payload",
        "failures: seq id sender last payload row_digest",
        "inbox: seq topic id digest payload correlation trace received expires keep_until "
            + "row_digest state attempt reply reply_digest started acknowledged stored",
        "marker: one identity commits row_digest",
        "map_history: seq layer rev digest author began ended bytes changes entries row_digest entries_digest",
        "maps: layer rev rev_floor digest applied expires entries signers key_digest row_digest author bytes "
            + "changes",
        "meta: key value row_digest",
        "outbox: seq topic payload sender row_digest",
        "sqlite_sequence: name seq",
    ]

    /// What leads from a version to the next, from ``first`` on: one for each change since the first release.
    ///
    /// With a new one, a file of the version before goes into `Tests/WaypostAgentTests/States`, where a test opens it.
    private static let steps: [String] = []

    /// The tables of the first release.
    private static let beginning = """
        -- Commands, from RECEIVED to the end of the time in which a repeated id must be recognised. The state is a word,
        -- because a changed byte of a number would be another state: received, scheduled, held, resumed, started,
        -- finished, acknowledged. Each row has a digest; `stored` is that of a CommitNumber.
        CREATE TABLE inbox(
            seq INTEGER PRIMARY KEY,
            topic TEXT NOT NULL,
            id TEXT NOT NULL,
            digest BLOB NOT NULL,
            payload BLOB,
            correlation BLOB,
            trace TEXT,
            received INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            keep_until INTEGER NOT NULL,
            row_digest INTEGER NOT NULL,
            state TEXT NOT NULL,
            attempt INTEGER NOT NULL DEFAULT 0,
            reply BLOB,
            reply_digest INTEGER,
            started INTEGER,
            acknowledged INTEGER,
            stored INTEGER
        );
        CREATE UNIQUE INDEX inbox_key ON inbox(topic, id);
        -- What must reach the broker and belongs to no stored command: failure reports. sender: who caused the report;
        -- NULL when no one did.
        CREATE TABLE outbox(
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            topic TEXT NOT NULL,
            payload BLOB NOT NULL,
            sender TEXT,
            row_digest INTEGER
        );
        -- Reports whose row no longer fits its digest; some are kept for a person to look at.
        CREATE TABLE damaged(
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            topic TEXT,
            payload BLOB
        );
        -- The last failures, for who asks later.
        CREATE TABLE failures(
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL,
            sender TEXT,
            last INTEGER NOT NULL,
            payload BLOB NOT NULL,
            row_digest INTEGER
        );
        CREATE UNIQUE INDEX failures_id ON failures(id);
        CREATE INDEX failures_sender ON failures(sender);
        -- The last good document of each layer; rev_floor outlives a document without a revision. key_digest: over what
        -- must be known of a layer even when its document is damaged.
        CREATE TABLE maps(
            layer TEXT PRIMARY KEY,
            rev INTEGER,
            rev_floor INTEGER NOT NULL DEFAULT 0,
            digest BLOB NOT NULL,
            applied INTEGER NOT NULL,
            expires INTEGER,
            entries BLOB NOT NULL,
            signers TEXT NOT NULL DEFAULT '',
            key_digest INTEGER,
            row_digest INTEGER,
            author TEXT,
            bytes INTEGER,
            changes TEXT
        ) WITHOUT ROWID;
        -- The documents that were in force before.
        CREATE TABLE map_history(
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            layer TEXT NOT NULL,
            rev INTEGER,
            digest BLOB NOT NULL,
            author TEXT,
            began INTEGER NOT NULL,
            ended INTEGER NOT NULL,
            bytes INTEGER,
            changes TEXT,
            entries BLOB NOT NULL,
            row_digest INTEGER NOT NULL,
            entries_digest INTEGER NOT NULL
        );
        CREATE TABLE meta(
            key TEXT PRIMARY KEY,
            value NOT NULL,
            row_digest INTEGER
        ) WITHOUT ROWID;
        -- See StateMarker. One row, and nothing else in its page.
        CREATE TABLE marker(
            one INTEGER PRIMARY KEY CHECK(one = 1),
            identity BLOB NOT NULL,
            commits INTEGER NOT NULL,
            row_digest INTEGER NOT NULL
        );
        INSERT INTO marker VALUES(1, randomblob(\(StateMarker.identityBytes)), 0, 0);
        UPDATE marker SET row_digest = row_digest(identity, commits);
        PRAGMA application_id = \(application);
        """

    /// What the statements above call.
    private static let functions: [String: @Sendable ([SQLValue]) -> SQLValue] = [
        "row_digest": { .integer(RowDigest.of($0)) }
    ]
}
