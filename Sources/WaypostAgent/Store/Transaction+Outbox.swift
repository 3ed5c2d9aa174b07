import GRDB

/// A message that waits on disk for the broker's acknowledgement.
package struct OutboxRecord: Sendable, Equatable {
    package var sequence: Int64
    package var topic: String
    package var payload: [UInt8]
    package var properties: [UInt8]?
}

extension Store.Transaction {
    func append(topic: String, payload: [UInt8], properties: [UInt8]? = nil) throws -> OutboxRecord {
        let insert = try database.cachedStatement(
            sql: "INSERT INTO outbox(topic, payload, properties) VALUES(?, ?, ?)")
        try insert.execute(arguments: [topic, Blob(payload), properties.map(Blob.init)])
        return OutboxRecord(
            sequence: database.lastInsertedRowID, topic: topic, payload: payload, properties: properties)
    }

    func removeFromOutbox(_ sequence: Int64) throws {
        let delete = try database.cachedStatement(sql: "DELETE FROM outbox WHERE seq = ?")
        try delete.execute(arguments: [sequence])
    }

    /// The first messages that make `bytes`, without those of the given sequence numbers; `isAll` when there are no
    /// others.
    func outbox(
        excluding known: Set<Int64> = [], bytes: Int = .max
    ) throws -> (records: [OutboxRecord], isAll: Bool) {
        let rows = try Row.fetchCursor(database, sql: "SELECT * FROM outbox ORDER BY seq")
        var records: [OutboxRecord] = []
        var size = 0
        while let row = try rows.next() {
            guard !known.contains(row["seq"]) else { continue }
            let record = OutboxRecord(
                sequence: row["seq"], topic: row["topic"], payload: row.bytes("payload") ?? [],
                properties: row.bytes("properties"))
            records.append(record)
            size += 128 + record.payload.count
            if size >= bytes { return (records, false) }
        }
        return (records, true)
    }

    /// The size of each message's payload, in bytes.
    func outboxSizes() throws -> [(sequence: Int64, bytes: Int)] {
        try Row.fetchAll(database, sql: "SELECT seq, length(payload) AS bytes FROM outbox").map {
            ($0["seq"], $0["bytes"])
        }
    }
}
