import ArgumentParser
import Waypost
import WaypostMessages

/// The key that signs a document or a command, if there is one.
struct SignOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Sign with this private key (PEM, Ed25519). ID is the key id in the signature.",
            discussion: "Default ID: the file's name.", valueName: "[id=]file"))
    var signKey: String?

    /// Whether what is sent is signed.
    var isGiven: Bool { signKey != nil }

    /// A command as it is sent: when there is a key, signed, with the names of its receiver and its sender.
    func payload(_ command: Command, to audience: Audience, from sender: String) throws -> [UInt8] {
        guard let signer = try signer() else { return command.encoded() }
        let json = try JSONValue(parsing: command.encoded(), limits: .trustedFile)
        let names = ["aud": audience.description, "from": sender]
        let named = (json.objectValue ?? [:]).merging(names.mapValues { .string($0) }) { $1 }
        return try signer.envelope(
            JSONValue.object(named).serialized(), type: SignedEnvelope.commandType)
    }

    /// The signer; nil when nothing is to be signed.
    ///
    /// - Throws: ``CommandError`` 64 naming the file.
    func signer() throws(CommandError) -> Signer? {
        guard let file = signKey.map(KeyFile.init) else { return nil }
        let text = try file.readSecret(purpose: "signing key")
        do {
            return Signer(id: file.id, key: try SigningKey(text: text))
        } catch {
            throw CommandError(.usage, "signing key \(file.path): \(error)")
        }
    }
}

/// A private key and the name that its signatures go by.
struct Signer {
    let id: String
    let key: SigningKey

    /// The bytes in an envelope with the signature.
    func envelope(_ payload: [UInt8], type: String) throws(CommandError) -> [UInt8] {
        var envelope = SignedEnvelope(payloadType: type, payload: payload)
        guard envelope.sign(with: key, id: id) else { throw CommandError(.failed, "OpenSSL did not sign") }
        return envelope.encoded()
    }
}
