import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

@testable import WaypostCLI
@testable import WaypostMessages

/// What `waypost doctor` says of the rights of each role.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct DoctorRightsTests {
    /// A right to write of the release role, as `scripts/broker/acl` has it.
    private struct Line: Hashable {
        var topic: String
        var isRead: Bool
    }

    /// The section of a role in the shipped rules.
    private static func rules(of user: String) throws -> [String] {
        let acl = try String(
            contentsOfFile: "\(ShippedBroker.repository)/scripts/broker/acl", encoding: .utf8)
        let lines = acl.split(separator: "\n").map(String.init)
        let start = try #require(lines.firstIndex(of: "user \(user)"))
        return lines[(start + 1)...].prefix { !$0.hasPrefix("user ") }.filter { $0.hasPrefix("topic ") }
    }

    @Test func `it tries each right to write of the release role, and no other`() throws {
        let wanted = try Self.rules(of: "release").compactMap { line -> Line? in
            let words = line.split(separator: " ")
            guard words[1].hasSuffix("write") else { return nil }
            return Line(topic: String(words[2]), isRead: words[1] == "readwrite")
        }
        let tried = RightsCheck.rights(.standard, group: "x").map { right in
            let levels = right.topic.split(separator: "/").map {
                ["x", "@x", "0"].contains($0) ? "+" : String($0)
            }
            return Line(topic: levels.joined(separator: "/"), isRead: right.isRead)
        }
        #expect(Set(tried) == Set(wanted))
    }

    private func findings(_ ending: RunningCommand.Ending) throws -> [String: JSONValue] {
        try ending.output.map { try JSONValue(parsing: $0) }.reduce(into: [:]) { found, line in
            found[line["check"]?.stringValue ?? ""] = line
        }
    }

    @Test func `each shipped role is told what it is, and nobody is called a reader who writes maps`()
        async throws
    {
        let site = try await ShippedBroker([
            "--agent", "k1@lobby", "--sender", "ops", "--watcher", "watch", "--release", "release",
        ])
        let agent = try RunningAgent("k1", broker: site.broker.url, arguments: ["--demo"] + site.signIn("k1"))
        try await agent.online()
        for (role, maps, publish) in [
            ("ops", "note", "ok"), ("watch", "note", "warning"), ("release", "ok", "note"),
        ] {
            let ending = try await RunningCommand.run(
                ["doctor", "--json", "--as", role] + site.signIn(role))
            let found = try findings(ending)
            #expect(ending.status == 0, "\(role): \(ending)")
            #expect(found["maps"]?["status"]?.stringValue == maps, "\(role): \(ending)")
            #expect(found["publish"]?["status"]?.stringValue == publish, "\(role): \(ending)")
            let text = found["maps"]?["found"]?.stringValue ?? ""
            #expect(text.contains(role == "release" ? "may send maps" : "the role of release"), "\(text)")
            #expect(!ending.output.joined().contains("only read"), "\(ending)")
        }
        // Nothing of it stays, and no agent heard of it.
        #expect(!agent.lines.contains { $0.contains("doctor") }, "\(agent.lines)")
        #expect(try await agent.terminate() == 0)
    }

    // A broker grants the subscription, delivers nothing, and all said that all was well.
    @Test func `an agent in a group that the broker's rules don't give it is named, with what gives it`()
        async throws
    {
        let site = try await ShippedBroker(["--agent", "k1@lobby", "--sender", "ops"])
        let agent = try RunningAgent(
            "k1", broker: site.broker.url,
            arguments: ["--demo", "--group", "lobby", "--group", "shop"] + site.signIn("k1"))
        try await agent.online()
        let silent = try await RunningCommand.run(
            ["ping", "--group", "shop", "--wait", "1s", "--as", "ops"] + site.signIn("ops"))
        #expect(silent.status == 3)
        #expect(
            silent.errorLines.last?.hasSuffix("1 s: k1; see: waypost doctor --agent k1") == true, "\(silent)")
        let doctor = try await RunningCommand.run(
            ["doctor", "--agent", "k1", "--wait", "5s", "--json", "--as", "ops"] + site.signIn("ops"))
        #expect(doctor.status == 1)
        let found = try #require(try findings(doctor)["groups"], "\(doctor)")
        #expect(
            found["found"]?.stringValue?.contains("in group shop, and does not answer") == true, "\(found)")
        #expect(found["advice"]?.stringValue?.contains("make-certs --agent k1@shop") == true, "\(found)")
        #expect(try await agent.terminate() == 0)
        let well = try RunningAgent(
            "k1", broker: site.broker.url, directory: agent.directory,
            arguments: ["--demo", "--group", "lobby"] + site.signIn("k1"))
        try await well.online()
        let again = try await RunningCommand.run(
            ["doctor", "--agent", "k1", "--json", "--as", "ops"] + site.signIn("ops"))
        #expect(again.status == 0, "\(again)")
        #expect(try findings(again)["groups"]?["found"] == "k1 answers in lobby")
        #expect(try await well.terminate() == 0)
    }

    @Test(arguments: ["5", "3.1.1"])
    func `a right that is missing is named, with the topic`(_ version: String) async throws {
        for right in RightsCheck.rights(.standard, group: "x") {
            let topic = right.topic.split(separator: "/")
                .map { ["x", "@x", "0"].contains($0) ? "+" : String($0) }.joined(separator: "/")
            // On 3.1.1 a broker takes what it drops: of what is only written nobody can know.
            if version != "5", !right.isRead { continue }
            let rules = try Self.rules(of: "release").filter { !$0.hasSuffix(" \(topic)") }
            let broker = try await TestBroker.start(
                ["allow_anonymous true", "acl_file @dir/acl"],
                files: ["acl": rules.joined(separator: "\n") + "\n"])
            defer { broker.end() }
            let ending = try await RunningCommand.run(
                ["doctor", "--json", "--as", "release", "--broker", broker.url, "--mqtt", version])
            let found = try findings(ending)["maps"]
            #expect(found?["status"] == "warning", "\(right): \(ending)")
            #expect(found?["found"]?.stringValue?.contains(right.name) == true, "\(right): \(ending)")
            let advised = topic.replacingOccurrences(of: "log/+", with: "log/0")
            #expect(found?["advice"]?.stringValue?.contains(advised) == true, "\(right): \(ending)")
        }
    }
}
