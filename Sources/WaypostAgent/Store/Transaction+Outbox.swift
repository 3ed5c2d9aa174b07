import GRDB

/// A message that waits on disk for the broker's acknowledgement.
package struct OutboxRecord: Sendable, Equatable {
    package var sequence: Int64
    package var topic: String
    package var payload: [UInt8]
}

extension Store.Transaction {
    /// Damaged rows that are kept for a person to look at.
    private static var damagedRows: Int { 100 }

    /// - Parameter sender: who caused the report; nil when no one did.
    func append(topic: String, payload: [UInt8], sender: String? = nil) throws -> OutboxRecord {
        let insert = try database.cachedStatement(
            sql: "INSERT INTO outbox(topic, payload, sender, row_digest) VALUES(?, ?, ?, ?)")
        try insert.execute(arguments: [
            topic, Blob(payload), sender, RowDigest.of([.text(topic), .blob(payload)]),
        ])
        return OutboxRecord(sequence: database.lastInsertedRowID, topic: topic, payload: payload)
    }

    func removeFromOutbox(_ sequence: Int64) throws {
        let delete = try database.cachedStatement(sql: "DELETE FROM outbox WHERE seq = ?")
        try delete.execute(arguments: [sequence])
    }

    /// The first messages that make `bytes`, without those of the given sequence numbers; `isAll` when there are no
    /// others.
    ///
    /// Those that no longer fit their digest are set aside, and their sequence numbers are in `damaged`.
    func outbox(
        excluding known: Set<Int64> = [], bytes: Int = .max
    ) throws -> (records: [OutboxRecord], damaged: [Int64], isAll: Bool) {
        let rows = try Row.fetchCursor(database, sql: "SELECT * FROM outbox ORDER BY seq")
        var records: [OutboxRecord] = []
        var damaged: [Int64] = []
        var size = 0
        while size < bytes, let row = try rows.next() {
            let record = OutboxRecord(
                sequence: row["seq"], topic: row.text("topic"), payload: row.bytes("payload") ?? [])
            guard !known.contains(record.sequence) else { continue }
            guard
                RowDigest.of([.text(record.topic), .blob(record.payload)]) == row.integer("row_digest")
            else {
                damaged.append(record.sequence)
                continue
            }
            records.append(record)
            size += 128 + record.payload.count
        }
        try setAside(reports: damaged)
        return (records, damaged, size < bytes)
    }

    private func setAside(reports sequences: [Int64]) throws {
        for sequence in sequences {
            try database.execute(
                sql: "INSERT INTO damaged(topic, payload) SELECT topic, payload FROM outbox WHERE seq = ?",
                arguments: [sequence])
            try removeFromOutbox(sequence)
        }
        guard !sequences.isEmpty else { return }
        try database.execute(
            sql: "DELETE FROM damaged WHERE seq <= (SELECT max(seq) FROM damaged) - ?",
            arguments: [Self.damagedRows])
    }

    /// The size of each message's payload, in bytes, and who caused it.
    func outboxSizes() throws -> [(sequence: Int64, bytes: Int, sender: String?)] {
        try Row.fetchAll(database, sql: "SELECT seq, length(payload) AS bytes, sender FROM outbox").map {
            ($0["seq"], Int(clamping: $0.integer("bytes")), $0.optionalText("sender"))
        }
    }
}
