import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

/// `waypost simulate` at a real broker.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct SimulateTests {
    /// What the broker keeps below `kiosk-`.
    private func kept(at broker: TestBroker) async throws -> [String] {
        let backend = try await Backend(broker: broker.url)
        // It comes behind all that is kept.
        try await backend.publish("{}", to: "waypost/v1/last/state")
        try await backend.wait(for: "the last message") {
            $0.contains { $0.topic == "waypost/v1/last/state" }
        }
        defer { Task { await backend.disconnect() } }
        return backend.seen.map(\.topic).filter { $0.hasPrefix("waypost/v1/kiosk-") }
    }

    @Test(arguments: [[], ["--own-sessions"]])
    func `a fleet is seen, answers, takes a map, and leaves nothing behind`(_ sessions: [String]) async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let environment = ["WAYPOST_BROKER": broker.url]
        func run(_ words: String...) async throws -> RunningCommand.Ending {
            try await RunningCommand.run(words, environment: environment)
        }
        let simulation = try RunningCommand(
            [
                "simulate", "--agents", "50", "--problems", "16%", "--faults",
                "lost,red,map-refused,old-version", "--seed", "7",
            ] + sessions, environment: environment)
        try await simulation.printed("50 agents at \(broker.url)")
        try await simulation.printed("2 lost, 2 red, 2 map-refused, 2 old-version")
        try await simulation.printed("seed 7")

        var agents: [JSONValue] = []
        try await eventually("two agents to be lost") {
            let ending = try await run("agents", "--json")
            agents = try ending.output.map { try JSONValue(parsing: $0) }
            return agents.count { $0["state"]?["why"] == "will" } == 2
        }
        #expect(agents.count == 50)
        #expect(agents.count { $0["online"] == true } == 48)
        #expect(agents.count { $0["health"]?["status"] == "red" } == 2)
        #expect(agents.count { $0["state"]?["version"] == "1.9.0" } == 2)
        #expect(agents.count { $0["map"]?["refused"]?["rev"] == 11 } == 2)

        let present = try #require(
            agents.first { $0["online"] == true && $0["state"]?["version"] != "1.9.0" }?["agent"]?.stringValue
        )
        let ping = try await run("ping", "--agent", present)
        #expect(ping.status == 0 && ping.output.first?.hasPrefix("\(present): ") == true, "\(ping)")
        let call = try await run("call", "CalculatorService", "add", "--args", "[2,40]", "--agent", present)
        #expect(call.status == 0 && call.output.contains("  result: 42"), "\(call)")

        let map = try ScratchFile(
            #"{"type":"map","rev":12,"entries":[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1"}]}"#,
            name: "map.json")
        let relocated = try await run("relocate", "--group", "lobby", "--file", map.path, "--yes", "--json")
        #expect(relocated.output.count > 0, "\(relocated)")
        try await eventually("the map to be applied") {
            let ending = try await run("agents", "--json")
            return try ending.output.count { line in
                let layers = try JSONValue(parsing: line)["map"]?["layers"]?.arrayValue ?? []
                return layers.contains { $0["layer"] == "@lobby" && $0["rev"] == 12 }
            } > 20
        }

        simulation.send(signal: SIGTERM)
        let ending = try await simulation.ending()
        #expect(ending.status == 0, "\(ending)")
        #expect(ending.errorLines.last == "waypost: 50 agents ended; the broker keeps nothing of them")
        #expect(try await kept(at: broker) == [])
    }

    // A thread for each, with its stack, was most of the memory of an agent.
    @Test func `agents with their own sessions share a few threads`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let simulation = try CommandProcess(
            ["simulate", "--agents", "150", "--own-sessions", "--problems", "0%", "--seed", "5"],
            environment: ["WAYPOST_BROKER": broker.url])
        try await simulation.printed("seed 5")
        // Those that made the connections end by themselves.
        try await eventually("few threads") {
            let threads = try FileManager.default.contentsOfDirectory(
                atPath: "/proc/\(simulation.processID)/task")
            return threads.count <= 40
        }
        let agents = try await RunningCommand.run(
            ["agents", "--names"], environment: ["WAYPOST_BROKER": broker.url])
        #expect(agents.output.count == 150)
        simulation.send(signal: SIGTERM)
        #expect(try await simulation.ending().status == 0)
    }

    @Test func `with --keep the agents are shown as shut down, and a time ends it`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let environment = ["WAYPOST_BROKER": broker.url]
        let ending = try await RunningCommand.run(
            ["simulate", "--agents", "3", "--faults", "red", "--for", "100ms", "--keep", "--json"],
            environment: environment)
        #expect(ending.status == 0, "\(ending)")
        let line = try JSONValue(parsing: #require(ending.output.first))
        #expect(line["agents"] == 3 && line["seed"]?.intValue != nil)
        let agents = try await RunningCommand.run(["agents", "--json"], environment: environment)
        let states = try agents.output.map { try JSONValue(parsing: $0)["state"]?["why"] }
        #expect(states == ["shutdown", "shutdown", "shutdown"])
    }

    @Test(arguments: [[], ["--own-sessions"]])
    func `after a restart of the broker, which has forgotten them, the agents are there again`(
        _ sessions: [String]
    ) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let environment = ["WAYPOST_BROKER": broker.url]
        let simulation = try RunningCommand(
            ["simulate", "--agents", "10", "--problems", "0%"] + sessions, environment: environment)
        try await simulation.printed("seed")
        try await broker.restart()
        try await simulation.printedError("connected again")
        try await eventually("all agents to be there") {
            let agents = try await RunningCommand.run(["agents", "--json"], environment: environment)
            return try agents.output.count { line in
                let json = try JSONValue(parsing: line)
                return json["online"] == true && json["health"]?["counters"]?["connects"] == 2
            } == 10
        }
        simulation.send(signal: SIGTERM)
        #expect(try await simulation.ending().status == 0)
        #expect(try await kept(at: broker) == [])
    }

    @Test(
        arguments: [
            ["--agents", "0"], ["--prefix", "a/b"], ["--groups", "all"], ["--groups", "a,a"],
            ["--versions", "1=x"], ["--versions", "1,1"], ["--problems", "200%"], ["--faults", "losd"],
            ["--map-of", "/nonexistent"], ["--sessions", "0"], ["--log-rate", "-1"],
        ])
    func `wrong numbers and names are refused before there is a broker`(_ words: [String]) async throws {
        let ending = try await RunningCommand.run(
            ["simulate"] + words + ["--broker", "mqtt://127.0.0.1:\(try FreePort.find())"])
        #expect(ending.status == 64, "\(ending)")
        #expect(ending.output.isEmpty)
    }

    @Test func `a map that the agents refuse is refused before the first of them is there`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let map = try ScratchFile(
            #"{"type":"map","rev":1,"entries":[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo"}]}"#,
            name: "map.json")
        let ending = try await RunningCommand.run(
            ["simulate", "--map-of", map.path], environment: ["WAYPOST_BROKER": broker.url])
        #expect(ending.status == 1)
        #expect(ending.errorLines.first?.contains("the agents refuse \(map.path)") == true, "\(ending)")
        #expect(try await kept(at: broker) == [])
    }
}
