import Waypost
import WaypostMessages

/// A relocation document as a file, laid over the routes as an agent would: a map, a patch, or bare entries.
enum MapFile {
    /// The entries of a document.
    ///
    /// - Throws: ``CommandError`` 64 when it can't be read or is no JSON; ``Rejection`` where an agent would refuse it.
    static func entries(_ file: String) throws -> [RelocationEntry] {
        let bytes = try InputFile.read(file, purpose: "map file")
        let json: JSONValue
        do {
            json = try JSONValue(parsing: bytes, limits: .trustedFile)
        } catch {
            throw CommandError(.usage, "map file \(file): \(error)")
        }
        return try entries(json)
    }

    /// The entries of a document: enveloped as `map` or `patch`, an array, or one entry.
    static func entries(_ json: JSONValue) throws(Rejection) -> [RelocationEntry] {
        json["type"] == "map" || json["rev"] != nil
            ? try MapDocument(map: json).entries : try MapDocument(patch: json).entries
    }
}
