import GRDB
import Waypost
import WaypostMessages

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
