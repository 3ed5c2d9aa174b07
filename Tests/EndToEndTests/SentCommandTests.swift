import CommandSupport
import Foundation
import Glibc
import TestSupport
import Testing
import Waypost

/// What became of a command that has no reply, or not yet.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct SentCommandTests {
    private static let deadline = ["--demo", "--handler-deadline", "300"]

    /// The arguments of a call that takes so many milliseconds.
    private func sleep(_ time: Int, _ id: String, _ more: String...) -> [String] {
        ["call", "ClockService", "sleep", "--args", "[\(time)]", "--agent", "k1", "--id", id] + more
    }

    private func start(_ arguments: [String], _ broker: String) throws -> RunningCommand {
        try RunningCommand(arguments, environment: ["WAYPOST_BROKER": broker])
    }

    @Test func `without a reply in time the agent is asked, and says since when it runs`() async throws {
        let site = try await Site.open(Self.deadline)
        let call = try start(sleep(290_000, "nap", "--wait", "2s"), site.broker.url)
        #expect(
            try await call.printedError("accepted")
                == "waypost: k1 accepted nap, and it takes longer; see: waypost explain nap --agent k1")
        let ending = try await call.ending()
        #expect(ending.status == 3 && ending.output.isEmpty)
        let line = try #require(ending.errorLines.last)
        #expect(
            try
                #/waypost: error: no result from k1 within 2 s; nap is running since \d+ s on k1; see: waypost explain nap --agent k1/#
                .wholeMatch(in: line) != nil, "\(line)")
        let explained = try await site.run("explain", "nap", "--agent", "k1")
        #expect(explained.output.first?.contains("  running since ") == true, "\(explained)")
        let steps = explained.output.dropFirst().map { $0.split(separator: " ").first ?? "" }
        #expect(steps == ["received", "started"], "\(explained.output)")

        // In the same lane.
        let next = try await RunningCommand.run(
            sleep(0, "next", "--wait", "1s"), environment: ["WAYPOST_BROKER": site.broker.url])
        #expect(
            next.errorLines.last?.contains("next is waiting for its turn behind 1 command of its lane on k1")
                == true, "\(next.errorLines)")
        #expect(try await site.run("cancel", "nap", "--agent", "k1").status == 0)
    }

    @Test func `Ctrl-C prints the id and what the command does`() async throws {
        let site = try await Site.open(Self.deadline)
        let call = try start(sleep(290_000, "nap", "--wait", "300s"), site.broker.url)
        try await call.printedError("accepted")
        call.send(signal: SIGINT)
        let ending = try await call.ending()
        #expect(ending.status == 130 && ending.output.isEmpty)
        #expect(ending.errorLines.last?.contains("nap is running since ") == true, "\(ending.errorLines)")
        #expect(try await site.run("cancel", "nap", "--agent", "k1").status == 0)
    }

    @Test func `a lost connection ends with the id and what the command does`() async throws {
        let site = try await Site.open(Self.deadline)
        let relay = try Relay(to: site.broker.port)
        defer { relay.end() }
        let call = try start(sleep(290_000, "nap", "--wait", "300s"), relay.url)
        try await call.printedError("accepted")
        relay.cut()
        relay.mend()
        let ending = try await call.ending()
        #expect(ending.status == 4)
        #expect(ending.errorLines.last?.contains("; nap is running since ") == true, "\(ending.errorLines)")
        #expect(try await site.run("cancel", "nap", "--agent", "k1").status == 0)
    }

    @Test func `an attempt that the agent's end interrupted is shown`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let first = try AgentProcess("k1", broker: broker.url, arguments: Self.deadline)
        try await first.online()
        let call = try start(sleep(290_000, "nap", "--wait", "300s", "--expires", "1h"), broker.url)
        try await call.printedError("accepted")
        try await first.kill()
        let second = try AgentProcess(
            "k1", broker: broker.url, directory: first.directory, arguments: Self.deadline)
        try await second.online()
        let explained = try await RunningCommand.run(
            ["explain", "nap", "--agent", "k1"], environment: ["WAYPOST_BROKER": broker.url])
        #expect(explained.output.first?.hasSuffix(", attempt 2") == true, "\(explained)")
        #expect(
            explained.output.contains("  interrupted  attempt 1: the agent ended before it had a result"),
            "\(explained.output)")
        call.send(signal: SIGTERM)
        _ = try await call.ending()
        try await second.kill()
    }

    @Test(
        arguments: [
            (["--expires", "never"], 86_400_000), (["--ttl", "10s"], 10_000),
        ] as [([String], Int64)])
    func `a command that never expires carries a duration and no time`(
        _ options: [String], _ timeToLive: Int64
    ) async throws {
        let site = try await Site.open()
        let backend = try await Backend(broker: site.broker.url)
        let ending = try await RunningCommand.run(
            ["open", "scheme://router/demo", "--agent", "k1"] + options,
            environment: ["WAYPOST_BROKER": site.broker.url])
        #expect(ending.status == 0, "\(ending)")
        try await backend.wait(for: "the command") {
            $0.contains { $0.topic.contains("/k1/cmd/") }
        }
        let command = try #require(
            backend.seen.first { $0.topic.contains("/k1/cmd/") && $0.text.contains("demo") })
        #expect(command.json?["ttl"] == .int(timeToLive), "\(command.text)")
        #expect(command.json?["exp"] == nil && command.json?["at"] == nil)
        await backend.disconnect()
    }

    @Test func `a command that is repeated by its id runs once, though its times are new`() async throws {
        let site = try await Site.open()
        for isFirst in [true, false] {
            let ending = try await site.run(
                "call", "LedgerService", "append", "--args", #"["a"]"#, "--agent", "k1", "--id", "X", "--json"
            )
            #expect(ending.status == 0)
            #expect(try JSONValue(parsing: ending.output[0])["dup"] == .bool(!isFirst))
        }
        #expect(site.agent.ledger.count == 1)
        let other = try await site.run(
            "call", "LedgerService", "append", "--args", #"["b"]"#, "--agent", "k1", "--id", "X")
        #expect(other.status == 1)
        #expect(other.output.first?.contains("id X was already used for a different command") == true)
    }

    @Test func `says how far it is while it is waited for`() async throws {
        let site = try await Site.open(Self.deadline)
        let ending = try await site.run(
            "call", "ClockService", "sleep", "--args", "[1800]", "--agent", "k1", "--id", "nap")
        #expect(ending.status == 0 && ending.output.first?.hasPrefix("ok: k1 (") == true, "\(ending)")
        #expect(
            ending.errorLines.contains {
                $0.hasPrefix("waypost: nap on k1: ") && $0.hasSuffix(" %, sleeping")
            },
            "\(ending)")
    }
}
