package import Waypost

extension MapDocument {
    /// A patch in its enveloped form.
    ///
    /// The id makes the bytes unlike those of any other patch, so that the sender finds its own document by digest
    /// on `map/applied`.
    package static func patch(id: String, entries: JSONValue, by author: String? = nil) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("id", id)
        json.member("type", "patch")
        if let author { json.member("by", author) }
        json.member("entries", entries)
        json.endObject()
        return json.bytes
    }

    /// A whole map in its enveloped form.
    package static func map(id: String, revision: Int64, entries: JSONValue, by author: String? = nil)
        -> [UInt8]
    {
        var json = JSONWriter()
        json.beginObject()
        json.member("id", id)
        json.member("type", "map")
        json.member("rev", revision)
        if let author { json.member("by", author) }
        json.member("entries", entries)
        json.endObject()
        return json.bytes
    }
}
