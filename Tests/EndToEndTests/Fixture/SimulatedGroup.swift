import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

/// A broker, the simulated group lobby, and the files of two maps; the first is in force.
final class SimulatedGroup: Sendable {
    let broker: TestBroker
    let simulation: RunningCommand
    let base: String
    let next: String

    init(_ count: Int = 60, _ words: [String] = []) async throws {
        broker = try await TestBroker.start()
        let folder = NSTemporaryDirectory() + "waypost-rollout-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        (base, next) = (folder + "/41.json", folder + "/42.json")
        for (path, revision, target) in [(base, 41, "demo1"), (next, 42, "demo2")] {
            let map =
                #"{"id":"m","type":"map","rev":\#(revision),"aud":"@lobby","entries":[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/\#(target)"}]}"#
            try Data(map.utf8).write(to: URL(fileURLWithPath: path))
        }
        simulation = try RunningCommand(
            [
                "simulate", "--agents", "\(count)", "--groups", "lobby", "--problems", "0%", "--traffic",
                "60",
                "--log-rate", "0", "--failure-rate", "0", "--map-of", base, "--seed", "7",
            ] + words, environment: ["WAYPOST_BROKER": broker.url])
        try await simulation.printed("seed 7")
        let sent = try await run("relocate", "--group", "lobby", "--file", base, "--yes", "--wait", "0")
        #expect(sent.status == 0, "\(sent)")
    }

    deinit { broker.end() }

    func run(_ words: String...) async throws -> RunningCommand.Ending {
        try await RunningCommand.run(words, environment: ["WAYPOST_BROKER": broker.url])
    }

    /// Begins to roll the new map out, in short stages.
    func start(dwell: String = "1s", _ words: String...) throws -> RunningCommand {
        try RunningCommand(line(dwell) + words, environment: ["WAYPOST_BROKER": broker.url])
    }

    /// As ``start(dwell:_:)``, as a process, which can be killed.
    func startProcess(dwell: String) throws -> CommandProcess {
        try CommandProcess(line(dwell), environment: ["WAYPOST_BROKER": broker.url])
    }

    private func line(_ dwell: String) -> [String] {
        [
            "rollout", "start", "--group", "lobby", "--file", next, "--id", "r-7", "--stages",
            "5,50%,100%", "--dwell", dwell, "--tail", "0s", "--spread", "100ms",
        ]
    }

    /// How many agents have which revision in force.
    func revisions() async throws -> [Int64: Int] {
        let agents = try await run("agents", "--json", "--wait", "5m")
        return try agents.output.reduce(into: [:]) { counts, line in
            let layers = try JSONValue(parsing: line)["map"]?["layers"]?.arrayValue ?? []
            counts[layers.first { $0["layer"] == "@lobby" }?["rev"]?.intValue ?? 0, default: 0] += 1
        }
    }

    func status() async throws -> JSONValue? {
        let ending = try await run("rollout", "status", "--group", "lobby", "--json")
        return try ending.output.first.map { try JSONValue(parsing: $0) }
    }
}
