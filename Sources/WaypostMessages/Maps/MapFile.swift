package import Waypost

/// A relocation document as a file, laid over the routes as an agent would: a map, a patch, or bare entries.
package enum MapFile {
    /// The entries of a document: enveloped as `map` or `patch`, signed or not, an array, or one entry.
    package static func entries(_ json: JSONValue) throws(Failure) -> [RelocationEntry] {
        let json = try document(json)
        return MapDocument.isMap(json)
            ? try MapDocument(map: json).entries : try MapDocument(patch: json).entries
    }

    /// The document, taken out of its envelope when it is signed; the signatures are not looked at.
    package static func document(_ json: JSONValue) throws(Failure) -> JSONValue {
        guard SignedEnvelope.isOne(json) else { return json }
        let payload = try SignedEnvelope(json).payload
        do throws(JSONError) {
            return try JSONValue(parsing: payload, limits: .trustedFile)
        } catch {
            throw error.rejection
        }
    }
}
