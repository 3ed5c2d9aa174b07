public import Waypost
import WaypostMessages

extension Relocation {
    /// Its entries; nil when they can't be read, for instance because they are encrypted.
    public var entries: [RelocationEntry]? { document?.entries }

    /// The document, out of its envelope when it is signed; nil when it can't be read.
    ///
    /// Its signatures are not looked at.
    var document: MapDocument? {
        guard var json = try? JSONValue(parsing: payload, limits: .trustedFile) else { return nil }
        if SignedEnvelope.isOne(json) {
            guard let envelope = try? SignedEnvelope(json) as SignedEnvelope,
                let inner = try? JSONValue(parsing: envelope.payload, limits: .trustedFile)
            else { return nil }
            json = inner
        }
        return kind == .map ? try? MapDocument(map: json) : try? MapDocument(patch: json)
    }

    /// A whole map of these entries.
    init(map entries: [RelocationEntry], revision: Int64, by author: String) {
        self.init(
            document: MapDocument.map(
                id: Identifier.ulid(), revision: revision, entries: .array(entries.map(\.json)), by: author),
            .map)
    }
}
