import Waypost
package import WaypostMessages

/// A private key and the name that its signatures go by.
public struct Signer: Sendable {
    /// The key's id, as agents know it.
    let id: String
    private let key: SigningKey
    /// Further keys whose documents it may build on.
    private var others: [(id: String, key: VerifyingKey)] = []

    /// How far above what is known a revision is taken from what others may have written.
    static let longestStep: Int64 = 1_000_000

    package init(id: String, key: SigningKey) {
        self.id = id
        self.key = key
    }

    /// An Ed25519 key as PEM.
    ///
    /// - Throws: ``BackendError`` of kind `invalid` when it is none.
    public init(id: String, pem: String) throws(BackendError) {
        do {
            self.init(id: id, key: try SigningKey(text: pem))
        } catch {
            throw BackendError(.invalid, "signing key \(id): \(error)")
        }
    }

    /// Names a further key that is trusted, such as the one before this: what a broker keeps is changed and signed again
    /// only where this key or one of those has signed it.
    ///
    /// - Parameter pem: A public Ed25519 key.
    /// - Throws: ``BackendError`` of kind `invalid` when it is none.
    public mutating func trust(_ id: String, pem: String) throws(BackendError) {
        do {
            trust(id, try VerifyingKey(text: pem))
        } catch {
            throw BackendError(.invalid, "trusted key \(id): \(error)")
        }
    }

    package mutating func trust(_ id: String, _ key: VerifyingKey) { others.append((id, key)) }

    /// The keys of which one must have signed what a change builds on.
    var trusted: TrustedKeys { TrustedKeys([(id, key.verifyingKey)] + others, threshold: 1) }

    /// A command as it is sent, with the names of its receiver and its sender.
    func payload(
        _ command: Command, to audience: Audience, from sender: String
    ) throws(BackendError) -> [UInt8] {
        let json = try? JSONValue(parsing: command.encoded(), limits: .trustedFile)
        let names = ["aud": audience.description, "from": sender]
        let named = (json?.objectValue ?? [:]).merging(names.mapValues { .string($0) }) { $1 }
        return try envelope(JSONValue.object(named).serialized(), type: SignedEnvelope.commandType)
    }

    /// The bytes in an envelope with the signature.
    func envelope(_ payload: [UInt8], type: String) throws(BackendError) -> [UInt8] {
        var envelope = SignedEnvelope(payloadType: type, payload: payload)
        guard envelope.sign(with: key, id: id) else {
            throw BackendError(.notSent, "OpenSSL did not sign")
        }
        return envelope.encoded()
    }
}
