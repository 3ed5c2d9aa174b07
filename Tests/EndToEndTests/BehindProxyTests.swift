import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

/// An agent and an operator behind a SOCKS5 proxy with a password.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct BehindProxyTests {
    @Test func `agent and commands go through it, and nothing that is shown has its password`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let proxy = try await SocksProxy(user: "kiosk", password: "geheim")
        let url = "socks5://kiosk:geheim@127.0.0.1:\(proxy.port)"
        let directory = AgentWords.newDirectory()
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let file = directory + "/agent.yaml"
        try Data("broker: \(broker.url)\nproxy: \(url)\n".utf8).write(to: URL(fileURLWithPath: file))
        // With a password in it the file is nobody else's.
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        let open = try await RunningCommand.run(
            ["ping", "--agent", "k1", "--config", file], environment: [:])
        #expect(open.status == 64 && open.errorLines.joined().contains("with a password"), "\(open)")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let agent = try RunningCommand(
            ["agent", "--agent", "k1", "--demo", "--state", directory + "/state", "--config", file],
            environment: [:])
        try await agent.printedError("online at")
        let environment = ["WAYPOST_BROKER": broker.url, "WAYPOST_PROXY": url]
        let ping = try await RunningCommand.run(["ping", "--agent", "k1"], environment: environment)
        #expect(ping.status == 0, "\(ping)")
        #expect(proxy.log.count { $0.contains("connected to 127.0.0.1:\(broker.port)") } >= 2, "\(proxy.log)")
        let health = try await RunningCommand.run(["health", "k1", "--json"], environment: environment)
        let doctor = try await RunningCommand.run(["doctor", "--agent", "k1"], environment: environment)
        proxy.end()
        try await agent.printedError("the proxy socks5://127.0.0.1:\(proxy.port) can't be reached")
        let lost = try await RunningCommand.run(["ping", "--agent", "k1"], environment: environment)
        #expect(lost.status == 4 && lost.errorLines.joined().contains("can't be reached"), "\(lost)")
        agent.send(signal: SIGTERM)
        _ = try await agent.status()
        for run in [ping, health, doctor, lost] {
            #expect(!(run.output + run.errorLines).joined().contains("geheim"), "\(run)")
        }
        #expect(!agent.errorLines.joined().contains("geheim"), "\(agent.errorLines)")
    }

    @Test(arguments: [
        (["--proxy", "http://user:geheim@proxy:1080"], "expected socks5://"),
        (["--proxy", "socks5://user:geheim@proxy"], "it has no port"),
        (["--proxy", "socks5://proxy:1080", "--mqtt", "5"], "does not go through a proxy"),
    ])
    func `what is no proxy says so, without its password`(options: [String], text: String) async throws {
        let run = try await RunningCommand.run(["ping", "--agent", "k1"] + options, environment: [:])
        #expect(run.status == 64 && run.errorLines.joined().contains(text), "\(run)")
        #expect(!run.errorLines.joined().contains("geheim"), "\(run)")
    }
}
