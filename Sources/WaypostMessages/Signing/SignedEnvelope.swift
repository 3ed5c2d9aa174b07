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
    /// The same for commands.
    package static let commandType = "application/vnd.waypost.command+json"

    package var payloadType: String
    /// The document's bytes.
    package var payload: [UInt8]
    package var signatures: [Signature]

    /// More than any threshold needs; each costs a check.
    private static let maximumSignatures = 16

    /// Whether an object is meant as an envelope.
    package static func isOne(_ json: JSONValue) -> Bool {
        json["payload"] != nil && json["signatures"] != nil && json["payloadType"] != nil
    }

    /// Reads an envelope; nothing of it is checked yet.
    ///
    /// - Throws: ``Rejection`` 422 naming the field.
    package init(_ json: JSONValue) throws(Rejection) {
        let fields = Fields(of: json)
        guard let type = try fields.text("payloadType"), type.hasSuffix("json") else {
            throw Rejection(.badField, "payloadType must be a JSON type, such as \(Self.mapType)")
        }
        guard let text = try fields.text("payload"), let bytes = Base64.decode(text) else {
            throw Rejection(.badField, "payload must be the document in base64")
        }
        guard let list = json["signatures"]?.arrayValue, list.count <= Self.maximumSignatures else {
            throw Rejection(.badField, "signatures must be an array of at most \(Self.maximumSignatures)")
        }
        payloadType = type
        payload = bytes
        signatures = []
        for (index, element) in list.enumerated() {
            guard let text = element["sig"]?.stringValue, let signature = Base64.decode(text) else {
                throw Rejection(.badField, "signatures[\(index)].sig must be a signature in base64")
            }
            signatures.append(Signature(keyID: element["keyid"]?.stringValue, bytes: signature))
        }
    }

    /// An envelope around a document, without a signature yet.
    package init(payloadType: String, payload: [UInt8]) {
        self.payloadType = payloadType
        self.payload = payload
        signatures = []
    }

    /// What is signed: DSSE's pre-authentication encoding of type and payload.
    package var signedBytes: [UInt8] {
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

    /// Counts the keys of which a signature is good; each counts once, whatever a signature calls itself.
    ///
    /// - Throws: ``Rejection`` 401 `BAD_SIGNATURE` when they are too few.
    package func check(_ envelope: SignedEnvelope) throws(Rejection) {
        guard arePinned else { return }
        let message = envelope.signedBytes
        let names = Set(keys.map(\.id))
        let good = keys.count { trusted in
            envelope.signatures.contains { signature in
                // The name is a hint that saves checks; one that says nothing to us is tried with every key.
                let mayBe = signature.keyID.map { $0 == trusted.id || !names.contains($0) } ?? true
                return mayBe && trusted.key.verifies(signature.bytes, of: message)
            }
        }
        guard good >= threshold else {
            throw Rejection(
                .badSignature,
                "\(good) of \(threshold) required signatures are valid; the document has "
                    + "\(envelope.signatures.count), and \(keys.count) keys are trusted")
        }
    }
}
