import CSQLite
import Waypost
import WaypostMessages

/// The tables of the state file and how older ones become these.
enum Schema {
    /// The version that this build writes, kept in SQLite's `user_version`.
    static let version = steps.count
    /// The first version that has the marker.
    static let versionWithMarker = 6

    /// What SQLite's `application_id` is in a state file: WYPT.
    static let application = 0x5759_5054

    /// Brings a database up to `version`; an older one step by step, a newer one is refused untouched.
    static func migrate(_ db: Database, path: String, to version: Int = Schema.version) throws {
        let found = try db.integer("PRAGMA user_version")
        guard found <= version else {
            throw StoreError(.newerSchema(found: found, supported: version), path: path, detail: "")
        }
        guard found < version else { return }
        for (name, function) in functions { try db.add(function: name, function) }
        defer { for name in functions.keys { db.remove(function: name) } }
        for step in found..<version { try change(db, path, by: step) }
        try db.execute("PRAGMA user_version = \(version)")
    }

    private static func change(_ db: Database, _ path: String, by step: Int) throws {
        do {
            try db.execute(steps[step])
        } catch {
            guard error.primaryCode == SQLITE_ERROR else { throw error }
            // A table or column is not as that version made it.
            throw StoreError(
                .corrupt, path: path,
                detail: "bring its tables from schema \(step) to \(step + 1): \(error.message)")
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

    /// `steps[n]` leads from version n to n + 1.
    private static let steps = [
        """
        -- Commands, from RECEIVED to the end of the time in which a repeated id must be recognised.
        -- state: 0 received, 1 started, 2 result stored, 3 reply acknowledged.
        CREATE TABLE inbox(
            seq INTEGER PRIMARY KEY,
            topic TEXT NOT NULL,
            id TEXT NOT NULL,
            digest BLOB NOT NULL,
            payload BLOB,
            properties BLOB,
            received INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            keep_until INTEGER NOT NULL,
            state INTEGER NOT NULL,
            attempt INTEGER NOT NULL DEFAULT 0,
            reply BLOB
        );
        CREATE UNIQUE INDEX inbox_key ON inbox(topic, id);
        -- What must reach the broker and belongs to no stored command: failure reports.
        CREATE TABLE outbox(
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            topic TEXT NOT NULL,
            payload BLOB NOT NULL,
            properties BLOB
        );
        -- The last good document of each layer; rev_floor outlives a document without a revision.
        CREATE TABLE maps(
            layer TEXT PRIMARY KEY,
            rev INTEGER,
            rev_floor INTEGER NOT NULL DEFAULT 0,
            digest BLOB NOT NULL,
            applied INTEGER NOT NULL,
            expires INTEGER,
            entries BLOB NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE meta(
            key TEXT PRIMARY KEY,
            value NOT NULL
        ) WITHOUT ROWID;
        """,
        // An agent may be called `patch`, so the layer of patches has a key that is no agent's name.
        "UPDATE maps SET layer = 'map/patch' WHERE layer = 'patch'",
        // Correlation data as it came: as a list of numbers it took five times the space. The reply topic follows
        // from the command's. Each row has a digest. The state is a word, because a changed byte of a number would
        // be another state.
        """
        ALTER TABLE inbox RENAME TO old_inbox;
        DROP INDEX inbox_key;
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
            reply_digest INTEGER
        );
        INSERT INTO inbox
            SELECT seq, topic, id, digest, payload, old_correlation(properties), old_trace(properties),
                received, expires, keep_until,
                row_digest(topic, id, digest, old_correlation(properties), old_trace(properties), received,
                    expires, keep_until),
                CASE state WHEN 0 THEN 'received' WHEN 1 THEN 'started' WHEN 2 THEN 'finished'
                    ELSE 'acknowledged' END,
                attempt, reply, CASE WHEN reply IS NULL THEN NULL ELSE row_digest(seq, reply) END
            FROM old_inbox;
        DROP TABLE old_inbox;
        CREATE UNIQUE INDEX inbox_key ON inbox(topic, id);

        -- sender: who caused the report; NULL when no one did.
        ALTER TABLE outbox ADD COLUMN sender TEXT;
        ALTER TABLE outbox ADD COLUMN row_digest INTEGER;
        UPDATE outbox SET row_digest = row_digest(topic, payload);
        ALTER TABLE outbox DROP COLUMN properties;

        -- key_digest: over what must be known of a layer even when its document is damaged.
        -- signers: what an earlier build stored counts as unsigned.
        ALTER TABLE maps ADD COLUMN signers TEXT NOT NULL DEFAULT '';
        ALTER TABLE maps ADD COLUMN key_digest INTEGER;
        ALTER TABLE maps ADD COLUMN row_digest INTEGER;
        UPDATE maps SET key_digest = row_digest(layer, rev_floor, digest, signers),
            row_digest = row_digest(rev, applied, expires, entries);

        -- Reports whose row no longer fits its digest; some are kept for a person to look at.
        CREATE TABLE damaged(
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            topic TEXT,
            payload BLOB
        );
        """,
        """
        ALTER TABLE meta ADD COLUMN row_digest INTEGER;
        UPDATE meta SET row_digest = row_digest(key, value);
        """,
        // For who asks later: the times of a command's steps, and the last failures.
        """
        ALTER TABLE inbox ADD COLUMN started INTEGER;
        ALTER TABLE inbox ADD COLUMN acknowledged INTEGER;
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
        """,
        // See StateMarker. One row, and nothing else in its page.
        """
        CREATE TABLE marker(
            one INTEGER PRIMARY KEY CHECK(one = 1),
            identity BLOB NOT NULL,
            commits INTEGER NOT NULL,
            row_digest INTEGER NOT NULL
        );
        INSERT INTO marker VALUES(1, randomblob(\(StateMarker.identityBytes)), 0, 0);
        UPDATE marker SET row_digest = row_digest(identity, commits);
        PRAGMA application_id = \(application);
        """,
        // The words `held` and `resumed` among the states of a command: an earlier build would take them for damage.
        "",
        // What is known of a document beside its entries, and the documents that were in force before. What was damaged
        // stays so.
        """
        ALTER TABLE maps ADD COLUMN author TEXT;
        ALTER TABLE maps ADD COLUMN bytes INTEGER;
        ALTER TABLE maps ADD COLUMN changes TEXT;
        UPDATE maps SET row_digest = row_digest(rev, applied, expires, entries, author, bytes, changes)
            WHERE row_digest = row_digest(rev, applied, expires, entries);
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
        """,
        // See CommitNumber. A row that was there before has none.
        "ALTER TABLE inbox ADD COLUMN stored INTEGER",
    ]

    /// What the steps call.
    private static let functions: [String: @Sendable ([SQLValue]) -> SQLValue] = [
        "row_digest": { .integer(RowDigest.of($0)) },
        "old_correlation": { values in
            let bytes = oldProperties(values)?["correlation"]?.arrayValue?.compactMap {
                $0.intValue.flatMap(UInt8.init(exactly:))
            }
            return .init(bytes.flatMap { $0.count <= AgentLimits.correlationBytes ? $0 : nil })
        },
        "old_trace": { .init(oldProperties($0)?["trace"]?.stringValue) },
    ]

    private static func oldProperties(_ values: [SQLValue]) -> JSONValue? {
        values.first?.text.flatMap { try? JSONValue(parsing: $0, limits: .trustedFile) }
    }
}
