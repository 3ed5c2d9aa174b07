import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostBackend

/// Commands with a time, sent and seen with the verbs.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct ScheduledTests {
    private let url = "scheme://router/demo?id=2"

    @Test func `a command for later is told, shown and taken back`() async throws {
        let site = try await Site.open(["--demo"])
        let sent = try await site.run(
            "open", url, "--agent", "k1", "--id", "tonight", "--after", "2h", "--window", "00:00-24:00")
        #expect(sent.status == 0, "\(sent)")
        #expect(sent.output.first?.hasPrefix("accepted: k1 begins tonight at 20") == true, "\(sent)")
        #expect(sent.output.dropFirst().first == "  to see it: waypost explain tonight --agent k1")
        let explained = try await site.run("explain", "tonight", "--agent", "k1")
        #expect(
            explained.output.first?.contains("waiting for its time: it begins at 20") == true, "\(explained)")
        #expect(explained.output.contains { $0.hasPrefix("  begins ") })
        let ping = try await site.run("ping", "--agent", "k1", "--json")
        let health = try JSONValue(parsing: ping.output.joined())["result"]
        #expect(health?["waiting"]?["scheduled"] == 1 && health?["limits"]?["commandLife"] == 86_400)
        let line = try await site.run("open", url, "--agent", "k1", "--after", "3h", "--json")
        let reply = try JSONValue(parsing: line.output.joined())
        #expect(line.status == 0 && reply["status"] == "accepted" && reply["due"] != nil, "\(line)")
        #expect(try await site.run("cancel", "tonight", "--agent", "k1").status == 0)
    }

    @Test func `one whose time comes while it is waited for is waited for`() async throws {
        let site = try await Site.open(["--demo"])
        let sent = try await site.run("open", url, "--agent", "k1", "--after", "1s")
        #expect(sent.status == 0 && sent.output.first?.hasPrefix("ok: k1 (") == true, "\(sent)")
    }

    @Test(arguments: [
        (["--after", "soon"], "--after"), (["--after", "2020-01-01 02:00"], "is over"),
        (["--after", "2h", "--expires", "1h"], "would expire before its time comes"),
        (["--window", "at night"], "write days and times such as"),
        (["--window", "02:00-02:00"], "is empty"), (["--expires", "31d"], "--expires must be 1s to 30d"),
    ])
    func `what can't be is one sentence, and nothing is sent`(options: [String], text: String) async throws {
        let run = try await RunningCommand.run(
            ["open", url, "--agent", "k1"] + options, environment: ["WAYPOST_BROKER": "mqtt://127.0.0.1:1"])
        #expect(run.status == 64 && run.output.isEmpty && run.errorLines.joined().contains(text), "\(run)")
    }

    @Test func `from Swift a command says when it begins, and is not waited for till then`() async throws {
        let site = try await Site.open(["--demo"])
        let settings = try BackendConfiguration(broker: site.broker.url, name: "shop")
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        let after = now + 7_200_000
        try await WaypostBackend.Backend.with(settings) { backend in
            let agent = backend.agent("k1")
            let command = try agent.send(.open(url), SendOptions(id: "tonight", after: after))
            #expect(try await command.accepted() && command.begins == after)
            await #expect {
                _ = try await command.reply()
            } throws: { error in
                (error as? BackendError)?.kind == .noReply
                    && "\(error)".contains("k1 has tonight, and begins it at 20")
            }
            let answer = try await backend.group("all").send(.open(url), SendOptions(after: after))
            #expect(answer.replies.map(\.begins) == [after] && !answer.isComplete)
            // What is sealed is the same after it was stored, and its reply is waited for.
            let sealed = try agent.seal(
                .open(url), SendOptions(after: Int64(Date().timeIntervalSince1970 * 1_000) + 2_000))
            let stored = try JSONDecoder().decode(SealedCommand.self, from: JSONEncoder().encode(sealed))
            #expect(stored == sealed)
            let reply = try await backend.send(stored).reply()
            #expect(reply.isOK && reply.begins == nil)
        }
    }

    @Test func `from Swift nothing is sent to an agent that would run it at once`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let other = try await Backend(broker: broker.url)
        for (topic, payload) in [
            (
                "state",
                #"{"state":"online","epoch":1,"boot":"7ZK3M9QA","why":"birth","agent":"k0","version":"0.1.0","mqtt":5}"#
            ),
            (
                "health",
                #"{"type":"health","agent":"k0","epoch":1,"status":"green","checks":[],"limits":{"senders":1}}"#
            ),
        ] { try await other.publish(payload, to: "waypost/v1/k0/\(topic)", retain: true) }
        let settings = try BackendConfiguration(broker: broker.url, name: "shop")
        try await WaypostBackend.Backend.with(settings) { backend in
            let after = Int64(Date().timeIntervalSince1970 * 1_000) + 7_200_000
            let command = try backend.agent("k0").send(.open(url), SendOptions(after: after))
            await #expect {
                _ = try await command.reply()
            } throws: { error in
                (error as? BackendError)?.kind == .notSent && "\(error)".contains("k0 would run it at once")
            }
        }
    }

    @Test(arguments: [
        (AgentCommand.ping, SendOptions(after: 1), "after and window are for open"),
        (.open("a://b"), SendOptions(window: "at night"), "write days and times such as"),
        (.open("a://b"), SendOptions(after: .max), "for which no agent keeps it"),
        (.open("a://b"), SendOptions(after: -1), "for which no agent keeps it"),
        (.open("a://b"), SendOptions(lifetime: .seconds(31 * 86_400)), "must be 1 s to 30 d"),
    ])
    func `from Swift what can't be is said before it is sent`(
        command: AgentCommand, options: SendOptions, text: String
    ) throws {
        let settings = try BackendConfiguration(broker: "mqtt://127.0.0.1:1", name: "shop")
        let agent = WaypostBackend.Backend(settings).agent("k1")
        #expect {
            _ = try agent.seal(command, options)
        } throws: { error in
            (error as? BackendError)?.kind == .invalid && "\(error)".contains(text)
        }
    }

    @Test func `what waits at agents is listed, for whom and since when`() async throws {
        let site = try await Site.open(["--demo"])
        try await site.retire("k2")
        let none = try await site.run("pending")
        #expect(
            none.status == 0 && none.output.first?.contains("waits or runs at an agent") == true, "\(none)")
        #expect(none.errorLines.last == "1 agent offline, and not asked: k2")
        for (id, time) in [("late", "3h"), ("soon", "2h")] {
            let sent = try await site.run("open", url, "--agent", "k1", "--id", id, "--after", time)
            #expect(sent.status == 0, "\(sent)")
        }
        let list = try await site.run("pending", "--agent", "k1")
        #expect(list.output.count == 3 && list.output[1].hasPrefix("k1     late  "), "\(list)")
        #expect(list.output.dropFirst().allSatisfy { $0.contains("waiting for its time: it begins at 20") })
        let lines = try await site.run("pending", "--json")
        let rows = try lines.output.map { try JSONValue(parsing: $0) }
        #expect(rows.compactMap { $0["id"]?.stringValue } == ["late", "soon"], "\(lines)")
        #expect(rows.last == ["agent": "k2", "offline": true] && rows.first?["to"] == "k1")
        let other = try await site.run("pending", "--agent", "k1", "--of", "orders")
        #expect(other.output == ["no command of orders waits or runs at an agent that is online"])
        let unknown = try await site.run("pending", "--agent", "k3")
        #expect(unknown.status == 3 && unknown.errorLines.last?.contains("there is no agent k3") == true)
    }

    @Test func `an agent that is offline is not asked what became of a command`() async throws {
        let site = try await Site.open(["--demo"])
        try await site.retire("k2")
        let run = try await site.run("explain", "c-17", "--agent", "k2")
        #expect(run.status == 3 && run.output.isEmpty, "\(run)")
        let line = try #require(run.errorLines.last)
        #expect(
            line.hasPrefix("waypost: error: k2 was not asked: it is offline: it was shut down; "), "\(line)")
    }
}
