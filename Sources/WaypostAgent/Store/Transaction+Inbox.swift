import GRDB

/// How far a stored command has come; each step is durable before the next.
package enum InboxState: Int, Sendable {
    case received, started, finished, acknowledged
}

/// A command as it is stored.
package struct InboxRecord: Sendable {
    package var sequence: Int64
    package var topic: String
    package var id: String
    package var payload: [UInt8]
    package var properties: [UInt8]?
    package var received: Int64
    package var expires: Int64
    package var state: InboxState
    package var attempt: Int
    package var reply: [UInt8]?
}

/// What the inbox says of a command that arrives.
package enum InboxReceipt: Sendable, Equatable {
    case stored(sequence: Int64)
    /// The same bytes came before; the reply is there once the command has ended.
    case duplicate(sequence: Int64, reply: [UInt8]?)
    /// The id was used before, with other bytes.
    case reused
}

/// What one sweep through the inbox did: how many commands went, and where to go on.
package struct Forgotten: Sendable {
    package var removed: Int
    /// Nil at the end of the table.
    package var next: Int64?
}

extension Store.Transaction {
    /// Stores a command unless its key, topic and id, is there already.
    func receive(
        topic: String, id: String, digest: [UInt8], payload: [UInt8], properties: [UInt8]?, at now: Int64,
        expires: Int64, keepUntil: Int64
    ) throws -> InboxReceipt {
        let insert = try database.cachedStatement(
            sql: """
                INSERT INTO inbox(topic, id, digest, payload, properties, received, expires, keep_until, state)
                VALUES(?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT(topic, id) DO NOTHING
                """)
        try insert.execute(arguments: [
            topic, id, Blob(digest), Blob(payload), properties.map(Blob.init), now, expires, keepUntil,
        ])
        if database.changesCount == 1 { return .stored(sequence: database.lastInsertedRowID) }
        return try known(topic: topic, id: id, digest: digest) ?? .reused
    }

    /// What is known of a command's key; nil when it never came, or was forgotten.
    func known(topic: String, id: String, digest: [UInt8]) throws -> InboxReceipt? {
        let select = try database.cachedStatement(
            sql: "SELECT seq, digest, reply FROM inbox WHERE topic = ? AND id = ?")
        guard let row = try Row.fetchOne(select, arguments: [topic, id]) else { return nil }
        guard row.bytes("digest") == digest else { return .reused }
        return .duplicate(sequence: row["seq"], reply: row.bytes("reply"))
    }

    func start(_ sequence: Int64, attempt: Int) throws {
        let update = try database.cachedStatement(
            sql: "UPDATE inbox SET state = 1, attempt = ? WHERE seq = ? AND state < 2")
        try update.execute(arguments: [attempt, sequence])
    }

    /// Stores the terminal reply; the payload is not needed any more.
    func finish(_ sequence: Int64, reply: [UInt8], attempt: Int) throws {
        let update = try database.cachedStatement(
            sql:
                "UPDATE inbox SET state = 2, reply = ?, attempt = ?, payload = NULL WHERE seq = ? AND state < 2"
        )
        try update.execute(arguments: [Blob(reply), attempt, sequence])
    }

    /// The broker has the reply.
    func acknowledge(_ sequence: Int64) throws {
        let update = try database.cachedStatement(
            sql: "UPDATE inbox SET state = 3 WHERE seq = ? AND state = 2")
        try update.execute(arguments: [sequence])
    }

    /// The reply must be sent again, since its command came again.
    func reopen(_ sequence: Int64) throws {
        let update = try database.cachedStatement(
            sql: "UPDATE inbox SET state = 2 WHERE seq = ? AND state = 3")
        try update.execute(arguments: [sequence])
    }

    /// Stores another reply in the place of one that no broker takes; it never got out.
    func replaceReply(_ sequence: Int64, with reply: [UInt8]) throws {
        try database.execute(
            sql: "UPDATE inbox SET reply = ? WHERE seq = ? AND state = 2", arguments: [Blob(reply), sequence])
    }

    /// Every command that has no result, in order of arrival.
    func unfinished() throws -> [InboxRecord] {
        try Row.fetchAll(database, sql: "SELECT * FROM inbox WHERE state < 2 ORDER BY seq").map(
            InboxRecord.init)
    }

    /// Commands with a result whose reply the broker does not have yet, in order of arrival.
    ///
    /// The first that make `bytes`, without those of the given sequence numbers; `isAll` when there are no others.
    func unsentReplies(
        excluding known: Set<Int64>, bytes: Int
    ) throws -> (records: [InboxRecord], isAll: Bool) {
        let rows = try Row.fetchCursor(database, sql: "SELECT * FROM inbox WHERE state = 2 ORDER BY seq")
        var records: [InboxRecord] = []
        var size = 0
        while let row = try rows.next() {
            guard !known.contains(row["seq"]) else { continue }
            let record = InboxRecord(row)
            records.append(record)
            size += 128 + (record.reply?.count ?? 0)
            if size >= bytes { return (records, false) }
        }
        return (records, true)
    }

    func hasUnsentReplies() throws -> Bool {
        try Bool.fetchOne(database, sql: "SELECT EXISTS(SELECT 1 FROM inbox WHERE state = 2)") ?? false
    }

    /// Counts a start of these commands, before they are started.
    func countAttempt(of sequences: [Int64]) throws {
        let update = try database.cachedStatement(sql: "UPDATE inbox SET attempt = attempt + 1 WHERE seq = ?")
        for sequence in sequences { try update.execute(arguments: [sequence]) }
    }

    func inboxCount() throws -> Int {
        try Int.fetchOne(database, sql: "SELECT count(*) FROM inbox") ?? 0
    }

    /// Forgets commands that have ended and whose time of recognition is over, looking at no more than `limit` rows
    /// after `sequence`.
    func forgetEnded(after sequence: Int64, at now: Int64, limit: Int) throws -> Forgotten {
        let last = try Int64.fetchOne(
            database,
            sql: "SELECT max(seq) FROM (SELECT seq FROM inbox WHERE seq > ? ORDER BY seq LIMIT ?)",
            arguments: [sequence, limit])
        guard let last else { return Forgotten(removed: 0, next: nil) }
        try database.execute(
            sql: "DELETE FROM inbox WHERE seq > ? AND seq <= ? AND state = 3 AND keep_until < ?",
            arguments: [sequence, last, now])
        return Forgotten(removed: database.changesCount, next: last)
    }

    /// Returns pages that hold nothing to the file system, some at a time, once they are the larger part.
    func incrementalVacuum() throws {
        let free = try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
        let all = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
        guard free > 1_000, free > all / 2 else { return }
        _ = try Row.fetchAll(database, sql: "PRAGMA incremental_vacuum(4000)")
    }
}

extension InboxRecord {
    fileprivate init(_ row: Row) {
        self.init(
            sequence: row["seq"], topic: row["topic"], id: row["id"], payload: row.bytes("payload") ?? [],
            properties: row.bytes("properties"), received: row["received"], expires: row["expires"],
            state: InboxState(rawValue: row["state"]) ?? .finished, attempt: row["attempt"],
            reply: row.bytes("reply"))
    }
}
