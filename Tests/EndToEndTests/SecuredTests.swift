import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

/// TLS, sign-in and rights, with the agent and the operator as processes at a real broker.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct SecuredTests {
    /// A broker with TLS, and what a client needs for it.
    private final class Secured: Sendable {
        let certificates: TestCertificates
        let broker: TestBroker

        var url: String { "mqtts://localhost:\(broker.port)" }
        var trust: [String] { ["--ca-file", certificates["ca.pem"]] }

        init(
            server: String = "server", more: [String] = ["allow_anonymous true"],
            files: [String: String] = [:]
        ) async throws {
            certificates = try await offThePool { try TestCertificates() }
            broker = try await TestBroker.start(
                [
                    "cafile \(certificates["ca.pem"])", "certfile \(certificates["\(server).pem"])",
                    "keyfile \(certificates["\(server).key"])",
                ] + more, files: files)
        }

        deinit {
            broker.end()
            certificates.remove()
        }

        func run(_ arguments: [String]) async throws -> RunningCommand.Ending {
            try await RunningCommand.run(arguments + ["--broker", url])
        }
    }

    private static let rights = """
        user k1
        topic readwrite waypost/v1/k1/#
        topic read waypost/v1/@all/#
        user ops
        topic write waypost/v1/+/cmd/ops
        topic read waypost/v1/+/reply/ops
        topic read waypost/v1/+/state
        topic read waypost/v1/+/health
        user guest
        topic read waypost/v1/+/state
        user mute
        topic read waypost/v1/#
        """

    /// Passwords and rights for an agent, a sender, and two who may do less.
    private static func guarded() async throws -> Secured {
        let names = ["k1", "ops", "guest", "mute"]
        let passwords = try await offThePool {
            try names.map { try TestBroker.passwordFile(user: $0, password: "\($0)-password").get() }.joined()
        }
        let words = Dictionary(uniqueKeysWithValues: names.map { ($0, "\($0)-password\n") })
        return try await Secured(
            more: ["password_file @dir/passwords", "acl_file @dir/acl"],
            files: words.merging(["passwords": passwords, "acl": rights, "wrong": "wrong\n"]) { $1 })
    }

    private static func signIn(_ name: String, _ secured: Secured, password: String? = nil)
        -> [String]
    {
        [
            "--username", name, "--password-file", "\(secured.broker.directory)/\(password ?? name)",
        ] + secured.trust
    }

    @Test func `with TLS, passwords and rights, commands go and answers come`() async throws {
        let secured = try await Self.guarded()
        let agent = try RunningAgent(
            "k1", broker: secured.url, arguments: ["--demo"] + Self.signIn("k1", secured))
        try await agent.online()
        let ops = Self.signIn("ops", secured)
        let open = try await secured.run(["open", "scheme://router/demo", "--agent", "k1"] + ops)
        #expect(open.status == 0, "\(open.errorLines)")
        let ping = try await secured.run(["ping", "--agent", "k1", "--json"] + ops)
        let health = try JSONValue(parsing: try #require(ping.output.first))["result"]
        #expect(health?["status"] == "green")
        let certificate = health?["checks"]?.arrayValue?.first { $0["name"] == "certificate" }?["detail"]
        // It was made a moment ago, for 30 days.
        let month = (29...30).map { JSONValue.string("the broker's expires in \($0) days") }
        #expect(certificate.map(month.contains) == true, "\(String(describing: certificate))")
        let doctor = try await secured.run(["doctor", "--agent", "k1", "--json"] + ops)
        #expect(doctor.output.contains { $0.contains("is valid for localhost") })
        #expect(try await agent.terminate() == 0)
        for line in [open, ping, doctor].flatMap({ $0.output + $0.errorLines }) {
            #expect(!line.contains("-password\""))
        }
    }

    @Test func `a wrong password is reported by the operator and by the agent, without the password`()
        async throws
    {
        let secured = try await Self.guarded()
        let wrong = Self.signIn("k1", secured, password: "wrong")
        let ending = try await secured.run(["agents"] + wrong)
        #expect(ending.status == 4)
        #expect(ending.errorLines.joined().contains("check the user name"), "\(ending.errorLines)")
        let agent = try RunningAgent("k1", broker: secured.url, arguments: ["--demo"] + wrong)
        try await agent.printed("refused with Not authorized (0x87)")
        #expect(try await agent.terminate() == 0)
    }

    @Test(arguments: ["5", "3.1.1"])
    func `a denied publish ends with 1 where the broker says so, else with 3 and where to look`(
        _ version: String
    ) async throws {
        let secured = try await Self.guarded()
        let agent = try RunningAgent(
            "k1", broker: secured.url, arguments: ["--demo"] + Self.signIn("k1", secured))
        try await agent.online()
        let ending = try await secured.run(
            [
                "open", "scheme://router/demo", "--agent", "k1", "--as", "mute", "--wait", "1s", "--mqtt",
                version,
            ]
                + Self.signIn("mute", secured))
        if version == "5" {
            #expect(ending.status == 1)
            #expect(ending.errorLines.joined().contains("Not authorized (0x87); check its rules for mute"))
        } else {
            #expect(ending.status == 3)
            #expect(ending.errorLines.joined().contains("does not answer; see: waypost doctor --agent k1"))
        }
        #expect(try await agent.terminate() == 0)
    }

    @Test func `a denied subscription is found by the doctor, though the broker grants it`() async throws {
        let secured = try await Self.guarded()
        let agent = try RunningAgent(
            "k1", broker: secured.url, arguments: ["--demo"] + Self.signIn("k1", secured))
        try await agent.online()
        // As an agent that it is not: it may neither write nor read the echo.
        let ending = try await secured.run(
            [
                "doctor", "--local", "--sign-in", "--agent", "k1", "--state", agent.directory, "--json",
                "--mqtt",
                "3.1.1",
            ]
                + Self.signIn("guest", secured))
        #expect(ending.status == 1)
        #expect(ending.output.contains { $0.contains("did not come back") }, "\(ending.output)")
        #expect(try await agent.terminate() == 0)
    }

    @Test func `what an agent may not publish it names`() async throws {
        let secured = try await Self.guarded()
        let agent = try RunningAgent(
            "k7", broker: secured.url, arguments: ["--demo"] + Self.signIn("mute", secured))
        try await agent.printed("the broker refused a message on waypost/v1/k7/state: Not authorized (0x87)")
        #expect(try await agent.terminate() == 0)
    }

    @Test(
        arguments: [
            (
                "server", "other-ca.pem",
                "self-signed certificate in certificate chain|unable to get local issuer"
            ),
            ("expired", "ca.pem", "certificate has expired"),
            ("elsewhere", "ca.pem", "mismatch|not match|host name"),
        ])
    func `a broker that can't be trusted is refused by the operator, the doctor and the agent`(
        _ server: String, _ authority: String, _ finding: String
    ) async throws {
        let secured = try await Secured(server: server)
        let trust = ["--ca-file", secured.certificates[authority]]
        func says(_ text: String) -> Bool {
            text.contains("TLS failed") && finding.split(separator: "|").contains { text.contains($0) }
        }
        let ending = try await secured.run(["agents"] + trust)
        #expect(ending.status == 4)
        #expect(says(ending.errorLines.joined()), "\(ending.errorLines)")
        let doctor = try await secured.run(["doctor"] + trust)
        #expect(doctor.status == 4)
        #expect(says(doctor.output.joined()), "\(doctor.output)")
        let agent = try RunningAgent("k1", broker: secured.url, arguments: ["--demo"] + trust)
        try await agent.printed("TLS failed")
        #expect(try await agent.terminate() == 0)
    }

    @Test func `mutual TLS accepts a client with a certificate, and no other`() async throws {
        let secured = try await Secured(more: ["allow_anonymous true", "require_certificate true"])
        let own = [
            "--cert-file", secured.certificates["client.pem"], "--key-file",
            secured.certificates["client.key"],
        ]
        let agent = try RunningAgent("k1", broker: secured.url, arguments: ["--demo"] + secured.trust + own)
        try await agent.online()
        let ping = try await secured.run(["ping", "--agent", "k1"] + secured.trust + own)
        #expect(ping.status == 0, "\(ping.errorLines)")
        let unknown = try await secured.run(["ping", "--agent", "k1"] + secured.trust)
        #expect(unknown.status == 4)
        #expect(unknown.errorLines.joined().contains("certificate"), "\(unknown.errorLines)")
        let late = try await secured.run(
            [
                "doctor", "--cert-file", secured.certificates["expired.pem"], "--key-file",
                secured.certificates["expired.key"],
            ] + secured.trust)
        #expect(late.status == 4)
        #expect(
            late.output.contains {
                $0.hasPrefix("failed ") && $0.contains(" certificate  the client's")
                    && $0.hasSuffix("has expired")
            },
            "\(late.output)")
        #expect(try await agent.terminate() == 0)
    }
}
