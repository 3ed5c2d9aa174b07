import Waypost
import WaypostFleet
import WaypostMessages

/// A document that was in force in a layer until another took its place.
struct PastMap: Sendable {
    /// Rises with each document.
    var sequence: Int64
    /// The agent's name, `@group`, or ``MapRecord/patchLayer``.
    var layer: String
    var revision: Int64?
    /// SHA-256 of the document's bytes.
    var digest: [UInt8]
    var author: String?
    var began: Int64
    var ended: Int64
    var bytes: Int64?
    var changes: MapRevision.Changes?

    fileprivate var rowDigest: Int64 {
        RowDigest.of([
            .text(layer), .init(revision), .blob(digest), .init(author), .integer(began), .integer(ended),
            .init(bytes), .init(changes?.stored),
        ])
    }

    fileprivate static func entriesDigest(_ entries: [UInt8]) -> Int64 { RowDigest.of([.blob(entries)]) }
}

extension Store.Transaction {
    /// Keeps a document that was in force until now; one that is damaged has nothing left to keep.
    func keepPast(_ map: MapRecord, until ended: Int64) throws {
        guard !map.isDamaged, !map.isEmptied else { return }
        let past = PastMap(
            sequence: 0, layer: map.layer, revision: map.revision, digest: map.digest, author: map.author,
            began: map.applied, ended: ended, bytes: map.bytes, changes: map.changes)
        try database.run(
            """
            INSERT INTO map_history(layer, rev, digest, author, began, ended, bytes, changes, entries, row_digest,
                entries_digest)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(past.layer), .init(past.revision), .blob(past.digest), .init(past.author),
                .integer(past.began), .integer(past.ended), .init(past.bytes), .init(past.changes?.stored),
                .blob(map.entries), .integer(past.rowDigest), .integer(PastMap.entriesDigest(map.entries)),
            ])
    }

    /// Forgets the oldest: those of a layer beyond `count`, and those of all layers that have more than `bytes`.
    func forgetPastMaps(of layer: String, beyond count: Int, bytes: Int) throws {
        try database.run(
            """
            DELETE FROM map_history WHERE seq IN
                (SELECT seq FROM map_history WHERE layer = ? ORDER BY seq DESC LIMIT -1 OFFSET ?)
            """,
            [.text(layer), .integer(Int64(count))])
        try database.run(
            """
            DELETE FROM map_history WHERE seq IN (SELECT seq FROM
                (SELECT seq, sum(length(entries)) OVER (ORDER BY seq DESC) AS total FROM map_history)
                WHERE total > ?)
            """,
            [.integer(Int64(bytes))])
    }

    /// The documents of the past, the newest first, without those that the disk has changed.
    func pastMaps() throws -> [PastMap] {
        try database.rows(
            """
            SELECT seq, layer, rev, digest, author, began, ended, bytes, changes, row_digest
            FROM map_history ORDER BY seq DESC
            """
        ) { row in
            let past = PastMap(
                sequence: row.integer("seq"), layer: row.text("layer"), revision: row.optionalInteger("rev"),
                digest: row.bytes("digest") ?? [], author: row.optionalText("author"),
                began: row.integer("began"), ended: row.integer("ended"), bytes: row.optionalInteger("bytes"),
                changes: MapRevision.Changes(stored: row.optionalText("changes")))
            return past.rowDigest == row.integer("row_digest") ? past : nil
        }.compactMap(\.self)
    }

    /// The entries of a document of the past as a JSON array; nil when the disk has changed them.
    func entries(ofPastMap sequence: Int64) throws -> [UInt8]? {
        try database.rows(
            "SELECT entries, entries_digest FROM map_history WHERE seq = ?", [.integer(sequence)]
        ) { row in
            let entries = row.bytes("entries") ?? []
            return PastMap.entriesDigest(entries) == row.integer("entries_digest") ? entries : nil
        }.first ?? nil
    }
}
