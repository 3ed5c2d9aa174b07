import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

@testable import WaypostBackend

/// The groups of an agent, changed without a restart.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct GroupsTests {
    private static let move =
        #"{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1"}"#

    /// Where the demo's page leads at an agent.
    private func target(at agent: String, _ broker: TestBroker) async throws -> String? {
        let found = try await RunningCommand.run(
            ["resolve", "scheme://router/demo?id=2", "--agent", agent, "--wait", "30s", "--json"],
            environment: ["WAYPOST_BROKER": broker.url])
        return try found.output.first.map { try JSONValue(parsing: $0)["final"]?.stringValue ?? "?" }
    }

    @Test func `an agent joins and leaves groups while it runs, and stays so over a kill without a broker`()
        async throws
    {
        let arguments = ["--demo", "--group", "shop"]
        let site = try await Site.openProcess(arguments)
        let map = try ScratchFile(#"{"type":"map","rev":1,"entries":[\#(Self.move)]}"#, name: "map.json")
        let sent = try await site.run(
            "relocate", "--group", "lobby", "--file", map.path, "--yes", "--new-agent", "--wait", "0s")
        #expect(sent.status == 0, "\(sent)")
        #expect(try await target(at: "k1", site.broker)?.contains("demo1") == false)
        let changed = try await site.run(
            "groups", "--agent", "k1", "--add", "lobby", "--remove", "shop", "--wait", "30s")
        #expect(
            changed.status == 0
                && changed.output == [
                    "k1 is in all, lobby", "rev 1, in force: added lobby; removed shop",
                    "of its own settings: shop",
                ], "\(changed)")
        // The broker sends the map of the new group once the subscription is there.
        try await eventually("the map of the new group") {
            try await target(at: "k1", site.broker)?.contains("demo1") == true
        }
        let ping = try await site.run("ping", "--group", "lobby", "--wait", "30s")
        #expect(ping.status == 0 && ping.output.joined().contains("k1"), "\(ping)")
        let old = try await site.run("ping", "--group", "shop", "--wait", "500ms")
        #expect(old.status == 3, "\(old)")
        // The same again is no new document.
        let same = try await site.run("groups", "--agent", "k1", "--add", "lobby", "--json")
        let json = try JSONValue(parsing: same.output[0])
        #expect(json["rev"] == 1 && json["applied"] == true && json["groups"] == ["lobby"], "\(same)")
        // It is on its disk, and not only at the broker.
        try await site.agent.kill()
        try await site.broker.stop()
        let again = try AgentProcess(
            "k1", broker: site.broker.url, directory: site.agent.directory, arguments: arguments)
        try await again.printed("next try in")
        let local = try await RunningCommand.run(
            ["health", "--local", "--state", again.directory, "--json"], environment: [:])
        #expect(try JSONValue(parsing: local.output.joined())["groups"] == ["lobby"], "\(local)")
        try await site.broker.start()
        try await again.online()
        try await eventually("what goes to the new group comes") {
            try await site.run("ping", "--group", "lobby", "--wait", "30s").status == 0
        }
        let own = try await site.run("groups", "--agent", "k1", "--clear", "--wait", "30s")
        #expect(own.output.first == "k1 is in all, shop", "\(own)")
        try await eventually("the map of the group that it left") {
            try await target(at: "k1", site.broker)?.contains("demo1") == false
        }
        try await again.kill()
    }

    @Test func `what the agent refused is neither shown as in force nor built on`() async throws {
        let site = try await Site.openProcess(["--demo"])
        let backend = try await TestSupport.Backend(broker: site.broker.url)
        let first = try await site.run("groups", "--agent", "k1", "--add", "lobby", "--wait", "30s")
        #expect(first.status == 0, "\(first)")
        // Of two who write at once, the second.
        try await backend.publish(
            #"{"type":"groups","rev":1,"add":["hall","cellar"]}"#, to: "waypost/v1/k1/groups", retain: true)
        try await eventually("the refusal") {
            try await site.run("doctor", "--agent", "k1").output
                .contains { $0.contains("refused the newest document") }
        }
        let shown = try await site.run("groups", "--agent", "k1")
        #expect(
            shown.output == [
                "k1 is in all, lobby", "rev 1, in force: added lobby; removed none",
                "of its own settings: none",
            ], "\(shown)")
        let next = try await site.run(
            "groups", "--agent", "k1", "--add", "hall", "--add", "cellar", "--wait", "30s")
        #expect(
            next.output.prefix(2) == [
                "k1 is in all, lobby, hall, cellar",
                "rev 2, in force: added lobby, hall, cellar; removed none",
            ], "\(next)")
        await backend.disconnect()
        try await site.agent.kill()
    }

    @Test func `a document that the broker has lost stays in force, and the next one builds on it`()
        async throws
    {
        let site = try await Site.openProcess(["--demo"])
        let backend = try await TestSupport.Backend(broker: site.broker.url)
        let first = try await site.run("groups", "--agent", "k1", "--add", "lobby", "--wait", "30s")
        #expect(first.status == 0, "\(first)")
        try await backend.publish("", to: "waypost/v1/k1/groups", retain: true)
        try await site.agent.kill()
        let again = try AgentProcess(
            "k1", broker: site.broker.url, directory: site.agent.directory, arguments: ["--demo"])
        try await again.online()
        try await eventually("what goes to the group comes") {
            try await site.run("ping", "--group", "lobby", "--wait", "30s").status == 0
        }
        let shown = try await site.run("groups", "--agent", "k1")
        #expect(
            shown.output.prefix(2) == [
                "k1 is in all, lobby", "rev 1, in force: added lobby; removed none",
            ], "\(shown)")
        let next = try await site.run("groups", "--agent", "k1", "--add", "eu", "--wait", "30s")
        #expect(next.output.dropFirst().first == "rev 2, in force: added lobby, eu; removed none", "\(next)")
        await backend.disconnect()
        try await again.kill()
    }

    @Test func `of an agent that is too old for it, it is said, and the broker keeps the document`()
        async throws
    {
        let site = try await Site.open()
        let backend = try await TestSupport.Backend(broker: site.broker.url)
        try await backend.publish(
            #"{"state":"online","epoch":1,"boot":"B","why":"birth","agent":"old","version":"0.1.0","mqtt":5}"#,
            to: "waypost/v1/old/state", retain: true)
        try await backend.publish(
            #"{"status":"green","version":"0.1.0","epoch":1,"groups":["shop"],"limits":{"inbox":1}}"#,
            to: "waypost/v1/old/health", retain: true)
        let run = try await site.run("groups", "--agent", "old", "--add", "lobby", "--wait", "10m")
        #expect(
            run.status == 3 && run.errorLines.joined().contains("old is of version 0.1.0, which reads no"),
            "\(run)")
        let kept = try await backend.message(on: "waypost/v1/old/groups")
        #expect(kept["add"] == ["lobby"])
        await backend.disconnect()
    }

    @Test func `a bad document is one failure, and changes nothing`() async throws {
        let site = try await Site.open()
        let backend = try await TestSupport.Backend(broker: site.broker.url)
        try await backend.publish(
            #"{"type":"groups","rev":1,"add":["a/b"]}"#, to: "waypost/v1/k1/groups", retain: true)
        try await eventually("the report") {
            try await site.run("failures", "--agent", "k1", "--json").output.contains {
                $0.contains("BAD_FIELD") && $0.contains("document of groups refused: add must be")
            }
        }
        // It comes again with each connection.
        try await site.broker.restart()
        try await site.agent.online(times: 2)
        let next = try await site.run("groups", "--agent", "k1", "--add", "lobby", "--wait", "30s")
        #expect(next.status == 0 && next.output.first == "k1 is in all, lobby", "\(next)")
        let failures = try await site.run("failures", "--agent", "k1", "--json")
        #expect(failures.output.count { $0.contains("document of groups") } == 1, "\(failures)")
        await backend.disconnect()
    }

    @Test func `where the device's own settings decide, its groups stay and the sender learns it`()
        async throws
    {
        let site = try await Site.open(["--demo", "--group", "shop", "--own-groups"])
        let refused = try await site.run("groups", "--agent", "k1", "--add", "lobby", "--wait", "30s")
        #expect(
            refused.status == 1 && refused.errorLines.joined().contains("403 NOT_ALLOWED")
                && refused.errorLines.joined().contains("own-groups"), "\(refused)")
        let doctor = try await site.run("doctor", "--agent", "k1")
        #expect(
            doctor.output.joined().contains("k1 refused the newest document of its groups: 403 NOT_ALLOWED"),
            "\(doctor)")
        let groups = try await site.run("groups", "--agent", "k1", "--json")
        let json = try JSONValue(parsing: groups.output[0])
        #expect(json["groups"] == ["shop"] && json["applied"] == false && json["rev"] == 1, "\(groups)")
    }

    @Test func `an agent that trusts keys wants it signed`() async throws {
        let directory = AgentWords.newDirectory()
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let (secret, open) = (directory + "/release.pem", directory + "/release.pub")
        _ = try await Tool.run("openssl", ["genpkey", "-algorithm", "ed25519", "-out", secret])
        _ = try await Tool.run("openssl", ["pkey", "-in", secret, "-pubout", "-out", open])
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: open)
        let site = try await Site.open(["--demo", "--trust-key", "release=\(open)"])
        let bare = try await site.run("groups", "--agent", "k1", "--add", "lobby", "--wait", "30s")
        #expect(bare.status == 1 && bare.errorLines.joined().contains("401 UNSIGNED"), "\(bare)")
        let signed = try await site.run(
            "groups", "--agent", "k1", "--add", "lobby", "--sign-key", secret, "--wait", "30s")
        #expect(signed.status == 0 && signed.output.first == "k1 is in all, lobby", "\(signed)")
        let unsigned = try await site.run("groups", "--agent", "k1", "--add", "eu", "--wait", "30s")
        #expect(unsigned.status == 1 && unsigned.errorLines.joined().contains("is signed"), "\(unsigned)")
        // Signed for another agent, it says nothing of this one.
        let backend = try await TestSupport.Backend(broker: site.broker.url)
        let kept = try await backend.message(on: "waypost/v1/k1/groups")
        try await backend.publish(kept.serialized(), to: "waypost/v1/k2/groups", retain: true)
        let other = try RunningAgent(
            "k2", broker: site.broker.url, arguments: ["--demo", "--trust-key", "release=\(open)"])
        try await other.online()
        try await eventually("the report of k2") {
            try await site.run("failures", "--agent", "k2", "--json").output.contains {
                $0.contains(#"aud is \"k1\", the topic is k2's"#)
            }
        }
        _ = try await other.terminate()
        await backend.disconnect()
    }

    @Test func `a backend changes groups, also of an agent that is still to come`() async throws {
        let site = try await Site.open(["--demo", "--group", "shop"])
        let settings = try BackendConfiguration(broker: site.broker.url, name: "release")
        try await WaypostBackend.Backend.with(settings) { backend in
            let agent = backend.agent("k1")
            #expect(try await agent.groups().groups == ["shop"])
            let groups = try await agent.changeGroups(GroupsChange(adding: ["eu"]), deadline: .seconds(30))
            #expect(groups.isApplied && groups.groups == ["shop", "eu"] && groups.own == ["shop"])
            for change in [GroupsChange(adding: ["all"]), .init(adding: ["a"], removing: ["a"])] {
                let error = await #expect(throws: BackendError.self) { try await agent.changeGroups(change) }
                #expect(error?.kind == .invalid)
            }
            let unknown = await #expect(throws: BackendError.self) {
                try await backend.agent("k7").changeGroups(GroupsChange(adding: ["eu"]))
            }
            #expect(unknown?.kind == .unknownReceiver)
            let early = await #expect(throws: BackendError.self) {
                try await backend.agent("k7").changeGroups(
                    GroupsChange(adding: ["eu"]), deadline: .milliseconds(200), allowsNew: true)
            }
            #expect(early?.kind == .noReply)
        }
        let agent = try RunningAgent("k7", broker: site.broker.url)
        try await agent.online()
        try await eventually("k7 to be in its group") {
            try await site.run("groups", "--agent", "k7").output.first == "k7 is in all, eu"
        }
        #expect(try await agent.terminate() == 0)
        let forgotten = try await site.run("forget", "k7", "--yes", "--json")
        #expect(forgotten.output.joined().contains("waypost/v1/k7/groups"), "\(forgotten)")
    }

    @Test(arguments: [
        (["--add", "a/b"], "--add"), (["--remove", ""], "--remove"), (["--new-agent"], "--new-agent needs"),
        (["--add", "a", "--remove", "a"], "added and removed at once"),
        (["--add", "all"], "every agent is in the group all"),
    ])
    func `what is no change says so`(options: [String], text: String) async throws {
        let run = try await RunningCommand.run(["groups", "--agent", "k1"] + options, environment: [:])
        #expect(run.status == 64 && run.errorLines.joined().contains(text), "\(run)")
    }

    @Test func `a change keeps what it does not name`() {
        var lists = GroupsChange(adding: ["b"], removing: ["c"]).applied(to: ["a", "c"], ["b", "d"])
        #expect(lists.added == ["a", "b"] && lists.removed == ["d", "c"])
        lists = GroupsChange(removing: ["a"], startsAnew: true).applied(to: ["a", "c"], ["b"])
        #expect(lists.added == [] && lists.removed == ["a"])
    }
}
