import Glibc
import MQTTLink
import TestSupport
import Testing

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct TLSTests {
    /// A broker with one of the test's certificates, and what a client needs to trust it.
    private func withTLS(
        server: String = "server", more: [String] = [],
        _ body: (TestBroker, TestCertificates) async throws -> Void
    ) async throws {
        let certificates = try await offThePool { try TestCertificates() }
        defer { certificates.remove() }
        let broker = try await TestBroker.start(
            [
                "allow_anonymous true", "cafile \(certificates["ca.pem"])",
                "certfile \(certificates["\(server).pem"])", "keyfile \(certificates["\(server).key"])",
            ] + more)
        defer { broker.end() }
        try await body(broker, certificates)
    }

    private func configuration(
        _ broker: TestBroker, _ tls: TLSOptions, host: String = "localhost",
        _ change: (inout MQTTLinkConfiguration) -> Void = { _ in }
    ) throws -> MQTTLinkConfiguration {
        try .test(url: "mqtts://\(host):\(broker.port)", subscriptions: [Subscription("a")]) {
            $0.tls = tls
            change(&$0)
        }
    }

    private func finding(_ configuration: MQTTLinkConfiguration) async throws -> String {
        try await withLink(configuration) { _, recorder in
            let reason = try await recorder.disconnected()
            guard case .tls(let text) = reason.cause else {
                Issue.record("\(reason)")
                return ""
            }
            return text
        }
    }

    @Test(arguments: [TLSOptions.MinimumVersion.v12, .v13], ["localhost", "127.0.0.1"])
    func `with the right authority it works, by name and by address`(
        version: TLSOptions.MinimumVersion, host: String
    ) async throws {
        try await withTLS { broker, certificates in
            let tls = TLSOptions(caFile: certificates["ca.pem"], minimumVersion: version)
            try await withLink(try configuration(broker, tls, host: host)) { link, recorder in
                try await recorder.connected()
                // More than one TLS record, and more than one read of the socket.
                link.publish((0..<300).map { OutgoingMessage($0, "a", String(repeating: "x", count: 500)) })
                try await recorder.received(300)
                try await recorder.settled(300)
            }
        }
    }

    @Test func `a connection has the broker's certificate and its end date`() async throws {
        try await withTLS { broker, certificates in
            let tls = TLSOptions(caFile: certificates["ca.pem"])
            try await withLink(try configuration(broker, tls)) { _, recorder in
                let certificate = try #require(try await recorder.connected().certificate)
                #expect(certificate == Certificate.inFile(certificates["server.pem"]).first)
                #expect(certificate.subject == "/CN=server")
                #expect(certificate.issuer == "/CN=ca")
                #expect(certificate.notAfter - certificate.notBefore == 30 * 86_400)
            }
        }
        #expect(Certificate.inFile("/nonexistent").isEmpty)
    }

    /// What OpenSSL's server prints of one connection, and why that ended.
    ///
    /// It sends each line back from its end to its beginning: with this password a packet that no broker sends.
    private func openSSL(
        _ certificates: TestCertificates, takes name: String, offers offered: String?
    ) async throws -> (output: String, cause: DisconnectReason.Cause) {
        let port = try FreePort.find()
        async let server = Tool.run(
            "openssl",
            [
                "s_server", "-accept", "127.0.0.1:\(port)", "-naccept", "1", "-rev", "-alpn", name, "-cert",
                certificates["server.pem"], "-key", certificates["server.key"],
            ], hasErrors: true)
        let configuration = try MQTTLinkConfiguration.test(url: "mqtts://localhost:\(port)") {
            $0.tls = TLSOptions(caFile: certificates["ca.pem"], alpn: offered)
            $0.credentials = Credentials(username: "u", password: "\u{1}a\n")
            $0.protocolVersion = .v311
        }
        let cause = try await withLink(configuration) { _, recorder in
            try await recorder.log.wait(for: "a connection that the server took") { events in
                events.contains { $0.reason.map { ![.resolving, .connecting].contains($0.stage) } ?? false }
            }
            return try #require(recorder.reasons.first { ![.resolving, .connecting].contains($0.stage) })
                .cause
        }
        return (try await server.output, cause)
    }

    @Test
    func
        `the application protocol is named in the handshake, and one that the server has not is an end of TLS`()
        async throws
    {
        let certificates = try await offThePool { try TestCertificates() }
        defer { certificates.remove() }
        let taken = try await openSSL(
            certificates, takes: "http/1.1,x-amzn-mqtt-ca", offers: "x-amzn-mqtt-ca")
        #expect(taken.output.contains("ALPN protocols selected: x-amzn-mqtt-ca"), "\(taken)")
        let other = try await openSSL(certificates, takes: "http/1.1", offers: "x-amzn-mqtt-ca")
        if case .tls(let text) = other.cause {
            #expect(text.contains("no application protocol"), "\(other)")
        } else {
            Issue.record("\(other)")
        }
        let none = try await openSSL(certificates, takes: "http/1.1", offers: nil)
        #expect(!none.output.contains("ALPN protocols selected"), "\(none)")
        for name in ["", "a\u{0}b", String(repeating: "x", count: 256)] {
            #expect(TLSOptions(alpn: name).fault?.contains("1 to 255 bytes") == true, "\(name)")
        }
        #expect(TLSOptions(alpn: String(repeating: "x", count: 255)).fault == nil)
    }

    @Test func `a server of another authority is refused`() async throws {
        try await withTLS { broker, certificates in
            let text = try await finding(
                try configuration(broker, TLSOptions(caFile: certificates["other-ca.pem"])))
            #expect(text.contains("certificate verify failed"))
            #expect(
                text.contains("self-signed certificate") || text.contains("issuer certificate"), "\(text)")
        }
    }

    @Test func `without a file the system's authorities count, and ours is none of them`() async throws {
        try await withTLS { broker, _ in
            let text = try await finding(try configuration(broker, TLSOptions()))
            #expect(text.contains("certificate verify failed"))
        }
    }

    @Test func `an expired server is refused, and the reason says so`() async throws {
        try await withTLS(server: "expired") { broker, certificates in
            let text = try await finding(
                try configuration(broker, TLSOptions(caFile: certificates["ca.pem"])))
            #expect(text.contains("certificate has expired"))
        }
    }

    @Test func `a server of another name is refused, and the reason says so`() async throws {
        try await withTLS(server: "elsewhere") { broker, certificates in
            let text = try await finding(
                try configuration(broker, TLSOptions(caFile: certificates["ca.pem"])))
            #expect(text.lowercased().contains("host name verification failed"))
        }
    }

    @Test func `a missing authority file is named`() async throws {
        try await withTLS { broker, certificates in
            let text = try await finding(
                try configuration(broker, TLSOptions(caFile: certificates["nowhere.pem"])))
            #expect(text.contains("nowhere.pem"))
        }
    }

    @Test func `mutual TLS accepts a client with a certificate, and no other`() async throws {
        try await withTLS(more: ["require_certificate true"]) { broker, certificates in
            let trust = TLSOptions(caFile: certificates["ca.pem"])
            try await withLink(try configuration(broker, trust)) { _, recorder in
                let reason = try await recorder.disconnected()
                // In TLS 1.3 the broker's alert comes after our part is done, and a write may meet its end first.
                let text = reason.description
                #expect(
                    text.contains("certificate required") || text.contains("client certificate"), "\(text)")
            }
            var known = trust
            known.certificateFile = certificates["client.pem"]
            known.keyFile = certificates["client.key"]
            try await withLink(try configuration(broker, known)) { _, recorder in
                try await recorder.connected()
            }
        }
    }

    @Test func `plain MQTT to a TLS port and TLS to a plain port fail with a hint`() async throws {
        try await withTLS(more: ["listener 0 @dir/unused"]) { broker, certificates in
            try await withLink(try .test(url: broker.url) { $0.protocolVersion = .v5 }) { _, recorder in
                let reason = try await recorder.disconnected()
                #expect(
                    reason.description.contains("does this port expect TLS") || reason.stage == .handshaking)
            }
            let plain = try await TestBroker.start()
            defer { plain.end() }
            try await withLink(try configuration(plain, TLSOptions(caFile: certificates["ca.pem"]))) {
                _, recorder in
                let reason = try await recorder.disconnected()
                #expect(reason.stage == .securing, "\(reason)")
            }
        }
    }

    @Test(arguments: TestCertificates.Encryption.allCases)
    func `a key with a passphrase is named, now and when it comes later, and nobody is asked`(
        encryption: TestCertificates.Encryption
    ) async throws {
        try await withTLS(more: ["require_certificate true"]) { broker, certificates in
            try certificates.encrypt("client.key", to: "encrypted.key", as: encryption)
            try certificates.copy("encrypted.key", to: "mine.key")
            let tls = TLSOptions(
                caFile: certificates["ca.pem"], certificateFile: certificates["client.pem"],
                keyFile: certificates["mine.key"])
            try await withLink(try configuration(broker, tls)) { _, recorder in
                #expect(try await recorder.disconnected().description.contains("mine.key is encrypted"))
                try certificates.copy("client.key", to: "mine.key")
                try await recorder.connectedAgain()
                try certificates.copy("encrypted.key", to: "mine.key")
                try await broker.restart()
                try await recorder.log.wait(for: "another reason for the key") { events in
                    events.count { $0.reason?.description.contains("mine.key is encrypted") == true } == 2
                }
            }
        }
    }

    @Test func `what OpenSSL would ask a passphrase for is answered with none`() async throws {
        try await withTLS { broker, certificates in
            try certificates.claimEncryption(of: "client.pem", to: "asks.pem")
            #expect(Certificate.inFile(certificates["asks.pem"]).isEmpty)
            let tls = TLSOptions(
                caFile: certificates["ca.pem"], certificateFile: certificates["asks.pem"],
                keyFile: certificates["client.key"])
            let text = try await finding(try configuration(broker, tls))
            #expect(text.contains("asks.pem") && text.contains("bad password read"), "\(text)")
            let authority = TLSOptions(caFile: certificates["asks.pem"])
            #expect(try await finding(try configuration(broker, authority)).contains("asks.pem"))
        }
    }

    @Test func `a pipe in the place of a file is named, and nothing waits for its other end`() async throws {
        try await withTLS { broker, certificates in
            #expect(mkfifo(certificates["pipe"], 0o600) == 0)
            let text = try await finding(
                try configuration(broker, TLSOptions(caFile: certificates["pipe"])))
            #expect(text.contains("pipe is no regular file"), "\(text)")
        }
    }

    @Test func `certificates are read again on each connect`() async throws {
        try await withTLS { broker, certificates in
            let file = certificates["mine.pem"]
            try certificates.copy("other-ca.pem", to: "mine.pem")
            try await withLink(try configuration(broker, TLSOptions(caFile: file))) { _, recorder in
                try await recorder.disconnected()
                try certificates.copy("ca.pem", to: "mine.pem")
                try await recorder.connectedAgain()
            }
        }
    }
}
