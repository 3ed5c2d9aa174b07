import Waypost
package import WaypostMessages

/// A private key and the name that its signatures go by.
package struct Signer: Sendable {
    package let id: String
    package let key: SigningKey

    package init(id: String, key: SigningKey) {
        self.id = id
        self.key = key
    }

    /// A command as it is sent, with the names of its receiver and its sender.
    package func payload(
        _ command: Command, to audience: Audience, from sender: String
    ) throws(BackendError) -> [UInt8] {
        let json = try? JSONValue(parsing: command.encoded(), limits: .trustedFile)
        let names = ["aud": audience.description, "from": sender]
        let named = (json?.objectValue ?? [:]).merging(names.mapValues { .string($0) }) { $1 }
        return try envelope(JSONValue.object(named).serialized(), type: SignedEnvelope.commandType)
    }

    /// The bytes in an envelope with the signature.
    package func envelope(_ payload: [UInt8], type: String) throws(BackendError) -> [UInt8] {
        var envelope = SignedEnvelope(payloadType: type, payload: payload)
        guard envelope.sign(with: key, id: id) else {
            throw BackendError(.notSent, "OpenSSL did not sign")
        }
        return envelope.encoded()
    }
}
