import GRDB

/// The tables of the state file and how older ones become these.
enum Schema {
    /// The version that this build writes, kept in SQLite's `user_version`.
    static let version = 3

    /// Brings a database up to ``version``; an older one step by step, a newer one is refused untouched.
    static func migrate(_ db: Database, path: String) throws {
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard found <= version else {
            throw StoreError(.newerSchema(found: found, supported: version), path: path, detail: "")
        }
        for step in found..<version {
            try db.execute(sql: steps[step])
        }
        try db.execute(sql: "PRAGMA user_version = \(version)")
    }

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
        -- What must reach the broker and belongs to no stored command: failure reports and some refusals.
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
        // What an earlier build stored counts as unsigned.
        "ALTER TABLE maps ADD COLUMN signers TEXT NOT NULL DEFAULT ''",
    ]
}
