import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostBackend

/// What agents say of themselves, and lists by it.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct AgentFactsTests {
    @Test func `agents are listed by their labels and the version of the app`() async throws {
        let site = try await Site.open([
            "--demo", "--build", "2.4.1", "--locale", "de-AT", "--label", "region=eu", "--label",
            "door_token=geheim",
        ])
        try await site.retire("k2")
        let ping = try await site.run("ping", "--agent", "k1", "--json")
        let client = try JSONValue(parsing: ping.output.joined())["result"]?["client"]
        #expect(client?["build"] == "2.4.1" && client?["locale"] == "de-AT", "\(ping)")
        #expect(client?["labels"] == ["region": "eu", "door_token": "***"])
        for (options, names) in [
            (["--label", "region=eu"], ["k1"]), (["--label", "region=us"], []), (["--app", "<2.5"], ["k1"]),
            (["--app", ">=2.5"], []), (["--label", "region=eu", "--app", ">=2.4 <3"], ["k1"]),
            (["--label", "door_token=geheim"], []), ([], ["k1", "k2"]),
        ] {
            let list = try await RunningCommand.run(
                ["agents", "--names"] + options, environment: ["WAYPOST_BROKER": site.broker.url])
            #expect(list.status == 0 && list.output == names, "\(options) \(list)")
        }
        // What is known to be another is none of those; what says nothing is counted.
        for (options, silent) in [
            (["--label", "region=us"], ["k2"]), (["--app", ">=2.5"], ["k2"]), (["--state", "online"], []),
            (["--label", "region=us", "--label", "floor=2"], ["k2"]),
            (["--label", "floor=2"], ["k1", "k2"]),
            (["--label", "door_token=geheim"], ["k1", "k2"]),
            (["--label", "floor=2", "--state", "online"], ["k1"]),
        ] {
            let environment = ["WAYPOST_BROKER": site.broker.url]
            let list = try await RunningCommand.run(["agents", "--json"] + options, environment: environment)
            let last = try list.output.last.map { try JSONValue(parsing: $0) }
            #expect(last?["leftOut"] == (silent.isEmpty ? nil : .int(Int64(silent.count))), "\(list)")
            #expect((last?["agents"]?.arrayValue ?? []).compactMap(\.stringValue) == silent)
            let text = try await RunningCommand.run(["agents"] + options, environment: environment)
            let note = text.errorLines.contains {
                $0.contains("left out that") && $0.hasSuffix(": \(silent.joined(separator: ", "))")
            }
            #expect(note == !silent.isEmpty, "\(options) \(text)")
        }
        let wide = try await site.run("agents", "k1", "-o", "wide", "--wrap")
        #expect(wide.output.joined(separator: " ").contains("region=eu"), "\(wide)")
    }

    @Test func `a command to a group is for those whose labels and app fit`() async throws {
        let site = try await Site.open(["--demo", "--build", "2.4.1", "--label", "region=eu"])
        let other = try RunningAgent(
            "k2", broker: site.broker.url, arguments: ["--demo", "--label", "region=us"])
        try await other.online()
        let append = ["call", "LedgerService", "append", "--args", #"["once"]"#, "--group", "all"]
        let run = try await RunningCommand.run(
            append + ["--label", "region=eu", "--app", "<2.5"],
            environment: ["WAYPOST_BROKER": site.broker.url])
        #expect(run.status == 0 && run.output.contains { $0.hasPrefix("ok: k1 ") }, "\(run)")
        #expect(run.output.contains("not meant: k2: build <2.5: no (it is not known)"), "\(run)")
        #expect(other.ledger.isEmpty)
        // One that is named should have done it.
        let named = try await site.run(
            "open", "scheme://router/demo?id=2", "--agent", "k2", "--label", "region=eu")
        #expect(
            named.status == 1 && named.output == ["not meant: k2: label region=eu: no (it is us)"], "\(named)"
        )
        let settings = try BackendConfiguration(broker: site.broker.url, name: "shop")
        let answer = try await WaypostBackend.Backend.with(settings) { backend in
            try await backend.group("all").send(
                .open("scheme://router/demo?id=2"), SendOptions(when: ["labels": ["region": "us"]]))
        }
        #expect(answer.isComplete && answer.replies.filter(\.isOK).map(\.agent) == ["k2"], "\(answer)")
        let failures = try await site.run("failures", "--json")
        #expect(!failures.output.contains { $0.contains("NOT_MEANT") }, "\(failures)")
        _ = try await other.terminate()
    }

    @Test func `a plan of a roll-out is shown of the agents alone that say what is asked for`() async throws {
        let site = try await Site.open(["--demo", "--build", "2.4.1", "--label", "region=eu"])
        let other = try RunningAgent(
            "k2", broker: site.broker.url, arguments: ["--demo", "--label", "region=us"])
        try await other.online()
        let map = try ScratchFile(
            #"{"type":"map","rev":1,"entries":[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1"}]}"#,
            name: "map.json")
        for (options, agents, silent) in [
            ([], ["k1", "k2"], nil), (["--only", "region=eu"], ["k1"], []),
            (["--only", "app<2.5"], ["k1"], ["k2"]),
            (["--only", "app >=2.1 <3", "--only", "region=us"], [], ["k2"]),
            (["--only", "floor=2"], [], ["k1", "k2"]),
        ] as [([String], [String], [String]?)] {
            let plan = try await RunningCommand.run(
                ["rollout", "plan", "--group", "all", "--file", map.path, "--stages", "100%", "--json"]
                    + options,
                environment: ["WAYPOST_BROKER": site.broker.url])
            let json = try JSONValue(parsing: plan.output.joined())
            let stage = json["stages"]?[0]
            // What speaks against it is found of all in any case.
            #expect(plan.status == 0, "\(options) \(plan)")
            #expect(
                (stage?["examples"]?.arrayValue ?? []).compactMap(\.stringValue).sorted() == agents,
                "\(options) \(plan)")
            #expect(json["known"] == .int(Int64(agents.count)), "\(options) \(plan)")
            #expect(
                json["only"]?["silent"]?.arrayValue?.compactMap(\.stringValue) == silent, "\(options) \(plan)"
            )
            let builds = (json["builds"]?.arrayValue ?? []).compactMap { $0["agents"]?.intValue }
            #expect(builds.reduce(0, +) == Int64(agents.count), "\(options) \(plan)")
        }
        let text = try await site.run(
            "rollout", "plan", "--group", "all", "--file", map.path, "--only", "app<2.5")
        #expect(text.output.contains("only of 1 agent with app<2.5"), "\(text)")
        #expect(text.output.contains { $0.hasSuffix("neither yes nor no: k2") }, "\(text)")
        let settings = try BackendConfiguration(broker: site.broker.url, name: "release")
        try await WaypostBackend.Backend.with(settings) { backend in
            let document = try Relocation(
                document: Array(String(contentsOfFile: map.path, encoding: .utf8).utf8))
            let only = try RolloutPlan.Selection(labels: ["region": "us"], app: ">=2.1 <3")
            let plan = try await backend.group("all").planRollout(document, id: "r-1", only: only)
            #expect(plan.known == 0 && plan.builds.isEmpty && plan.isClear, "\(plan)")
            let part = try #require(plan.only)
            #expect(part.text == "region=us, app>=2.1 <3" && part.agents == 0 && part.silent == ["k2"])
        }
        for (labels, app) in [([:], nil), (["region": "eu"], "new")] as [([String: String], String?)] {
            let error = #expect(throws: BackendError.self) {
                try RolloutPlan.Selection(labels: labels, app: app)
            }
            #expect(error?.kind == .invalid)
        }
        for (fact, word) in [("region", "--only must be a label"), ("app<x", "range of versions behind app")]
        {
            let bad = try await site.run(
                "rollout", "plan", "--group", "all", "--file", map.path, "--only", fact)
            #expect(bad.status == 64 && bad.errorLines.joined().contains(word), "\(bad)")
        }
        _ = try await other.terminate()
    }

    @Test(arguments: [
        (["--label", "region"], "--label must be name=value"), (["--app", "new"], "--app must be a range"),
    ])
    func `what is no filter says so`(options: [String], text: String) async throws {
        let run = try await RunningCommand.run(["agents"] + options, environment: [:])
        #expect(run.status == 64 && run.errorLines.joined().contains(text), "\(run)")
    }
}
