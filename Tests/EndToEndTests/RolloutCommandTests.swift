import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostCLI
@testable import WaypostFleet

/// `waypost rollout` at a real broker, with simulated and with real agents.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct RolloutCommandTests {
    @Test func `a good map is planned, goes to everyone, and its history is whole`() async throws {
        let scene = try await SimulatedGroup()
        let plan = try await scene.run("rollout", "plan", "--group", "lobby", "--file", scene.next)
        #expect(plan.status == 0 && plan.output.contains("nothing speaks against it"), "\(plan)")
        #expect(
            plan.output.contains { $0.contains("scheme://router/demo1 → scheme://router/demo2") }, "\(plan)")
        let command = try scene.start()
        let watch = try RunningCommand(
            ["rollout", "watch", "--group", "lobby"], environment: ["WAYPOST_BROKER": scene.broker.url])
        let ending = try await command.ending()
        #expect(ending.status == 0 && ending.output.last == "done", "\(ending)")
        let watched = try await watch.ending()
        #expect(watched.status == 0, "\(watched)")
        // The stages are shorter than the time between two reports of the controller: it reports at their ends.
        for output in [watched.output, ending.output] {
            for stage in ["[5 (5)]", "[50% (", "[100% (60)]"] {
                let found = zip(output, output.dropFirst()).filter { $0.0.contains(stage) }.map(\.1)
                let isEnded = found.contains { line in
                    // `5 of 60 agents online have the new map, 5 are chosen`: one in ten may be late.
                    let numbers = line.split(separator: " ").compactMap { Int($0) }
                    return numbers.count >= 3 && numbers[0] * 10 >= numbers[2] * 9
                }
                #expect(isEnded, "\(stage): \(output)")
            }
        }
        #expect(!watched.output.contains { $0.contains("0 of 0 agents") }, "\(watched)")
        let over = try await scene.run("rollout", "status", "--group", "lobby")
        #expect(over.output.count == 3 && over.output[1] == "  5 ok  50% ok  100% ok", "\(over)")
        #expect(watched.output.contains { $0.contains("failures") && $0.contains("e ") }, "\(watched)")
        try await eventually("all to have the map") { try await scene.revisions() == [42: 60] }
        let history = try await scene.run("rollout", "history", "--group", "lobby", "--json")
        #expect(history.status == 0, "\(history)")
        let events = try history.output.map { try JSONValue(parsing: $0)["event"]?.stringValue }
        #expect(events.first == "start" && events.last == "done" && events.count == 6)
        let file = try ScratchFile(history.output.joined(separator: "\n") + "\n", name: "audit.jsonl")
        let whole = try await scene.run("rollout", "history", "--file", file.path)
        #expect(whole.status == 0 && whole.output.last?.hasPrefix("nothing is missing") == true, "\(whole)")
        let cut = try ScratchFile(
            history.output.enumerated().filter { $0.offset != 2 }.map(\.element).joined(separator: "\n"))
        #expect(try await scene.run("rollout", "history", "--file", cut.path).status == 1)
        // The same once more must not begin.
        let again = try await scene.run(
            "rollout", "start", "--group", "lobby", "--file", scene.next, "--id", "r-7")
        #expect(again.status == 1 && again.errorLines.first?.contains("rev above 42") == true, "\(again)")
    }

    @Test func `a plan that did not read all of the fleet speaks against itself`() async throws {
        let scene = try await SimulatedGroup()
        let settings = try BackendConfiguration(broker: scene.broker.url, name: "ops")
        let map = Relocation(document: MapDocument.map(id: "m-42", revision: 42, entries: []), .map)
        let plan = try await RolloutPlanner(settings, group: "lobby", RolloutOptions(), byteLimit: 4_096)
            .plan(map, id: "r-7")
        #expect(plan.faults.contains { $0.contains("dropped") }, "\(plan.faults)")
    }

    @Test func `a map that changes no URL needs no traffic`() async throws {
        let scene = try await SimulatedGroup(20)
        let same = try String(contentsOfFile: scene.base, encoding: .utf8)
            .replacingOccurrences(of: ":41,", with: ":43,")
        let file = try ScratchFile(same, name: "43.json")
        let ending = try await scene.run(
            "rollout", "start", "--group", "lobby", "--file", file.path, "--stages", "5,100%", "--dwell",
            "100ms", "--tail", "0s", "--spread", "0ms")
        #expect(ending.status == 0, "\(ending)")
    }

    @Test func `each entry of the audit is in the file, too, also those of another controller`() async throws
    {
        let scene = try await SimulatedGroup()
        let folder = NSTemporaryDirectory() + "waypost-audit-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/lobby.jsonl"
        let first = try scene.start(dwell: "1m", "--audit", path)
        try await eventually("the first stage") { try await scene.status()?["onNext"]?.intValue == 5 }
        first.send(signal: SIGINT)
        let interrupted = try await first.ending()
        #expect(interrupted.status == 130, "\(interrupted)")
        #expect(
            interrupted.errorLines.contains { $0.contains("waypost rollout resume --group lobby") },
            "\(interrupted)")
        let gone = try await scene.run("rollout", "status", "--group", "lobby")
        #expect(
            gone.output[0].hasSuffix("without a controller: waypost rollout resume --group lobby goes on"),
            "\(gone)")
        // One without the file.
        #expect(try await scene.run("rollout", "pause", "--group", "lobby").status == 0)
        let back = try await scene.run(
            "rollout", "take-back", "--group", "lobby", "--why", "lunch", "--audit", path)
        #expect(back.status == 0, "\(back)")
        let history = try await scene.run("rollout", "history", "--file", path, "--json")
        #expect(history.status == 0, "\(history)")
        let events = try history.output.map { try JSONValue(parsing: $0)["event"]?.stringValue }
        #expect(events == ["start", "stage", "pause", "take-back", "taken-back"])
        let kept = try await scene.run("rollout", "history", "--group", "lobby", "--json")
        #expect(kept.output == history.output)
        #expect(
            try await scene.run("rollout", "history", "--file", path, "--group", "lobby").status == 64)
        let foreign = try await scene.run(
            "rollout", "start", "--group", "lobby", "--file", scene.next, "--audit", scene.next)
        #expect(foreign.status == 64, "\(foreign)")
    }

    @Test func `a file that takes no entry stops nothing, and is said everywhere`() async throws {
        let scene = try await SimulatedGroup()
        let folder = NSTemporaryDirectory() + "waypost-audit-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/lobby.jsonl"
        let command = try scene.start(dwell: "5s", "--audit", path)
        // On a slow machine a stage may have begun by now; its end is not in the file either.
        try await eventually("the first entry") {
            (try? String(contentsOfFile: path, encoding: .utf8))?.hasSuffix("\n") == true
        }
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let ending = try await command.ending()
        #expect(ending.status == 1 && ending.output.last == "done", "\(ending)")
        #expect(ending.output.contains { $0.contains("note:") && $0.contains("the file of the audit lacks") })
        #expect(ending.errorLines.last?.contains("the file of the audit lacks") == true, "\(ending)")
        #expect(try await scene.revisions() == [42: 60])
        let history = try await scene.run("rollout", "history", "--group", "lobby")
        #expect(history.status == 0 && history.output.contains { $0.contains("unkept") }, "\(history)")
        // The next command of the group with the file fetches what is missing.
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        let file = try ScratchFile(
            String(contentsOfFile: scene.next, encoding: .utf8).replacingOccurrences(
                of: ":42,", with: ":43,"),
            name: "43.json")
        let next = try await scene.run(
            "rollout", "start", "--group", "lobby", "--file", file.path, "--stages", "100%", "--dwell",
            "100ms",
            "--tail", "0s", "--spread", "0ms", "--without-traffic", "--audit", path)
        #expect(next.status == 0, "\(next)")
        let whole = try await scene.run("rollout", "history", "--file", path, "--json")
        let kept = try await scene.run("rollout", "history", "--group", "lobby", "--json")
        #expect(whole.status == 0 && whole.output == kept.output, "\(whole)")

        // And the end of the audit is held against the control document.
        let backend = try await Backend(broker: scene.broker.url)
        let last = try #require(kept.output.last.map { try JSONValue(parsing: $0)["n"]?.intValue ?? 0 })
        try await backend.publish("", to: "waypost/v1/@lobby/rollout/log/\(last)", retain: true)
        let cut = try await scene.run("rollout", "history", "--group", "lobby")
        #expect(
            cut.status == 1
                && cut.output.last
                    == "broken: entry \(last) is missing at the end, as the control document says",
            "\(cut)")
        let status = try await scene.run("rollout", "status", "--group", "lobby")
        #expect(
            status.output.contains { $0.contains("note: entry \(last) is missing at the end") }, "\(status)")
        await backend.disconnect()
    }

    @Test func `what one agent alone would refuse keeps no map from the others, and is said`() async throws {
        let scene = try await SimulatedGroup(10)
        let odd = try RunningAgent(
            "odd", broker: scene.broker.url, arguments: ["--demo", "--group", "lobby"])
        try await odd.online()
        // With the new map its own would lead round in a circle.
        let own = try ScratchFile(
            #"{"type":"map","id":"o","rev":1,"entries":[{"routerType":1,"orginPath":"scheme://router/demo2","targetPath":"scheme://router/demo"}]}"#,
            name: "own.json")
        #expect(try await scene.run("relocate", "--agent", "odd", "--file", own.path).status == 0)
        let plan = try await scene.run("rollout", "plan", "--group", "lobby", "--file", scene.next)
        #expect(plan.status == 0, "\(plan)")
        #expect(
            plan.output.contains { $0.contains("would refuse it") && $0.contains("see --exclude odd") },
            "\(plan)")
        let without = try await scene.run(
            "rollout", "plan", "--group", "lobby", "--file", scene.next, "--exclude", "odd")
        #expect(without.status == 0 && !without.output.contains { $0.contains("would refuse") }, "\(without)")
        #expect(try await odd.terminate() == 0)
    }

    @Test func `in a group of two one can be left out that keeps a map from the other`() async throws {
        let scene = try await SimulatedGroup(1)
        let liar = try await TestSupport.Backend(broker: scene.broker.url)
        try await liar.pretendAgent("liar", in: "lobby")
        // It can't have come to that, and no one else says so.
        try await liar.publish(
            #"{"layers":[{"layer":"@lobby","rev":9007199254740990,"digest":"sha256:00","at":1}],"entries":0,"inactive":[],"refused":null}"#,
            to: "waypost/v1/liar/map/applied", retain: true)
        func plan(_ words: String...) async throws -> RunningCommand.Ending {
            try await RunningCommand.run(
                ["rollout", "plan", "--group", "lobby", "--file", scene.next, "--unchecked"] + words,
                environment: ["WAYPOST_BROKER": scene.broker.url])
        }
        let refused = try await plan()
        #expect(refused.status == 1, "\(refused)")
        for part in ["liar has rev 9007199254740990", "go on without it: --exclude liar"] {
            #expect((refused.output + refused.errorLines).contains { $0.contains(part) }, "\(refused)")
        }
        let without = try await plan("--exclude", "liar")
        #expect(without.status == 0 && without.output.contains("nothing speaks against it"), "\(without)")
        await liar.disconnect()
    }

    @Test(arguments: [["--map-fault", "42:fail=100%"], ["--map-fault", "42:fail=100%", "--own-sessions"]])
    func `a bad map is taken back from all`(_ words: [String]) async throws {
        let scene = try await SimulatedGroup(60, words)
        let ending = try await scene.start().ending()
        #expect(ending.status == 1, "\(ending)")
        #expect(ending.output.last?.hasPrefix("taken back: ") == true, "\(ending)")
        try await eventually("all to be back") { try await scene.revisions() == [41: 60] }
        #expect(try await scene.status()?["state"] == "taken-back")
    }

    @Test func `a version that refuses it pauses it with status 3`() async throws {
        let scene = try await SimulatedGroup(60, ["--versions", "2.4.1", "--map-fault", "42:refuse=2.4.1"])
        let ending = try await scene.start().ending()
        #expect(ending.status == 3, "\(ending)")
        #expect(ending.output.last?.hasPrefix("paused: candidate: ") == true, "\(ending)")
        let back = try await scene.run("rollout", "take-back", "--group", "lobby", "--why", "it does not fit")
        #expect(back.status == 0 && back.output.last == "taken back: it does not fit", "\(back)")
    }

    @Test func `a controller that is killed leaves all as it is, and another one goes on`() async throws {
        let scene = try await SimulatedGroup()
        let command = try scene.startProcess(dwell: "1m")
        try await eventually("the first stage") {
            try await scene.status()?["onNext"]?.intValue == 5
        }
        command.send(signal: SIGKILL)
        _ = try await command.status()
        // Its will has given up the lease.
        try await eventually("the end of the lease") { try await scene.status()?["holder"]?.isNull == true }
        #expect(try await scene.revisions()[42] == 5)
        let resumed = try RunningCommand(
            ["rollout", "resume", "--group", "lobby", "--dwell", "1s", "--tail", "0s", "--as", "ops2"],
            environment: ["WAYPOST_BROKER": scene.broker.url])
        let ending = try await resumed.ending()
        #expect(ending.status == 0, "\(ending)")
        try await eventually("all to have the map") { try await scene.revisions() == [42: 60] }
        #expect(try await scene.run("rollout", "history", "--group", "lobby").status == 0)
    }

    @Test func `of two controllers one goes on: a second start is refused, and a pause ends the first`()
        async throws
    {
        let scene = try await SimulatedGroup()
        let first = try scene.start(dwell: "1m")
        try await eventually("the first stage") { try await scene.status()?["onNext"]?.intValue == 5 }
        let second = try await scene.run(
            "rollout", "start", "--group", "lobby", "--file", scene.next, "--id", "r-8", "--as", "ops2")
        #expect(second.status == 1, "\(second)")
        let pause = try await scene.run(
            "rollout", "pause", "--group", "lobby", "--why", "lunch", "--as", "ops2")
        #expect(pause.status == 0, "\(pause)")
        let ending = try await first.ending()
        #expect(ending.status == 3 && ending.output.last == "ops2 steers it now", "\(ending)")
        #expect(try await scene.status()?["state"] == "paused")
        let promote = try await scene.run("rollout", "promote", "--group", "lobby", "--tail", "0s")
        #expect(promote.status == 0, "\(promote)")
    }

    @Test func `a broker that restarts and forgets all gets it again, and the roll-out ends well`()
        async throws
    {
        let scene = try await SimulatedGroup()
        // Long enough for it not to be over before somebody watches; verdicts stand still for as long in any case.
        let command = try scene.start(dwell: "30s,4s")
        try await command.printed("running")
        let watch = try RunningCommand(
            ["rollout", "watch", "--group", "lobby"], environment: ["WAYPOST_BROKER": scene.broker.url])
        try await watch.printed("r-7 in @lobby")
        try await scene.broker.restart()
        // Verdicts stand still for 30 s after a connection was lost.
        try await eventually("the end of the roll-out", within: .seconds(300)) {
            try await scene.status()?["state"] == "done"
        }
        let ending = try await command.ending()
        #expect(ending.status == 0, "\(ending)")
        let watched = try await watch.ending()
        #expect(watched.status == 0 && watched.output.last == "done", "\(watched)")
        try await eventually("all to have the map") { try await scene.revisions() == [42: 60] }
    }

    @Test func `a map that the broker has lost is published again first, when it is that of the members`()
        async throws
    {
        let scene = try await SimulatedGroup(20)
        try await eventually("the first map in force") { try await scene.revisions() == [41: 20] }
        try await scene.broker.restart()
        try await eventually("all to be back, with their map") { try await scene.revisions() == [41: 20] }
        let plan = { (words: [String]) in
            try await RunningCommand.run(
                ["rollout", "plan", "--group", "lobby", "--file", scene.next] + words,
                environment: ["WAYPOST_BROKER": scene.broker.url])
        }
        let lost = try await plan([])
        #expect(lost.status == 3, "\(lost)")
        for part in ["rev 41 of @lobby in force", "kiosk-1", "--republish FILE"] {
            #expect(lost.output.contains { $0.contains(part) }, "\(part): \(lost)")
        }
        // Of the same revision, and not what any gate has seen.
        let other = try ScratchFile(
            String(contentsOfFile: scene.base, encoding: .utf8)
                .replacingOccurrences(of: "demo1", with: "demo3"), name: "41.json")
        let wrong = try await plan(["--republish", other.path])
        #expect(wrong.status == 1 && wrong.output.contains { $0.contains("byte for byte") }, "\(wrong)")
        let refused = try await scene.start("--republish", other.path).ending()
        #expect(refused.status == 1 && refused.output.isEmpty, "\(refused)")
        // A plan changes nothing.
        let right = try await plan(["--republish", scene.base])
        #expect(
            right.status == 0 && right.output.contains { $0.contains("is published again first") }, "\(right)"
        )
        #expect(try await plan([]).status == 3)

        let ending = try await scene.start("--republish", scene.base).ending()
        #expect(ending.status == 0 && ending.output.last == "done", "\(ending)")
        try await eventually("all to have the map") { try await scene.revisions() == [42: 20] }
        let again = try await plan(["--republish", scene.base])
        #expect(
            again.status == 1 && again.output.contains { $0.contains("the broker keeps rev 42") }, "\(again)")
    }

    @Test func `where the broker keeps nothing of the agents, they are asked who is there`() async throws {
        let scene = try await SimulatedGroup()
        let backend = try await Backend(broker: scene.broker.url)
        for agent in 1...60 {
            for topic in ["state", "health", "map/applied", "routes", "contract"] {
                try await backend.publish("", to: "waypost/v1/kiosk-\(agent)/\(topic)", retain: true)
            }
        }
        await backend.disconnect()
        let plan = try await scene.run("rollout", "plan", "--group", "lobby", "--file", scene.next)
        #expect(plan.status == 3 && plan.output.contains { $0.contains("is not known") }, "\(plan)")
        let unasked = try await scene.start().ending()
        #expect(
            unasked.status == 1 && unasked.errorLines.contains { $0.contains("--unchecked") }, "\(unasked)")
        let ending = try await scene.start(dwell: "1s", "--unchecked").ending()
        #expect(ending.status == 0 && ending.output.last == "done", "\(ending)")
    }

    @Test func `real agents go forward, and back when a path is not found`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        func run(_ words: String...) async throws -> RunningCommand.Ending {
            try await RunningCommand.run(words, environment: ["WAYPOST_BROKER": broker.url])
        }
        var agents: [RunningAgent] = []
        for number in 1...4 {
            let agent = try RunningAgent(
                "real-\(number)", broker: broker.url, arguments: ["--demo", "--group", "lobby"])
            try await agent.online()
            agents.append(agent)
        }
        let good = try ScratchFile(
            #"{"type":"map","rev":1,"entries":[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1"}]}"#,
            name: "good.json")
        let start = try await run(
            "rollout", "start", "--group", "lobby", "--file", good.path, "--id", "r-1", "--stages", "2,100%",
            "--dwell", "1s", "--tail", "0s", "--spread", "0ms", "--without-traffic")
        #expect(start.status == 0, "\(start)")
        for number in 1...4 {
            let open = try await run("open", "scheme://router/demo", "--agent", "real-\(number)", "--json")
            #expect(open.output.contains { $0.contains("scheme://router/demo1") }, "\(open)")
        }
        let bad = try ScratchFile(
            #"{"type":"map","rev":2,"entries":[{"routerType":3,"path":"scheme://router/demo2"}]}"#,
            name: "bad.json")
        let command = try RunningCommand(
            [
                "rollout", "start", "--group", "lobby", "--file", bad.path, "--id", "r-2", "--stages", "100%",
                "--dwell", "10m", "--spread", "0ms",
            ], environment: ["WAYPOST_BROKER": broker.url])
        try await eventually("all to have it") {
            let status = try await run("rollout", "status", "--group", "lobby", "--json")
            return try status.output.first.map { try JSONValue(parsing: $0)["onNext"] == 4 } ?? false
        }
        let open = try await run("open", "scheme://router/demo2", "--group", "lobby", "--json")
        #expect(open.status == 1, "\(open)")
        let ending = try await command.ending()
        #expect(
            ending.status == 1 && ending.output.last?.hasPrefix("taken back: not-found") == true, "\(ending)")
        for number in 1...4 {
            let open = try await run("open", "scheme://router/demo2", "--agent", "real-\(number)")
            #expect(open.status == 0, "\(open)")
        }
        for agent in agents { #expect(try await agent.terminate() == 0) }
    }

    @Test(arguments: [
        ["start", "--group", "lobby"], ["start", "--file", "x.json"],
        ["plan", "--group", "a/b", "--file", "x"],
        ["start", "--group", "lobby", "--file", "/nonexistent"],
        ["start", "--group", "lobby", "--file", "x", "--dwell", "soon"],
        ["start", "--group", "lobby", "--file", "x", "--id", "a/b"], ["status"], ["pause"],
        // What a roll-out has from its start on would be ignored.
        ["resume", "--group", "lobby", "--stages", "5"],
    ])
    func `wrong words are wrong usage`(_ words: [String]) async throws {
        let ending = try await RunningCommand.run(
            ["rollout"] + words + ["--broker", "mqtt://127.0.0.1:\(try FreePort.find())"])
        #expect(ending.status == 64, "\(ending)")
    }

    @Test func `without a broker the status is 4, without a roll-out 3 and 1`() async throws {
        let away = "mqtt://127.0.0.1:\(try FreePort.find())"
        let status = try await RunningCommand.run(["rollout", "status", "--group", "lobby", "--broker", away])
        #expect(status.status == 4, "\(status)")
        let broker = try await TestBroker.start()
        defer { broker.end() }
        for (verb, expected) in [("status", 3), ("resume", 1), ("take-back", 1)] as [(String, Int32)] {
            let ending = try await RunningCommand.run(
                ["rollout", verb, "--group", "lobby", "--broker", broker.url])
            #expect(ending.status == expected, "\(ending)")
        }
    }
}
