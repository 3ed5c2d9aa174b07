import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

/// SIGHUP: what changes while an agent runs, and what does not.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct ReloadTests {
    private func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    private func health(_ broker: TestBroker, _ more: [String] = []) async throws -> JSONValue {
        let ping = try await RunningCommand.run(
            ["ping", "--agent", "k1", "--json", "--broker", broker.url] + more)
        return try JSONValue(parsing: try #require(ping.output.first, "\(ping.errorLines)"))["result"]
            ?? .null
    }

    @Test func `the log level and the limits change at once, and settings that need a restart are named`()
        async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let file = broker.directory + "/agent.yaml"
        let fixed = "agent: k1\nbroker: \(broker.url)\nstate: \(broker.directory)/state\ndemo: true\n"
        try write(fixed, to: file)
        let agent = try CommandProcess(["agent", "--config", file])
        try await agent.printedError("agent k1 online")
        #expect(try await health(broker)["limits"]?["intakeRate"] == 50)

        try write(fixed + "intake-rate: 7\nlog-level: v\ngroup: [lobby]\nmetrics: 127.0.0.1:1\n", to: file)
        agent.send(signal: SIGHUP)
        try await agent.printedError("these settings need a restart of the agent: group, metrics")
        let after = try await health(broker)
        #expect(after["limits"]?["intakeRate"] == 7)
        // Nothing about the connection has changed.
        #expect(after["counters"]?["connects"] == 1)
        let open = ["open", "scheme://router/demo", "--agent", "k1", "--broker", broker.url]
        #expect(try await RunningCommand.run(open).status == 0)
        let replay = ["replay", "--agent", "k1", "--broker", broker.url, "-v", "brief"]
        let lines = try await RunningCommand.run(replay).output
        #expect(lines.contains { $0.hasPrefix("V/Router") }, "\(lines)")
        agent.send(signal: SIGTERM)
        #expect(try await agent.ending().status == 0)
    }

    @Test func `a configuration that is wrong is refused, and nothing changes`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let file = broker.directory + "/agent.yaml"
        let good = "agent: k1\nbroker: \(broker.url)\nstate: \(broker.directory)/state\ndemo: true\n"
        try write(good + "intake-rate: 9\n", to: file)
        let agent = try CommandProcess(["agent", "--config", file])
        try await agent.printedError("agent k1 online")
        try write(good + "intake-rate: 10\nlog-levle: v\n", to: file)
        agent.send(signal: SIGHUP)
        try await agent.printedError("did you mean log-level?; nothing has changed")
        #expect(try await health(broker)["limits"]?["intakeRate"] == 9)
        agent.send(signal: SIGTERM)
        #expect(try await agent.ending().status == 0)
    }

    @Test func `a new password in its file lets the agent in again`() async throws {
        let first = try await offThePool { try TestBroker.passwordFile(user: "k1", password: "one").get() }
        let broker = try await TestBroker.start(
            ["password_file @dir/passwords"], files: ["passwords": first, "password": "one\n"])
        defer { broker.end() }
        let agent = try AgentProcess(
            "k1", broker: broker.url,
            arguments: [
                "--demo", "--username", "k1", "--password-file", broker.directory + "/password",
            ])
        try await agent.online()
        let second = try await offThePool { try TestBroker.passwordFile(user: "k1", password: "two").get() }
        try write(second, to: broker.directory + "/passwords")
        try await broker.restart()
        try await agent.printed("refused with Not authorized")
        try write("two\n", to: broker.directory + "/password")
        kill(agent.processID, SIGHUP)
        try await agent.printed("reconnecting with renewed credentials")
        let signedIn = ["--username", "k1", "--password-file", broker.directory + "/password"]
        let ping = try await RunningCommand.run(
            ["ping", "--agent", "k1", "--broker", broker.url, "--wait", "30s"] + signedIn)
        #expect(ping.status == 0, "\(ping.errorLines)")
        #expect(try await agent.terminate() == 0)
    }

    /// An agent whose certificate lives for some minutes, of which most are over, at a broker that wants one.
    private func endingSoon(
        _ script: String, _ body: (TestCertificates, TestBroker, AgentProcess) async throws -> Void
    ) async throws {
        let certificates = try await offThePool {
            let certificates = try TestCertificates()
            try certificates.issueClient("k1", from: -600, to: 120)
            try certificates.issueClient("next", from: -60, to: 86_400)
            try certificates.issueClient("stranger", from: -60, to: 86_400, by: "other-ca")
            return certificates
        }
        defer { certificates.remove() }
        let program = certificates["renew"]
        try write("#!/bin/sh\ncd '\(certificates.directory)'\n\(script)\n", to: program)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
        let broker = try await TestBroker.start([
            "allow_anonymous true", "cafile \(certificates["ca.pem"])", "require_certificate true",
            "certfile \(certificates["server.pem"])", "keyfile \(certificates["server.key"])",
        ])
        defer { broker.end() }
        let agent = try AgentProcess(
            "k1", broker: "mqtts://localhost:\(broker.port)",
            arguments: [
                "--demo", "--health-interval", "1", "--renew", program, "--renew=--now", "--ca-file",
                certificates["ca.pem"], "--cert-file", certificates["k1.pem"], "--key-file",
                certificates["k1.key"],
            ])
        try await body(certificates, broker, agent)
        #expect(try await agent.terminate() == 0)
    }

    private func certificate(
        _ certificates: TestCertificates, _ broker: TestBroker
    ) async throws -> (document: JSONValue?, check: JSONValue?) {
        let health = try await health(
            broker,
            [
                "--wait", "30s", "--broker", "mqtts://localhost:\(broker.port)", "--ca-file",
                certificates["ca.pem"], "--cert-file", certificates["next.pem"], "--key-file",
                certificates["next.key"],
            ])
        return (
            health["certificate"], health["checks"]?.arrayValue?.first { $0["name"] == "certificate" }
        )
    }

    @Test func `a program makes a newer certificate when it is due, and the agent connects with it`()
        async throws
    {
        let script = """
            test "$1" = --now || exit 3
            cp next.key "$WAYPOST_NEW_KEY_FILE"
            cp next.pem part && mv part "$WAYPOST_NEW_CERT_FILE"
            """
        try await endingSoon(script) { certificates, broker, agent in
            let old = try Data(contentsOf: URL(fileURLWithPath: certificates["k1.pem"]))
            try await agent.printed("k1.pem is a new certificate, which the broker took")
            try await broker.waitForLog(containing: " as k1 ", times: 2)
            let (document, check) = try await certificate(certificates, broker)
            #expect(document?["last"]?["ok"] == true && check?["state"] == "ok", "\(document ?? .null)")
            let new = try Data(contentsOf: URL(fileURLWithPath: certificates["k1.pem"]))
            #expect(try new != old && new == Data(contentsOf: URL(fileURLWithPath: certificates["next.pem"])))
            for file in ["k1.pem.new", "k1.key.new"] {
                #expect(!FileManager.default.fileExists(atPath: certificates[file]))
            }
        }
    }

    @Test func `a certificate that the broker refuses is kept out, and a better one beside it is taken`()
        async throws
    {
        let script = """
            test -e better && exit 0
            cp stranger.key "$WAYPOST_NEW_KEY_FILE"
            cp stranger.pem part && mv part "$WAYPOST_NEW_CERT_FILE"
            """
        try await endingSoon(script) { certificates, broker, agent in
            let old = try Data(contentsOf: URL(fileURLWithPath: certificates["k1.pem"]))
            try await agent.printed("k1.pem.new is kept out: ")
            let (document, check) = try await certificate(certificates, broker)
            #expect(document?["last"]?["ok"] == false && check?["state"] == "failed", "\(document ?? .null)")
            #expect(check?["detail"]?.stringValue?.contains("is kept out") == true)
            #expect(try Data(contentsOf: URL(fileURLWithPath: certificates["k1.pem"])) == old)
            try write("", to: certificates["better"])
            try certificates.copy("next.key", to: "k1.key.new")
            try certificates.copy("next.pem", to: "k1.pem.new")
            try await agent.printed("k1.pem is a new certificate, which the broker took")
            try await broker.waitForLog(containing: " as k1 ", times: 2)
        }
    }

    @Test func `a renewal without a certificate is one sentence`() async throws {
        let run = try await RunningCommand.run([
            "agent", "--agent", "k1", "--demo", "--broker", "mqtt://localhost:1", "--renew", "/bin/true",
        ])
        #expect(run.status == 64 && run.errorLines.joined().contains("renew needs cert-file"), "\(run)")
    }

    @Test func `a renewed certificate is taken up, and health tells its end`() async throws {
        let certificates = try await offThePool { try TestCertificates() }
        defer { certificates.remove() }
        let broker = try await TestBroker.start(
            [
                "allow_anonymous true", "cafile \(certificates["ca.pem"])", "require_certificate true",
                "certfile \(certificates["server.pem"])", "keyfile \(certificates["server.key"])",
            ])
        defer { broker.end() }
        let url = "mqtts://localhost:\(broker.port)"
        let trust = [
            "--ca-file", certificates["ca.pem"], "--cert-file", certificates["client.pem"], "--key-file",
            certificates["client.key"],
        ]
        let agent = try AgentProcess("k1", broker: url, arguments: ["--demo"] + trust)
        try await agent.online()
        func ask() async throws -> JSONValue {
            let ping = try await RunningCommand.run(
                ["ping", "--agent", "k1", "--json", "--broker", url, "--wait", "30s"] + trust)
            return try JSONValue(parsing: try #require(ping.output.first, "\(ping.errorLines)"))["result"]
                ?? .null
        }
        let before = try await ask()
        let check = before["checks"]?.arrayValue?.first { $0["name"] == "certificate" }
        #expect(check?["ok"] == true)
        // They were made a moment ago, for 30 days.
        let detail = try #require(check?["detail"]?.stringValue)
        let month = /own expires in (29|30) days; the broker's expires in (29|30) days/
        #expect(detail.wholeMatch(of: month) != nil, "\(detail)")
        // The same certificate in a new file: that is what a renewal looks like from here.
        try certificates.copy("client.pem", to: "client.pem")
        kill(agent.processID, SIGHUP)
        try await agent.printed("reconnecting with renewed credentials or certificates")
        try await broker.waitForLog(containing: " as k1 ", times: 2)
        #expect(try await ask()["counters"]?["connects"] == 2)
        #expect(try await agent.terminate() == 0)
    }
}
