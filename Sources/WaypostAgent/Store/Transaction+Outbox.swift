/// A message that waits on disk for the broker's acknowledgement.
struct OutboxRecord: Sendable, Equatable {
    var sequence: Int64
    var topic: String
    var payload: [UInt8]
}

extension Store.Transaction {
    /// Damaged rows that are kept for a person to look at.
    private static var damagedRows: Int { 100 }

    /// - Parameter sender: who caused the report; nil when no sender did.
    func append(topic: String, payload: [UInt8], sender: String? = nil) throws -> OutboxRecord {
        try database.run(
            "INSERT INTO outbox(topic, payload, sender, row_digest) VALUES(?, ?, ?, ?)",
            [
                .text(topic), .blob(payload), .init(sender),
                .integer(RowDigest.of([.text(topic), .blob(payload)])),
            ])
        return OutboxRecord(sequence: database.lastInsertedRow, topic: topic, payload: payload)
    }

    func removeFromOutbox(_ sequence: Int64) throws {
        try database.run("DELETE FROM outbox WHERE seq = ?", [.integer(sequence)])
    }

    /// The first messages that have `bytes` together, one at least, without those of the given sequence numbers; `isAll`
    /// when there are no others.
    ///
    /// Those that no longer fit their digest are set aside, and their sequence numbers are in `damaged`.
    func outbox(
        excluding known: Set<Int64> = [], bytes: Int = .max
    ) throws -> (records: [OutboxRecord], damaged: [Int64], isAll: Bool) {
        var records: [OutboxRecord] = []
        var damaged: [Int64] = []
        var (size, isAll) = (0, true)
        try database.eachRow("SELECT * FROM outbox ORDER BY seq") { row in
            let record = OutboxRecord(
                sequence: row.integer("seq"), topic: row.text("topic"), payload: row.bytes("payload") ?? [])
            guard !known.contains(record.sequence) else { return true }
            guard
                RowDigest.of([.text(record.topic), .blob(record.payload)]) == row.integer("row_digest")
            else {
                damaged.append(record.sequence)
                return true
            }
            size += 128 + record.payload.count
            isAll = records.isEmpty || size <= bytes
            if isAll { records.append(record) }
            return isAll
        }
        try setAside(reports: damaged)
        return (records, damaged, isAll)
    }

    private func setAside(reports sequences: [Int64]) throws {
        for sequence in sequences {
            try database.run(
                "INSERT INTO damaged(topic, payload) SELECT topic, payload FROM outbox WHERE seq = ?",
                [.integer(sequence)])
            try removeFromOutbox(sequence)
        }
        guard !sequences.isEmpty else { return }
        try database.run(
            "DELETE FROM damaged WHERE seq <= (SELECT max(seq) FROM damaged) - ?",
            [.integer(Int64(Self.damagedRows))])
    }

    /// The size of each message's payload, in bytes, and who caused it.
    func outboxSizes() throws -> [(sequence: Int64, bytes: Int, sender: String?)] {
        try database.rows("SELECT seq, length(payload) AS bytes, sender FROM outbox") {
            ($0.integer("seq"), Int(clamping: $0.integer("bytes")), $0.optionalText("sender"))
        }
    }
}
