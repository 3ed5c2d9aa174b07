import ArgumentParser
import WaypostBackend
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

    /// The signer; nil when nothing must be signed.
    ///
    /// - Throws: ``CommandError`` 64 naming the file.
    func signer() throws(CommandError) -> Signer? {
        guard let file = signKey.map(KeyFile.init) else { return nil }
        return Signer(id: file.id, key: try file.signingKey(purpose: "signing key"))
    }
}

/// Further keys whose documents are changed and signed again.
struct TrustOptions: ParsableArguments {
    @Option(
        name: .customLong("trust-key"), parsing: .singleValue,
        help: ArgumentHelp(
            "With --sign-key: build on what this public key has signed, too (PEM, Ed25519); may be repeated.",
            discussion: "Default ID: the file's name.", valueName: "[id=]file"))
    var keys: [String] = []

    /// - Throws: ``CommandError`` 64 naming the file.
    func name(to signer: inout Signer?) throws(CommandError) {
        guard !keys.isEmpty else { return }
        guard signer != nil else { throw CommandError(.usage, "--trust-key needs --sign-key") }
        for file in keys.map(KeyFile.init) {
            signer?.trust(file.id, try file.verifyingKey(purpose: "trust key"))
        }
    }
}

extension SessionOptions {
    /// The broker and the sender, with the key that signs what is sent.
    func resolved(signedBy signing: SignOptions) async throws(CommandError) -> BackendConfiguration {
        var settings = try await resolved()
        settings.signer = try signing.signer()
        return settings
    }
}
