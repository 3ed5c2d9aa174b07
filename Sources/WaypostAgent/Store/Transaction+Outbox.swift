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

    func outbox() throws -> [OutboxRecord] {
        try Row.fetchAll(database, sql: "SELECT * FROM outbox ORDER BY seq").map { row in
            OutboxRecord(
                sequence: row["seq"], topic: row["topic"], payload: row.bytes("payload") ?? [],
                properties: row.bytes("properties"))
        }
    }
}
