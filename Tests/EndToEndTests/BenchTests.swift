import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostCLI
@testable import WaypostLab

/// `waypost bench` counts what comes back, and what does not.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct BenchTests {
    private func report(_ ending: RunningCommand.Ending) throws -> JSONValue {
        try JSONValue(parsing: try #require(ending.output.first, "\(ending.errorLines)"))
    }

    @Test(
        arguments: [
            [], ["--qos", "0"], ["--service", "CalculatorService", "--method", "add", "--args", "[2,40]"],
            ["--url", "scheme://router/demo?id=2"], ["--rate", "2000"],
        ])
    func `counts every reply, and orders its percentiles`(_ load: [String]) async throws {
        let site = try await Site.open(["--demo", "--intake-rate", "0"])
        let ending = try await RunningCommand.run(
            ["bench", "--agent", "k1", "--count", "200", "--in-flight", "50", "--json", "--wait", "5m"]
                + load,
            environment: ["WAYPOST_BROKER": site.broker.url])
        #expect(ending.status == 0, "\(ending)")
        let report = try report(ending)
        #expect(report["sent"] == 200)
        #expect(report["ok"] == 200)
        #expect(report["lost"] == 0)
        #expect(report["duplicates"] == 0)
        let latency = ["p50", "p99", "p99.9", "max"].compactMap {
            report["latencyMicroseconds"]?[$0]?.intValue
        }
        #expect(latency.count == 4)
        #expect(latency == latency.sorted())
        #expect((latency.first ?? 0) > 0)
        #expect(try await site.agent.terminate() == 0)
    }

    @Test func `what the agent refuses is counted by name, and is not lost`() async throws {
        let site = try await Site.open(["--demo", "--intake-rate", "1", "--intake-burst", "60"])
        let ending = try await site.run(
            "bench", "--agent", "k1", "--rate", "5000", "--count", "100", "--json", "--wait", "5m")
        let report = try report(ending)
        #expect(ending.status == 0)
        // As many again as the burst are answered; what is beyond that is not read.
        #expect((report["errors"]?["429 BUSY"]?.intValue ?? 0) > 0, "\(report)")
        #expect(report["lost"] == 0)
        let text = try await site.run(
            "bench", "--agent", "k1", "--rate", "5000", "--count", "100", "--as", "other", "--wait", "5m")
        #expect(text.output.contains { $0.contains("× 429 BUSY") }, "\(text.output)")
        #expect(text.output.contains("0 lost, 0 duplicates"))
    }

    @Test func `unless it is told to, it sends no more than the agent takes from one sender`() async throws {
        let site = try await Site.open(["--demo", "--intake-rate", "20", "--intake-burst", "20"])
        let ending = try await site.run("bench", "--agent", "k1", "--count", "60", "--wait", "5m")
        #expect(ending.status == 0)
        #expect(ending.output.first?.hasPrefix("k1: 60 sent, 60 answered, 60 ok, ") == true, "\(ending)")
        #expect(
            ending.errorLines.contains {
                $0.hasPrefix("waypost: k1 accepts 20 commands/s from one sender; sending 18.0/s")
            })
    }

    @Test func `while the machine sleeps nothing is lost, and nothing comes too fast then`() async throws {
        let site = try await Site.openProcess(["--demo", "--intake-rate", "20", "--intake-burst", "20"])
        let bench = try CommandProcess(
            ["bench", "--agent", "k1", "--count", "200", "--wait", "10s", "--broker", site.broker.url])
        try await site.broker.waitForLog(containing: "'waypost/v1/k1/cmd/", times: 10)
        // As when a lid is closed, for longer than the bench waits for a reply; by a program of its own, so that what
        // else this process does makes it no longer.
        let both = "\(bench.processID) \(site.agent.processID)"
        let sleep = try await Tool.run(
            "sh", ["-c", "kill -STOP \(both); sleep 12; kill -CONT \(both)"])
        #expect(sleep.status == 0)
        let ending = try await bench.ending()
        #expect(ending.status == 0)
        #expect(ending.output.first?.hasPrefix("k1: 200 sent, 200 answered, 200 ok, ") == true, "\(ending)")
        #expect(ending.errorLines.contains { $0.hasPrefix("waypost: this process was suspended for ") })
    }

    @Test(
        arguments: [Int64.min, -1, 0, 1, 2, 3, 20, .max], [Int64.min, 0, 1, 2, 3, 20, 1_000_000, .max])
    func `whatever an agent says that it takes, the pace is a bounded one`(_ rate: Int64, _ burst: Int64) {
        let health = Health(["limits": ["intakeRate": .int(rate), "intakeBurst": .int(burst)]])
        let pace = BenchPace(asked: nil, inFlight: 100, limit: health.senderLimit, agent: "k1")
        #expect((1...100).contains(pace.inFlight))
        guard rate > 0 else {
            #expect(pace.rate == nil)
            return
        }
        // What is under way when nothing could be sent for an hour, and what is sent at once then.
        let now = ContinuousClock.now
        var planned = now - .seconds(3_600)
        var sent = 0
        while sent < 1_000, pace.due(planned, at: now) <= now {
            planned = pace.next(after: pace.due(planned, at: now))
            sent += 1
        }
        // Those are a burst of the agent's; the smallest is one under way and one more.
        if rate <= 20 {
            #expect(pace.inFlight + sent <= max(2, Int(clamping: burst)))
        }
    }

    @Test func `an agent that is not there loses all, and the status says so`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let ending = try await RunningCommand.run(
            ["bench", "--agent", "nobody", "--count", "10", "--wait", "1s", "--json"],
            environment: ["WAYPOST_BROKER": broker.url])
        #expect(ending.status == 1)
        #expect(try report(ending)["lost"] == 10)
    }

    @Test func `without a broker it ends with 4`() async throws {
        let ending = try await RunningCommand.run(
            ["bench", "--agent", "k1", "--broker", "mqtt://127.0.0.1:\(try FreePort.find())"])
        #expect(ending.status == 4, "\(ending)")
    }
}
