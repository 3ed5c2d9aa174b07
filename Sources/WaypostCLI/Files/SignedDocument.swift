import Waypost
import WaypostMessages

/// A signed relocation document, read as an agent reads it.
struct SignedDocument {
    private let isPatch: Bool
    private let document: MapDocument
    private let expired: Bool

    /// The trusted keys that signed it.
    var signers: Set<VerifyingKey> { document.signers }

    /// Reads an envelope.
    ///
    /// - Parameters:
    ///   - maximumBytes: The longest document that an agent takes.
    ///   - now: The time, in milliseconds since 1970.
    /// - Throws: ``Failure`` with what an agent would answer that trusts these keys.
    init(
        _ bytes: [UInt8], _ json: JSONValue, trusted: TrustedKeys, maximumBytes: Int, now: Int64
    ) throws(Failure) {
        guard SignedEnvelope.isOne(json) else {
            throw Failure(.unsigned, "the document is not signed")
        }
        isPatch = try MapFile.document(json)["type"] == "patch"
        document = try MapDocument(
            bytes, isPatch: isPatch,
            MapDocument.Rules(
                maximumBytes: maximumBytes, limits: .protocolDefaults, trusted: trusted))
        expired = document.expires.map { $0 <= now } ?? false
    }

    /// `map rev 5 for kiosk-7, 3 entries`.
    var text: String {
        let revision = document.revision.map { " rev \($0)" } ?? ""
        let audience = document.audience.map { " for \($0)" } ?? ""
        let end = expired ? ", expired" : ""
        return "\(isPatch ? "patch" : "map")\(revision)\(audience), "
            + "\(document.entries.count.counted("entry", "entries"))\(end)"
    }

    /// The same with other members.
    func json(_ others: [String: JSONValue]) -> JSONValue {
        var members: [String: JSONValue] = [
            "type": .string(isPatch ? "patch" : "map"), "entries": .int(Int64(document.entries.count)),
            "expired": .bool(expired),
        ]
        if let revision = document.revision { members["rev"] = .int(revision) }
        if let audience = document.audience { members["aud"] = .string(audience) }
        return .object(members.merging(others) { mine, _ in mine })
    }

    /// The members that a document needs before it can be signed and does not have.
    ///
    /// - Throws: ``Failure`` when they can't be known.
    static func missingMembers(
        of json: JSONValue, for audience: Audience?
    ) throws(Failure) -> [String: JSONValue] {
        guard json.objectValue != nil, json["entries"] != nil else {
            throw Failure(
                .badField, "a signed document is an object: {\"type\":\"map\",\"rev\":1,\"entries\":[…]}")
        }
        var missing: [String: JSONValue] = [:]
        if json["type"] == nil { missing["type"] = json["base"] == nil ? "map" : "patch" }
        switch (json["aud"]?.stringValue, audience) {
        case (nil, nil):
            throw Failure(.badField, "aud is missing: name the agent or the group that the document is for")
        case (nil, let audience?): missing["aud"] = .string(audience.description)
        case (let named?, let audience?) where named != audience.description:
            throw Failure(.badField, "the document is for \(named.quoted), not for \(audience)")
        case (.some, _): break
        }
        return missing
    }
}
