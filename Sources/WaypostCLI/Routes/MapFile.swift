import Waypost
import WaypostMessages

/// A relocation document as a file, laid over the routes as an agent would: a map, a patch, or bare entries.
enum MapFile {
    /// The entries of a document.
    ///
    /// - Throws: ``CommandError`` 64 when it can't be read or is no JSON; ``Rejection`` where an agent would refuse it.
    static func entries(_ file: String) throws -> [RelocationEntry] {
        try entries(JSONFile(file, purpose: "map file").json)
    }

    /// The entries of a document: enveloped as `map` or `patch`, signed or not, an array, or one entry.
    static func entries(_ json: JSONValue) throws(Rejection) -> [RelocationEntry] {
        let json = try document(json)
        return MapDocument.isMap(json)
            ? try MapDocument(map: json).entries : try MapDocument(patch: json).entries
    }

    /// The document, taken out of its envelope when it is signed; the signatures are not looked at.
    static func document(_ json: JSONValue) throws(Rejection) -> JSONValue {
        guard SignedEnvelope.isOne(json) else { return json }
        let payload = try SignedEnvelope(json).payload
        do throws(JSONError) {
            return try JSONValue(parsing: payload, limits: .trustedFile)
        } catch {
            throw error.rejection
        }
    }
}
