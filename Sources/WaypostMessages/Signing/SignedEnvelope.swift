package import Waypost

/// A signed document: a DSSE envelope around its exact bytes.
package struct SignedEnvelope: Sendable, Hashable {
    /// A signature and the name of the key that it claims.
    package struct Signature: Sendable, Hashable {
        package var keyID: String?
        package var bytes: [UInt8]
    }

    /// The type that is signed along for documents that we make.
    package static let mapType = "application/vnd.waypost.map+json"
    /// The same for the groups of an agent.
    package static let groupsType = "application/vnd.waypost.groups+json"
    /// The same for commands.
    package static let commandType = "application/vnd.waypost.command+json"

    package var payloadType: String
    /// The document's bytes.
    package var payload: [UInt8]
    package var signatures: [Signature]

    /// Twice the largest threshold; ``TrustedKeys`` allows twice its own.
    private static let maximumSignatures = 2 * TrustedKeys.maximumThreshold

    /// Whether an object is meant as an envelope.
    static func isOne(_ fields: Fields) -> Bool {
        ["payload", "signatures", "payloadType"].allSatisfy { fields.names.contains($0) }
    }

    /// Whether a JSON value is meant as an envelope.
    package static func isOne(_ json: JSONValue) -> Bool { isOne(Fields(of: json)) }

    /// Reads an envelope; nothing of it is checked yet.
    ///
    /// - Throws: ``Failure`` 422 naming the field.
    init(_ fields: Fields) throws(Failure) {
        guard let type = try fields.text("payloadType"), type.hasSuffix("json") else {
            throw Failure(.badField, "payloadType must be a JSON type, such as \(Self.mapType)")
        }
        guard let text = try fields.text("payload"), let bytes = Base64.decode(text) else {
            throw Failure(.badField, "payload must be the document in base64")
        }
        guard let list = fields["signatures"]?.arrayValue, list.count <= Self.maximumSignatures else {
            throw Failure(.badField, "signatures must be an array of at most \(Self.maximumSignatures)")
        }
        payloadType = type
        payload = bytes
        signatures = []
        for (index, element) in list.enumerated() {
            guard let text = element["sig"]?.stringValue, let signature = Base64.decode(text) else {
                throw Failure(.badField, "signatures[\(index)].sig must be a signature in base64")
            }
            let keyID = element["keyid"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
            signatures.append(Signature(keyID: keyID, bytes: signature))
        }
    }

    /// Reads an envelope out of a JSON value.
    package init(_ json: JSONValue) throws(Failure) { try self.init(Fields(of: json)) }

    /// An envelope around a document, without a signature yet.
    package init(payloadType: String, payload: [UInt8]) {
        self.payloadType = payloadType
        self.payload = payload
        signatures = []
    }

    /// What is signed: DSSE's pre-authentication encoding of type and payload.
    var signedBytes: [UInt8] {
        let type = Array(payloadType.utf8)
        return Array("DSSEv1 \(type.count) ".utf8) + type + Array(" \(payload.count) ".utf8) + payload
    }

    /// Adds a signature; false when OpenSSL refuses.
    package mutating func sign(with key: SigningKey, id: String) -> Bool {
        guard let bytes = key.signature(of: signedBytes) else { return false }
        signatures.append(Signature(keyID: id, bytes: bytes))
        return true
    }

    /// The envelope as it is sent.
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("payloadType", payloadType)
        json.member("payload", Base64.encode(payload))
        json.key("signatures")
        json.beginArray()
        for signature in signatures {
            json.beginObject()
            if let id = signature.keyID { json.member("keyid", id) }
            json.member("sig", Base64.encode(signature.bytes))
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }
}

/// The keys that a receiver trusts, and how many of them must have signed.
package struct TrustedKeys: Sendable {
    /// The largest threshold.
    package static let maximumThreshold = 8
    /// The most signatures that are verified for one envelope: each costs about as much as storing a command.
    private static let maximumVerifications = 16

    private let keys: [(id: String, key: VerifyingKey)]
    private let threshold: Int

    /// No keys: nothing needs to be signed.
    package static let none = TrustedKeys([], threshold: 1)

    package init(_ keys: [(id: String, key: VerifyingKey)], threshold: Int) {
        self.keys = keys
        self.threshold = threshold
    }

    /// Whether what is unsigned is refused.
    package var arePinned: Bool { !keys.isEmpty }

    /// Whether these keys, or those of them that are still trusted, are enough.
    package func areEnough(_ signers: Set<VerifyingKey>) -> Bool {
        keys.count { signers.contains($0.key) } >= threshold
    }

    /// The names of these keys.
    package func names(of signers: Set<VerifyingKey>) -> [String] {
        keys.filter { signers.contains($0.key) }.map(\.id)
    }

    /// Verifies the signatures of an envelope; returns the keys whose signature is good, each once.
    ///
    /// A signature with a key id is checked against that key, one without against every key.
    ///
    /// - Throws: ``Failure``: 422 when there are more signatures than twice the threshold, before any is verified;
    ///   401 `BAD_SIGNATURE` when the good ones are too few.
    @discardableResult
    func check(_ envelope: SignedEnvelope) throws(Failure) -> Set<VerifyingKey> {
        guard arePinned else { return [] }
        guard envelope.signatures.count <= 2 * threshold else {
            throw Failure(
                .badField,
                "signatures has \(envelope.signatures.count) elements; at most \(2 * threshold) are accepted")
        }
        let message = envelope.signedBytes
        var good: Set<VerifyingKey> = []
        var goodSignatures: [SignedEnvelope.Signature] = []
        var verifications = 0
        for signature in envelope.signatures {
            for trusted in keys where signature.keyID == nil || signature.keyID == trusted.id {
                guard verifications < Self.maximumVerifications, !good.contains(trusted.key) else { continue }
                verifications += 1
                if trusted.key.verifies(signature.bytes, of: message) {
                    good.insert(trusted.key)
                    goodSignatures.append(signature)
                    break
                }
            }
        }
        guard good.count >= threshold else {
            let signatures = envelope.signatures.map { signature in
                "\(Self.shown(signature.keyID)) (\(fault(of: signature, isGood: goodSignatures.contains(signature))))"
            }
            throw Failure(
                .badSignature,
                "\(good.count) of \(threshold) required signatures are valid; found "
                    + (signatures.isEmpty ? "none" : signatures.joined(separator: ", "))
                    + "; trusted keys: " + keys.map { Self.shown($0.id) }.joined(separator: ", "))
        }
        return good
    }

    private func fault(of signature: SignedEnvelope.Signature, isGood: Bool) -> String {
        if isGood { return "valid" }
        guard let id = signature.keyID else { return "not valid for any trusted key" }
        return keys.contains { $0.id == id }
            ? "not valid: another key has this id, or the document was changed" : "not trusted"
    }

    /// A key id as it may be shown: one from outside may be anything.
    private static func shown(_ id: String?) -> String {
        guard let id else { return "a signature without a key id" }
        let isPlain = id.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ",") }
        return isPlain ? id.cut(to: 64) : id.cut(to: 64).debugDescription
    }
}
