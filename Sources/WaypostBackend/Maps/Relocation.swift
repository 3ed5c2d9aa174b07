package import MQTTLink
public import Waypost
package import WaypostMessages

/// A relocation document for agents: a whole map, or a patch of the map in force.
///
///     let home = RelocationEntry(.replace(origin: "kiosk://home", target: "kiosk://sale"))
///     try await backend.agent("kiosk-7").relocate(.patch([home]))
///     try await backend.group("lobby").relocate(.map([home], revision: 42))
public struct Relocation: Sendable, CustomStringConvertible {
    /// What the document is to the agent.
    public enum Kind: Sendable {
        /// The whole map wanted: it replaces the one before, and the broker keeps it for agents that are away.
        case map
        /// A few entries over the map in force, for one agent.
        case patch
    }

    /// What it is.
    public package(set) var kind: Kind
    package var payload: [UInt8]

    /// What it is, in a few words: `map rev 41, 3 entries`.
    public var description: String {
        guard let document else { return "a \(kind == .map ? "map" : "patch") that can't be read" }
        let revision = document.revision.map { " rev \($0)" } ?? ""
        let entries = document.entries.count.counted("entry", "entries")
        return "\(kind == .map ? "map" : "patch")\(revision), \(entries)\(isSigned ? ", signed" : "")"
    }

    /// The digest under which the agent reports it.
    package var digest: String { SHA256.label(SHA256.digest(of: payload)) }

    /// A document that is sent as it stands, right or wrong.
    package init(document payload: [UInt8], _ kind: Kind) {
        self.kind = kind
        self.payload = payload
    }

    /// A whole map of these entries.
    ///
    /// - Parameters:
    ///   - entries: In order.
    ///   - revision: From 1; an agent refuses one that is lower than that in force.
    ///   - author: Who made it, for people.
    /// - Throws: ``BackendError`` naming the entry and the field that no agent would take.
    public static func map(
        _ entries: [RelocationEntry], revision: Int64, by author: String? = nil
    ) throws(BackendError) -> Relocation {
        let list = JSONValue.array(entries.map(\.json))
        let bytes = MapDocument.map(id: Identifier.ulid(), revision: revision, entries: list, by: author)
        return try Relocation(file: bytes, name: "the map")
    }

    /// These entries over the map in force: each takes the place of an earlier one about the same path.
    ///
    /// - Parameters:
    ///   - entries: In order.
    ///   - author: Who made it, for people.
    /// - Throws: ``BackendError`` naming the entry and the field that no agent would take.
    public static func patch(
        _ entries: [RelocationEntry], by author: String? = nil
    ) throws(BackendError) -> Relocation {
        try Relocation(patch: .array(entries.map(\.json)), source: "the patch", by: author)
    }

    /// A document as a file has it, signed or not: a map, which has a `rev`; a patch; or bare entries, which become one.
    ///
    /// Maps and signed documents are sent byte for byte.
    /// - Parameters:
    ///   - bytes: JSON.
    ///   - author: Who made it, for people, where these are bare entries.
    /// - Throws: ``BackendError`` naming the entry and the field that no agent would take.
    public init(document bytes: [UInt8], by author: String? = nil) throws(BackendError) {
        try self.init(file: bytes, name: "the document", by: author)
    }

    /// Some entries as a patch of `author`, checked as the agent would.
    ///
    /// - Throws: ``BackendError`` naming the entry and the field.
    package init(entries: JSONValue, by author: String? = nil) throws(BackendError) {
        try self.init(patch: entries, source: "the entry", by: author)
    }

    /// A document from a file.
    ///
    /// A document of type `map`, one with a `rev` and without a type, and a signed one go as they stand, byte for
    /// byte: the same file sent twice is the same map. Everything else is a patch; bare entries are put into an
    /// envelope.
    /// - Throws: ``BackendError`` naming what does not fit.
    package init(file bytes: [UInt8], name: String, by author: String? = nil) throws(BackendError) {
        let json: JSONValue
        do {
            json = try JSONValue(parsing: bytes, limits: .trustedFile)
        } catch {
            throw BackendError(.notSent, "\(name): \(error)")
        }
        let type = json["type"]?.stringValue
        if SignedEnvelope.isOne(json) {
            self.init(document: bytes, Self.isSignedPatch(json) ? .patch : .map)
        } else if type == "patch" {
            try Self.check(name) { () throws(Failure) in _ = try MapDocument(patch: json) }
            self.init(document: bytes, .patch)
        } else if type == "map" || json["rev"] != nil {
            try Self.check(name) { () throws(Failure) in _ = try MapDocument(map: json) }
            self.init(document: bytes, .map)
        } else {
            try self.init(patch: json["entries"] ?? json, source: name, by: author)
        }
    }

    private init(patch json: JSONValue, source: String, by author: String?) throws(BackendError) {
        let entries = json.arrayValue == nil ? JSONValue.array([json]) : json
        try Self.check(source) { () throws(Failure) in _ = try MapDocument(patch: entries) }
        self.init(document: MapDocument.patch(id: Identifier.ulid(), entries: entries, by: author), .patch)
    }

    private static func isSignedPatch(_ json: JSONValue) -> Bool {
        guard let envelope = try? SignedEnvelope(json) as SignedEnvelope,
            let document = try? JSONValue(parsing: envelope.payload, limits: .trustedFile)
        else { return false }
        return document["type"] == "patch"
    }

    /// When it ends by itself, in milliseconds since 1970; nil when it does not.
    package var expires: Int64? {
        guard let json = try? JSONValue(parsing: payload, limits: .trustedFile) else { return nil }
        return (try? MapFile.document(json))?["exp"]?.boundedInt
    }

    /// Whether agents that have keys take no other.
    var isSigned: Bool {
        (try? JSONValue(parsing: payload, limits: .trustedFile)).map { SignedEnvelope.isOne($0) } ?? false
    }

    /// Whether this is a patch that does not say what it builds on.
    package var needsBase: Bool { kind == .patch && members?["base"] == nil }

    /// The patch with what it builds on and its own revision.
    package func numbered(_ next: AppliedMap.NextPatch) -> Relocation {
        let numbers: [String: JSONValue] = ["base": .int(next.base), "rev": .int(next.revision)]
        guard let members else { return self }
        return Relocation(
            document: JSONValue.object(members.merging(numbers) { $1 }).serialized(), kind)
    }

    /// The fields of the document; nil when it is signed already, or is not JSON.
    private var members: [String: JSONValue]? {
        guard let json = try? JSONValue(parsing: payload, limits: .trustedFile), !SignedEnvelope.isOne(json)
        else { return nil }
        // A bare array has no place for other fields.
        return json.objectValue ?? ["type": .string(kind == .map ? "map" : "patch"), "entries": json]
    }

    /// The same in a signed envelope, with the name of its receiver.
    ///
    /// - Throws: ``BackendError`` when it is not JSON, or is for another receiver.
    func signed(by signer: Signer, for audience: Audience) throws(BackendError) -> Relocation {
        guard let members else {
            throw BackendError(.notSent, "the document is already signed, or is not JSON")
        }
        if let named = members["aud"]?.stringValue, named != audience.description {
            throw BackendError(.notSent, "the document is for \(named), not for \(audience)")
        }
        let type = kind == .map ? "map" : "patch"
        let named = members.merging(["aud": .string(audience.description), "type": .string(type)]) {
            mine, _ in
            mine
        }
        let bytes = JSONValue.object(named).serialized()
        return Relocation(document: try signer.envelope(bytes, type: SignedEnvelope.mapType), kind)
    }

    /// As a program rolls it out: signed by its key, unless somebody has signed it already.
    ///
    /// - Throws: ``BackendError`` as ``signed(by:for:)``.
    func signedOnce(
        for audience: Audience, _ settings: BackendConfiguration
    ) throws(BackendError) -> Relocation {
        isSigned ? self : try prepared(for: audience, settings)
    }

    /// As it is sent: signed where the settings have a key.
    ///
    /// - Throws: ``BackendError`` as ``signed(by:for:)``.
    package func prepared(
        for audience: Audience, _ settings: BackendConfiguration
    ) throws(BackendError) -> Relocation {
        guard let signer = settings.signer else { return self }
        return try signed(by: signer, for: audience)
    }

    package func message(to audience: Audience, _ topics: Topics) throws(BackendError) -> MQTTMessage {
        switch (kind, audience) {
        case (.map, _): .json(topics.map(of: audience), payload, retain: true)
        case (.patch, .agent(let agent)): .json(topics.patch(of: agent), payload)
        case (.patch, .group):
            throw BackendError(
                .invalid,
                "a patch is for one agent\(shell: ": --agent"); to a group, send a complete map with a rev\(shell: ": --file")"
            )
        }
    }

    /// The layer under which agents report it.
    func layer(of audience: Audience) -> String {
        switch (kind, audience) {
        case (.patch, _): "patch"
        case (.map, .agent): "agent"
        case (.map, .group): audience.description
        }
    }

    private static func check(_ name: String, _ body: () throws(Failure) -> Void) throws(BackendError) {
        do {
            try body()
        } catch {
            throw BackendError(
                .notSent, "\(name) is not a relocation: \(error.code): \(error.detail)")
        }
    }
}
