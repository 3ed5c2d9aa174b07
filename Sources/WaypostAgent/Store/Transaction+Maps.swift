import Waypost
import WaypostFleet
import WaypostMessages

extension MapRevision.Changes {
    /// Added, removed, changed.
    var stored: String { "\(added) \(removed) \(changed)" }

    init?(stored text: String?) {
        let numbers = (text ?? "").split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 3 else { return nil }
        self.init(added: numbers[0], removed: numbers[1], changed: numbers[2])
    }
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

    /// Over what must be known of a layer even when its document is damaged.
    fileprivate var keyDigest: Int64 {
        RowDigest.of([.text(layer), .integer(revisionFloor), .blob(digest), .text(signersText)])
    }

    /// Over everything else.
    fileprivate var rowDigest: Int64 {
        RowDigest.of([
            .init(revision), .integer(applied), .init(expires), .blob(entries), .init(author), .init(bytes),
            .init(changes?.stored),
        ])
    }

    /// What is left of a damaged row; without an intact key not even its floor can be trusted.
    fileprivate func damaged(isKeyIntact: Bool) -> MapRecord {
        MapRecord(
            layer: layer, revision: nil, revisionFloor: isKeyIntact ? revisionFloor : 0,
            digest: isKeyIntact ? digest : [], applied: 0, expires: nil, entries: [],
            signers: isKeyIntact ? signers : [[]], isDamaged: true)
    }
}

extension Store.Transaction {
    func save(_ map: MapRecord) throws {
        try database.run(
            """
            INSERT OR REPLACE INTO maps(layer, rev, rev_floor, digest, applied, expires, entries, signers,
                key_digest, row_digest, author, bytes, changes)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(map.layer), .init(map.revision), .integer(map.revisionFloor), .blob(map.digest),
                .integer(map.applied), .init(map.expires), .blob(map.entries), .text(map.signersText),
                .integer(map.keyDigest), .integer(map.rowDigest), .init(map.author), .init(map.bytes),
                .init(map.changes?.stored),
            ])
    }

    func removeMap(layer: String) throws {
        try database.run("DELETE FROM maps WHERE layer = ?", [.text(layer)])
    }

    /// All layers, also damaged ones.
    func maps() throws -> [MapRecord] {
        try database.rows("SELECT * FROM maps") { row in
            let map = MapRecord(
                layer: row.text("layer"), revision: row.optionalInteger("rev"),
                revisionFloor: row.integer("rev_floor"),
                digest: row.bytes("digest") ?? [], applied: row.integer("applied"),
                expires: row.optionalInteger("expires"),
                entries: row.bytes("entries") ?? [], signers: MapRecord.signers(row.text("signers")),
                author: row.optionalText("author"), bytes: row.optionalInteger("bytes"),
                changes: MapRevision.Changes(stored: row.optionalText("changes")))
            let isKeyIntact = map.keyDigest == row.integer("key_digest")
            guard isKeyIntact, map.rowDigest == row.integer("row_digest") else {
                return map.damaged(isKeyIntact: isKeyIntact)
            }
            return map
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
        let texts = try database.rows(
            "SELECT value FROM meta WHERE key >= ? AND key < 'refused0'", [.text(Self.refusedPrefix)]
        ) { $0.text("value") }
        let all = texts.compactMap { text in
            (try? JSONValue(parsing: text)).flatMap { try? AppliedMap.Refused($0) }
        }
        return Dictionary(all.map { ($0.layer, $0) }, uniquingKeysWith: { $1 })
    }
}
