import GRDB
import Waypost
package import WaypostMessages

/// The last good document of one layer.
package struct MapRecord: Sendable, Equatable {
    /// The layer of patches: no agent and no group can have this name.
    package static let patchLayer = "map/patch"

    /// The agent's name, `@group`, or ``patchLayer``.
    package var layer: String
    package var revision: Int64?
    /// The highest revision ever applied to the layer: none below it is taken, across restarts.
    package var revisionFloor: Int64
    /// SHA-256 of the document's bytes.
    package var digest: [UInt8]
    package var applied: Int64
    package var expires: Int64?
    /// The entries as a JSON array.
    package var entries: [UInt8]
    /// For each document that the layer was made of, the trusted keys that had signed it.
    package var signers: Set<Set<VerifyingKey>> = [[]]

    /// Whether a newer map emptied the layer of patches, and only the revisions that were used are left.
    package var isEmptied: Bool { digest.isEmpty }
}

extension MapRecord {
    /// A line a document, and in it the keys in base64.
    fileprivate var signersText: String {
        signers.map { $0.map { Base64.encode($0.bytes) }.sorted().joined(separator: " ") }.sorted()
            .joined(separator: "\n")
    }

    fileprivate static func signers(_ text: String) -> Set<Set<VerifyingKey>> {
        Set(
            text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
                Set(
                    line.split(separator: " ").compactMap { Base64.decode(String($0)) }.map(VerifyingKey.init)
                )
            })
    }
}

extension Store.Transaction {
    func save(_ map: MapRecord) throws {
        try database.execute(
            sql: """
                INSERT INTO maps(layer, rev, rev_floor, digest, applied, expires, entries, signers)
                VALUES(?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT(layer) DO UPDATE SET rev = excluded.rev, rev_floor = excluded.rev_floor,
                    digest = excluded.digest, applied = excluded.applied, expires = excluded.expires,
                    entries = excluded.entries, signers = excluded.signers
                """,
            arguments: [
                map.layer, map.revision, map.revisionFloor, Blob(map.digest), map.applied, map.expires,
                Blob(map.entries), map.signersText,
            ])
    }

    func removeMap(layer: String) throws {
        try database.execute(sql: "DELETE FROM maps WHERE layer = ?", arguments: [layer])
    }

    func maps() throws -> [MapRecord] {
        try Row.fetchAll(database, sql: "SELECT * FROM maps").map { row in
            MapRecord(
                layer: row["layer"], revision: row["rev"], revisionFloor: row["rev_floor"],
                digest: row.bytes("digest") ?? [], applied: row["applied"], expires: row["expires"],
                entries: row.bytes("entries") ?? [], signers: MapRecord.signers(row["signers"]))
        }
    }
}

extension Store.Transaction {
    private static var refusedPrefix: String { "refused/" }

    /// Remembers that a document was refused, so that it is not reported again at every start.
    func save(_ refused: AppliedMap.Refused) throws {
        try setText(Self.refusedPrefix + refused.layer, refused.json.text)
    }

    func removeRefusedMap(layer: String) throws {
        try setText(Self.refusedPrefix + layer, nil)
    }

    /// The newest refused document of each layer.
    func refusedMaps() throws -> [String: AppliedMap.Refused] {
        let texts = try String.fetchAll(
            database, sql: "SELECT value FROM meta WHERE key >= ? AND key < 'refused0'",
            arguments: [Self.refusedPrefix])
        let all = texts.compactMap { text in
            (try? JSONValue(parsing: text)).flatMap { try? AppliedMap.Refused($0) }
        }
        return Dictionary(all.map { ($0.layer, $0) }, uniquingKeysWith: { $1 })
    }
}
