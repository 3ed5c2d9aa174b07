package import Waypost

/// A relocation map or a patch to one, as it came on its topic; the entries are not compiled yet.
package struct MapDocument: Sendable, Hashable {
    /// The most entries of one document.
    package static let maximumEntries = 2_000
    static let maximumAuthorBytes = 128

    /// What an enveloped document has beside its entries, in the order in which it is read.
    enum Member: String, CaseIterable {
        case type
        case version = "v"
        case id
        case revision = "rev"
        case audience = "aud"
        case expires = "exp"
        case base
    }

    /// The sender's name for the document; nil in the bare forms.
    package var id: String?
    /// Only rises, across restarts; nil in the bare forms.
    package var revision: Int64?
    /// The revision that a patch builds on: that of the patch before it, or of the agent's map, 0 without one.
    package var base: Int64?
    /// The agent or `@group` that the document is meant for.
    package var audience: String?
    /// When it stops being good for a first application, in milliseconds since 1970.
    package var expires: Int64?
    package var entries: [RelocationEntry]
    /// Who made it, as the document itself says.
    package var author: String?
    /// The trusted keys that signed it.
    package var signers: Set<VerifyingKey> = []

    /// Reads a document on `map`: the whole map wanted, enveloped, or a bare array without a revision.
    ///
    /// - Throws: ``Failure`` naming the entry's index and the field.
    package init(map json: JSONValue) throws(Failure) {
        if case .array = json {
            self.init(entries: try Self.entries(json))
            return
        }
        try self.init(enveloped: json, type: "map")
    }

    /// Reads a document on `map/patch`: one entry, an array of entries, or the enveloped form.
    ///
    /// - Throws: ``Failure`` naming the entry's index and the field.
    package init(patch json: JSONValue) throws(Failure) {
        if Self.isEnvelopedPatch(json) {
            try self.init(enveloped: json, type: "patch")
        } else {
            self.init(entries: try Self.entries(json))
        }
    }

    init(entries: [RelocationEntry]) {
        self.entries = entries
    }

    /// Whether a document of which the topic is not known is a whole map: one of that type, or with a revision.
    static func isMap(_ json: JSONValue) -> Bool {
        json["type"] == "map" || json["type"] != "patch" && json["rev"] != nil
    }

    /// Whether a patch is no array of entries, and no entry alone.
    static func isEnvelopedPatch(_ json: JSONValue) -> Bool {
        json.objectValue == nil && json.arrayValue == nil
            || json["routerType"] == nil && json["entries"] != nil
    }

    private init(enveloped json: JSONValue, type: String) throws(Failure) {
        guard case .object = json else {
            throw Failure(
                .badField, "a \(type) is a JSON object or an array of entries; found \(json.kind)")
        }
        self.init(entries: [])
        let fields = Fields(of: json)
        for member in Member.allCases { try read(member, of: fields, type: type) }
        author = fields["by"]?.stringValue.map { $0.cut(to: Self.maximumAuthorBytes) }
        guard let list = fields["entries"] else { throw Failure(.badField, "entries is missing") }
        entries = try Self.entries(list)
    }

    /// Reads one of its members.
    mutating func read(_ member: Member, of fields: Fields, type: String) throws(Failure) {
        switch member {
        case .type:
            guard let found = try fields.text("type"), found != type else { return }
            throw Failure(.badField, "type must be \(type) on this topic; found \(found.quoted)")
        case .version: try fields.checkVersion()
        case .id: if fields.names.contains("id") { id = try Command.id(in: fields) }
        case .revision: revision = try fields.integer("rev", in: 1...Fields.largestInteger)
        case .audience: audience = try fields.text("aud")
        case .expires: expires = try fields.integer("exp", in: 0...Fields.latestTime)
        case .base:
            guard type == "patch" else { return }
            base = try fields.integer("base", in: 0...Fields.largestInteger)
            guard (base == nil) == (revision == nil) else {
                throw Failure(
                    .badField, "\(base == nil ? "base" : "rev") is missing; a patch has both or none")
            }
        }
    }

    private static func entries(_ json: JSONValue) throws(Failure) -> [RelocationEntry] {
        do {
            return try RelocationEntry.list(json, maximum: maximumEntries)
        } catch {
            throw Failure(error)
        }
    }
}

extension Failure {
    /// A document whose entry, or whose entries together, are not a map.
    package init(_ error: RelocationError) { self.init(error.code, error.description) }
}
