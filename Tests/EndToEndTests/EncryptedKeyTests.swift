import TestSupport
import Testing

/// Keys with a passphrase: a program that runs by itself has nobody to ask for it.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct EncryptedKeyTests {
    private func options(_ certificates: TestCertificates, certificate: String, key: String) -> String {
        "--broker mqtts://localhost:1 --ca-file \(certificates["ca.pem"]) "
            + "--cert-file \(certificates[certificate]) --key-file \(certificates[key])"
    }

    @Test(
        arguments: TestCertificates.Encryption.allCases,
        ["agent --agent k1", "ping --agent k1", "doctor", "profile add test"])
    func `a key with a passphrase ends every command at once, also at a terminal`(
        encryption: TestCertificates.Encryption, command: String
    ) async throws {
        let certificates = try await offThePool { try TestCertificates() }
        defer { certificates.remove() }
        try certificates.encrypt("client.key", to: "encrypted.key", as: encryption)
        let words = options(certificates, certificate: "client.pem", key: "encrypted.key")
        let terminal = try TerminalSession(
            "$WAYPOST \(command) \(words)", environment: ["XDG_CONFIG_HOME": certificates.directory])
        try await terminal.shows("encrypted.key is encrypted")
        #expect(try await terminal.status() == 64)
        #expect(!terminal.text.contains("pass phrase"))
    }

    @Test func `what would make OpenSSL ask is a reason for the agent, and it stops when it is told to`()
        async throws
    {
        let certificates = try await offThePool { try TestCertificates() }
        defer { certificates.remove() }
        try certificates.claimEncryption(of: "client.pem", to: "asks.pem")
        let words = options(certificates, certificate: "asks.pem", key: "client.key")
        let terminal = try TerminalSession(
            "exec $WAYPOST agent --agent k1 --state \(certificates["state"]) \(words)")
        try await terminal.shows("bad password read")
        try terminal.type("\u{3}")
        #expect(try await terminal.status() == 0)
        #expect(!terminal.text.contains("pass phrase"))
    }
}
