import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

/// `waypost health --local`: the agent itself is asked, never the broker.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct HealthTests {
    private func health(_ agent: some ObservedAgent, _ more: String...) async throws -> RunningCommand.Ending
    {
        try await RunningCommand.run(
            ["health", "--local", "--agent", agent.name, "--state", agent.directory] + more)
    }

    @Test func `with and without a broker the agent says how it is`() async throws {
        let site = try await Site.open()
        // Green is an agent that has tried on this connection what reaches it.
        _ = try await site.run("ping", "--agent", "k1")
        let online = try await health(site.agent)
        #expect(online.status == 0, "\(online)")
        #expect(online.output.first?.hasPrefix("k1: green, online, version ") == true, "\(online)")
        try await site.broker.stop()
        try await site.agent.printed("next try in")
        let offline = try await health(site.agent, "--json")
        #expect(offline.status == 1)
        let json = try JSONValue(parsing: try #require(offline.output.first))
        #expect(json["online"] == false && json["status"] == "red" && json["agent"] == "k1")
        let checks = json["checks"]?.arrayValue ?? []
        #expect(checks.filter { $0["state"] == "failed" }.compactMap { $0["name"]?.stringValue } == ["link"])
        let unknown = checks.filter { $0["state"] == "unknown" }.compactMap { $0["name"]?.stringValue }
        #expect(unknown == ["publishes", "subscriptions", "echo", "commands"], "\(offline)")
        #expect(try await site.agent.terminate() == 0)
        #expect(!FileManager.default.fileExists(atPath: site.agent.directory + "/health.sock"))
    }

    @Test func `red health ends with 1, and the agent counts as alive all the same`() async throws {
        // The broker refuses all that the agent writes.
        let broker = try await TestBroker.start(
            ["allow_anonymous true", "acl_file @dir/acl"], files: ["acl": "topic read waypost/v1/#\n"])
        defer { broker.end() }
        let agent = try RunningAgent("k1", broker: broker.url)
        try await agent.printed("the broker refused a message")
        let red = try await health(agent)
        #expect(red.status == 1)
        #expect(red.output.first?.hasPrefix("k1: red, ") == true, "\(red)")
        #expect(try await health(agent, "--alive").status == 0)
        #expect(try await agent.terminate() == 0)
    }

    @Test func `an agent that stands still does not answer, and one that was killed is not there`()
        async throws
    {
        let site = try await Site.openProcess()
        try await site.agent.freeze()
        let still = try await health(site.agent, "--wait", "1s", "--alive")
        site.agent.thaw()
        #expect(still.status == 3)
        #expect(still.errorLines.first?.contains("does not answer") == true, "\(still)")
        try await site.agent.kill()
        let gone = try await health(site.agent, "--alive")
        #expect(gone.status == 1)
        #expect(
            gone.output.first?.hasPrefix("k1: the agent does not run, and was not stopped properly: ")
                == true,
            "\(gone)")
        #expect(gone.output.last?.contains("journalctl") == true, "\(gone)")
        // What the killed one left behind does not keep the next from listening.
        let next = try RunningAgent("k1", broker: site.broker.url, directory: site.agent.directory)
        try await next.online()
        _ = try await site.run("ping", "--agent", "k1")
        #expect(try await health(next).status == 0)
        #expect(try await next.terminate() == 0)
        let stopped = try await health(next, "--json")
        #expect(stopped.status == 1)
        let json = try JSONValue(parsing: try #require(stopped.output.first))
        #expect(json["running"] == false)
        #expect(json["found"]?.stringValue?.contains("stopped by SIGTERM at ") == true, "\(stopped)")
    }

    // It was green: "subscriptions all granted" of an agent that had never been connected.
    @Test func `an agent that can't sign in is red, with the broker's reason and the time of the next try`()
        async throws
    {
        let broker = try await TestBroker.start(["allow_anonymous false"])
        defer { broker.end() }
        let agent = try RunningAgent("k1", broker: broker.url)
        try await agent.printed("refused with")
        let ending = try await health(agent)
        #expect(ending.status == 1)
        #expect(ending.output.first?.hasPrefix("k1: red, offline, ") == true, "\(ending)")
        let text = ending.output.joined(separator: "\n")
        #expect(text.contains("link: 530 CONNECT_REFUSED: logging in to \(broker.url)"), "\(ending)")
        #expect(text.contains("Not authorized"), "\(ending)")
        #expect(text.contains("→ check the user name"), "\(ending)")
        #expect(
            text.contains(
                "routes, publishes, subscriptions, echo, commands: not known: there is no connection"),
            "\(ending)")
        let doctor = try await RunningCommand.run([
            "doctor", "--local", "--agent", "k1", "--state", agent.directory,
        ])
        #expect(doctor.status == 1)
        #expect(doctor.output.first?.hasPrefix("1 failed, ") == true, "\(doctor)")
        #expect(doctor.output.dropFirst().first?.contains("530 CONNECT_REFUSED") == true, "\(doctor)")
        #expect(try await agent.terminate() == 0)
    }

    @Test func `only the agent's user can ask, and a long path is no obstacle`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let directory =
            NSTemporaryDirectory() + "waypost-\(UUID().uuidString)/" + String(repeating: "d", count: 200)
        let agent = try RunningAgent("k1", broker: broker.url, directory: directory)
        try await agent.online()
        #expect(try await health(agent, "--alive").status == 0)
        let mode = try FileManager.default.attributesOfItem(atPath: directory + "/health.sock")[
            .posixPermissions]
        #expect(mode as? Int == 0o600)
        #expect(try await agent.terminate() == 0)
    }

    @Test func `clients that ask and read nothing do not keep another from its answer`() async throws {
        let site = try await Site.open()
        let path = site.agent.directory
        let idle = try (0..<200).map { _ in try PlainSocket(unix: path, "health.sock") }
        #expect(try await health(site.agent, "--alive").status == 0)
        withExtendedLifetime(idle) {}
        #expect(try await site.agent.terminate() == 0)
    }

    @Test func `without --local it says where to ask`() async throws {
        let ending = try await RunningCommand.run(["health", "--agent", "k1"])
        #expect(ending.status == 64)
        #expect(ending.errorLines.first?.contains("waypost ping") == true)
        #expect(try await RunningCommand.run(["health", "--local"]).status == 64)
    }
}
