import CommandSupport
import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

/// Maps from the command line, against a real broker and a real agent.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct SeeMapsTests {
    private static let first =
        #"{"type":"map","rev":1,"by":"eva","entries":[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1"},{"routerType":3,"path":"scheme://router/demo2"},{"routerType":1,"orginPath":"scheme://router/x","targetPath":"scheme://router/gone"}]}"#
    private static let second =
        #"{"type":"map","rev":2,"entries":[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/orders"}]}"#

    private func send(_ text: String, to site: Site<RunningAgent>, _ options: String...) async throws
        -> RunningCommand.Ending
    {
        let file = try ScratchFile(text, name: "map.json")
        return try await RunningCommand.run(
            ["relocate", "--file", file.path] + options, environment: ["WAYPOST_BROKER": site.broker.url])
    }

    /// A site whose agent has the first map in force.
    private func siteWithMap() async throws -> Site<RunningAgent> {
        let site = try await Site.open()
        let sent = try await send(Self.first, to: site, "--agent", "k1", "--allow-inactive")
        #expect(sent.status == 0, "\(sent)")
        #expect(contains(sent.output, "applied: 2 active, 1 inactive on k1 (map rev 1)"), "\(sent.output)")
        return site
    }

    private func contains(_ lines: [String], _ parts: String...) -> Bool {
        lines.contains { line in parts.allSatisfy(line.contains) }
    }

    @Test func `map shows each entry with its layer, its state and why, and which acts on a URL`()
        async throws
    {
        let site = try await siteWithMap()
        _ = try await site.run(
            "relocate", "--agent", "k1", "--from", "scheme://router/demo", "--to", "scheme://router/orders")
        let map = try await site.run("map", "--agent", "k1", "--at", "scheme://router/demo")
        #expect(map.status == 0, "\(map)")
        #expect(map.output.first?.hasPrefix("k1: 2 active, 2 inactive, as of ") == true)
        let text = map.output.joined(separator: "\n")
        let patch = try #require(map.output.firstIndex { $0.hasPrefix("patch") })
        let agent = try #require(map.output.firstIndex { $0.hasPrefix("agent") })
        #expect(patch < agent && map.output[agent].contains("rev 1  by eva  since "))
        #expect(
            contains(map.output, "→ 1  active", "scheme://router/demo → scheme://router/orders"), "\(text)")
        #expect(contains(map.output, "1  inactive", "entry 1 of patch takes its place"), "\(text)")
        #expect(contains(map.output, "2  active", "delete scheme://router/demo2"), "\(text)")
        #expect(contains(map.output, "3  inactive", "no route matches scheme://router/gone"), "\(text)")
        #expect(contains(map.output, "redirected", "by entry 1 of patch"), "\(text)")
        let json = try await site.run("map", "--agent", "k1", "--json")
        let layers = try JSONValue(parsing: try #require(json.output.first))
        #expect(layers["agent"] == "k1" && layers["layers"]?[1]?["layer"] == "patch")
    }

    @Test func `resolve asks the agent, and a deleted path says by which entry`() async throws {
        let site = try await siteWithMap()
        let found = try await site.run("resolve", "scheme://router/demo?id=2", "--agent", "k1")
        #expect(found.status == 0, "\(found)")
        #expect(contains(found.output, "route", "scheme://router/demo1"))
        #expect(contains(found.output, "redirected", "scheme://router/demo1?id=2 by entry 1 of agent"))
        let gone = try await site.run("resolve", "scheme://router/demo2", "--agent", "k1", "--json")
        #expect(gone.status == 1)
        let answer = try JSONValue(parsing: try #require(gone.output.first))
        #expect(
            answer["failure"]?["detail"]
                == "no route matches scheme://router/demo2: deleted by entry 2 of agent")
        // The agent is not asked for that.
        let held = try await site.run("open", "scheme://router/demo2", "--agent", "k1")
        #expect(held.status == 1 && contains(held.output, "deleted by entry 2 of agent"), "\(held)")
        let sent = try await site.run("open", "scheme://router/demo2", "--agent", "k1", "--no-check")
        #expect(sent.status == 1 && contains(sent.output, "deleted by entry 2 of agent"), "\(sent)")
        let page = try await site.run("describe", "scheme://router/demo", "--agent", "k1")
        #expect(contains(page.output, "redirected", "by entry 1 of agent"), "\(page)")
        #expect(contains(page.output, "scheme://router/demo1"), "\(page)")
        let routes = try await site.run("routes", "--agent", "k1")
        #expect(contains(routes.output, "`scheme://router/demo`", "`scheme://router/demo1`"), "\(routes)")
        let agent = try await site.run("describe", "agent", "k1")
        #expect(contains(agent.output, "redirects", "scheme://router/demo"), "\(agent)")
        #expect(contains(agent.output, "2 active, 1 inactive"), "\(agent)")
    }

    @Test func `undo sends the map before with the next rev, and a second one takes that back`() async throws
    {
        let site = try await siteWithMap()
        _ = try await send(Self.second, to: site, "--agent", "k1", "--yes")
        func route(_ url: String) async throws -> String? {
            let ending = try await site.run("resolve", url, "--agent", "k1", "--json")
            return try JSONValue(parsing: try #require(ending.output.first))["route"]?.stringValue
        }
        #expect(try await route("scheme://router/demo") == "scheme://router/orders")
        let dry = try await site.run("map", "undo", "--agent", "k1", "--dry-run")
        #expect(dry.status == 0 && contains(dry.errorLines, "back to rev 1", ", as rev 3"), "\(dry)")
        #expect(contains(dry.output, "~ scheme://router/demo"), "\(dry)")
        #expect(try await route("scheme://router/demo") == "scheme://router/orders")
        let undo = try await site.run("map", "undo", "--agent", "k1", "--yes")
        #expect(undo.status == 0 && contains(undo.output, "map rev 3"), "\(undo)")
        #expect(try await route("scheme://router/demo") == "scheme://router/demo1")
        let again = try await site.run("map", "undo", "--agent", "k1", "--yes")
        #expect(again.status == 0, "\(again)")
        #expect(try await route("scheme://router/demo") == "scheme://router/orders")
        _ = try await site.run(
            "relocate", "--agent", "k1", "--from", "scheme://router/demo", "--to", "scheme://router/demo2")
        #expect(try await route("scheme://router/demo") == "scheme://router/demo2")
        let patch = try await site.run("map", "undo", "--agent", "k1", "--yes")
        #expect(patch.status == 0 && contains(patch.errorLines, "without the patch"), "\(patch)")
        #expect(try await route("scheme://router/demo") == "scheme://router/orders")
        let history = try await site.run("map", "history", "--agent", "k1")
        #expect(contains(history.output, "LAYER", "REV", "CHANGED", "BY"))
        #expect(contains(history.output, "agent", "1 ", "+3", "eva"), "\(history)")
        #expect(contains(history.output, "agent", "5", "in force"), "\(history)")
        let whole = try await site.run("map", "history", "--agent", "k1", "--rev", "1")
        let document = try JSONValue(parsing: try #require(whole.output.first))
        #expect(document["type"] == "map" && document["entries"]?.arrayValue?.count == 3)
    }

    @Test func `undo of a group goes back to what its members have kept`() async throws {
        let site = try await Site.open(["--demo", "--group", "lobby"])
        let other = try RunningAgent(
            "k2", broker: site.broker.url, arguments: ["--demo", "--group", "lobby"])
        try await other.online()
        _ = try await send(Self.first, to: site, "--group", "lobby", "--allow-inactive")
        _ = try await send(Self.second, to: site, "--group", "lobby", "--yes")
        let undo = try await site.run("map", "undo", "--group", "lobby", "--yes")
        #expect(undo.status == 0, "\(undo)")
        for agent in ["k1", "k2"] {
            let map = try await site.run("map", "--agent", agent, "--layer", "@lobby", "--json")
            let layer = try JSONValue(parsing: try #require(map.output.first))["layers"]?[0]
            #expect(layer?["rev"] == 3 && layer?["count"] == 3)
        }
        #expect(try await other.terminate() == 0)
    }

    /// A member that answers each question about maps as it likes.
    private func liar(at url: String) async throws -> (session: MQTTSession, task: Task<Void, Never>) {
        var configuration = MQTTLinkConfiguration.oneShot(brokers: [try BrokerURL(url)], clientID: "k6")
        configuration.subscriptions = ["@lobby", "k6"].map { Subscription("waypost/v1/\($0)/cmd/+") }
        let session = try await MQTTSession.connect(configuration, within: .seconds(60))
        for (topic, json) in [
            (
                "state",
                [
                    "state": "online", "epoch": 1, "boot": "B", "why": "birth", "agent": "k6", "version": "1",
                    "mqtt": 5,
                ] as JSONValue
            ), ("health", ["status": "green", "groups": ["lobby"], "epoch": 1]),
        ] {
            let message = MQTTMessage(
                topic: "waypost/v1/k6/\(topic)", payload: json.serialized(), retain: true)
            #expect(try await session.publish(message) == .acknowledged)
        }
        let claim: JSONValue = [
            "layer": "@lobby", "rev": .int(Fields.largestInteger - 1), "digest": "sha256:ff", "from": 1,
            "count": 1, "entries": [],
        ]
        let result: JSONValue = [
            "history": [
                claim, ["layer": "@lobby", "rev": 40, "digest": "sha256:fe", "from": 1, "until": 2],
            ],
            "layers": [claim],
        ]
        let task = Task {
            for await message in session.messages {
                let sender = message.topic.split(separator: "/").last.map(String.init) ?? ""
                guard let id = try? JSONValue(parsing: message.payload)["id"] else { continue }
                let reply: JSONValue = [
                    "id": id, "type": "reply", "status": "ok", "code": 0, "name": "OK", "result": result,
                ]
                let answer = MQTTMessage(
                    topic: "waypost/v1/k6/reply/\(sender)", payload: reply.serialized())
                _ = try? await session.publish(answer)
            }
        }
        return (session, task)
    }

    @Test func `what one member says of maps decides nothing for the others`() async throws {
        let site = try await Site.open(["--demo", "--group", "lobby"])
        let other = try RunningAgent(
            "k2", broker: site.broker.url, arguments: ["--demo", "--group", "lobby"])
        try await other.online()
        _ = try await send(Self.first, to: site, "--group", "lobby", "--allow-inactive")
        _ = try await send(Self.second, to: site, "--group", "lobby", "--yes")
        let liar = try await liar(at: site.broker.url)
        let undo = try await site.run("map", "undo", "--group", "lobby", "--dry-run")
        #expect(contains(undo.errorLines, "back to rev 1", ", as rev 3"), "\(undo)")
        #expect(
            contains(undo.errorLines, "k6 claims a higher rev of @lobby than 2; it is ignored"), "\(undo)")
        // Where the broker has lost the map, what it says does not come before what the others say either.
        let lost = MQTTMessage(topic: "waypost/v1/@lobby/map", payload: [], retain: true)
        #expect(try await liar.session.publish(lost) == .acknowledged)
        let patch = try await site.run(
            "relocate", "--group", "lobby", "--from", "scheme://router/demo2", "--to", "scheme://router/demo",
            "--yes", "--unchecked", "--wait", "3s")
        // It does not answer that.
        #expect(patch.status == 3 && contains(patch.errorLines, "did not reply", "k6"), "\(patch)")
        for agent in ["k1", "k2"] {
            let map = try await site.run("map", "--agent", agent, "--layer", "@lobby", "--json")
            let layer = try JSONValue(parsing: try #require(map.output.first))["layers"]?[0]
            #expect(layer?["rev"] == 3 && layer?["count"] == 2, "\(map)")
        }
        liar.task.cancel()
        await liar.session.disconnect()
        #expect(try await other.terminate() == 0)
    }

    @Test func `a dry run and a diff say what would change, and change nothing`() async throws {
        let site = try await siteWithMap()
        let dry = try await send(Self.second, to: site, "--agent", "k1", "--dry-run")
        #expect(dry.status == 0, "\(dry)")
        #expect(contains(dry.output, "k1: entries -2 ~1"), "\(dry.output)")
        #expect(contains(dry.output, "- delete scheme://router/demo2"))
        #expect(contains(dry.output, "scheme://router/demo2: 404 NO_ROUTE → scheme://router/demo2"))
        #expect(contains(dry.output, "scheme://router/demo: scheme://router/demo1 → scheme://router/orders"))
        #expect(contains(dry.output, "nothing was sent", "instead of rev 1"))
        let circle =
            #"{"type":"map","rev":3,"entries":[{"routerType":1,"orginPath":"scheme://a","targetPath":"scheme://b"},{"routerType":1,"orginPath":"scheme://b","targetPath":"scheme://a"}]}"#
        let file = try ScratchFile(circle, name: "circle.json")
        let diff = try await site.run("map", "diff", "--agent", "k1", "--file", file.path)
        #expect(diff.status == 1 && contains(diff.output, "would refuse it", "CYCLE"), "\(diff)")
        let map = try await site.run("map", "--agent", "k1", "--json")
        #expect(try JSONValue(parsing: try #require(map.output.first))["layers"]?[0]?["rev"] == 1)
    }

    @Test func `what takes entries away, or goes to no one, or does nothing is not sent unless that is said`()
        async throws
    {
        let site = try await Site.open()
        let idle = try await send(Self.first, to: site, "--agent", "k1")
        #expect(idle.status == 1)
        #expect(
            contains(
                idle.errorLines, "not sent: entry 3, scheme://router/x, would have no effect",
                "--allow-inactive"),
            "\(idle)")
        _ = try await send(Self.first, to: site, "--agent", "k1", "--allow-inactive")
        let replaced = try await send(Self.second, to: site, "--agent", "k1")
        #expect(replaced.status == 1)
        #expect(
            contains(replaced.errorLines, "not sent: 2 entries disappear", "rev 1", "--yes"), "\(replaced)")
        let typo = try await send(Self.second, to: site, "--agent", "k11")
        #expect(typo.status == 1 && contains(typo.errorLines, "no agent k11", "did you mean k1?"), "\(typo)")
        let early = try await send(Self.second, to: site, "--agent", "k11", "--new-agent", "--wait", "0")
        #expect(early.status == 0, "\(early)")
        let bare = try await send(
            #"{"type":"map","entries":[]}"#, to: site, "--agent", "k1", "--yes")
        #expect(contains(bare.errorLines, "no rev: it replaces all", "3 entries go"), "\(bare)")
        #expect(contains(bare.output, "applied: 0 entries active on k1"), "\(bare)")
    }

    @Test func `on a terminal it asks, and no is no`() async throws {
        let site = try await siteWithMap()
        let file = try ScratchFile(Self.second, name: "map.json")
        let environment = ["WAYPOST_BROKER": site.broker.url]
        let refused = try TerminalSession(
            "$WAYPOST relocate --agent k1 --file \(file.path)", environment: environment)
        try await refused.shows("Send it? [y/N]")
        try refused.type("n\n")
        #expect(try await refused.status() == 1)
        let agreed = try TerminalSession(
            "$WAYPOST relocate --agent k1 --file \(file.path)", columns: 200, environment: environment)
        try await agreed.shows("Send it? [y/N]")
        try agreed.type("y\n")
        try await agreed.shows("map rev 2")
        #expect(try await agreed.status() == 0)
    }

    @Test func `the same refused map again says at once why, of an agent and of a group`() async throws {
        let site = try await Site.open()
        let bad =
            #"{"type":"map","rev":7,"entries":[{"routerType":1,"orginPath":"scheme://services/x","targetPath":"scheme://services"}]}"#
        for audience in [["--agent", "k1"], ["--group", "all"]] {
            for _ in 1...2 {
                let file = try ScratchFile(bad, name: "bad.json")
                let ending = try await RunningCommand.run(
                    ["relocate", "--file", file.path, "--yes", "--allow-refused"] + audience,
                    environment: ["WAYPOST_BROKER": site.broker.url])
                #expect(ending.status == 1, "\(ending)")
                #expect(contains(ending.output, "refused: 403 NOT_ALLOWED by k1"), "\(ending)")
                #expect(contains(ending.errorLines, "the broker keeps the refused map", "waypost map undo"))
            }
        }
        // Taken back, the broker keeps what is in force.
        let undo = try await site.run("map", "undo", "--agent", "k1", "--yes")
        #expect(undo.status == 0 && contains(undo.output, "map rev 8"), "\(undo)")
    }
}
