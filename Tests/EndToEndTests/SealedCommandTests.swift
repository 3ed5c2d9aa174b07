import CommandSupport
import Foundation
import TestSupport
import Testing
import WaypostBackend

/// A backend that must not lose a command, and whose commands must not run twice.
@Suite(.aFewAtATime, .timeLimit(.minutes(20)))
struct SealedCommandTests {
    /// A sender's eight commands wait at the broker, for the agent is away; `disturb` has it back and returns it, and
    /// the sender that ends well.
    ///
    /// - Returns: what the agent wrote down, and what the last sender printed.
    private func deliver(
        _ configuration: [String],
        _ disturb: (
            TestBroker, CommandProcess, _ agent: () async throws -> RunningAgent,
            _ sender: () throws -> CommandProcess
        ) async throws -> (RunningAgent, CommandProcess)
    ) async throws -> (ledger: [String], replies: [String]) {
        let broker = try await TestBroker.start(
            ["allow_anonymous true", "max_queued_messages 0"] + configuration)
        defer { broker.end() }
        let before = try RunningAgent("k1", broker: broker.url)
        try await before.online()
        _ = try await before.terminate()
        let folder = NSTemporaryDirectory() + "waypost-sealed-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        func start(_ more: [String] = []) throws -> CommandProcess {
            try CommandProcess(
                [broker.url, folder] + more, through: "exec '\(Self.probe.path)' \"$@\"")
        }
        let sender = try start(["8"])
        try await broker.waitForLog(containing: "Sending PUBACK to waypost-shop", times: 8)
        let (agent, last) = try await disturb(
            broker, sender,
            {
                let agent = try RunningAgent("k1", broker: broker.url, directory: before.directory)
                try await agent.online()
                return agent
            }, { try start() })
        let ending = try await last.ending()
        #expect(ending.status == 0, "\(ending.errorLines)")
        _ = try await agent.terminate()
        let left = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(left.isEmpty)
        return (agent.ledger.map { String($0.suffix(7)) }.sorted(), ending.output.sorted())
    }

    private static let probe = CommandProcess.executable.deletingLastPathComponent()
        .appendingPathComponent("SenderProbe")
    private static let entries = (0..<8).map { "order \($0)" }

    @Test func `a sender that is killed sends the same commands again, and each runs once`() async throws {
        let (ledger, replies) = try await deliver([]) { broker, sender, agent, restart in
            sender.send(signal: SIGKILL)
            _ = try await sender.status()
            let agent = try await agent()
            // All have run and are answered, and no one is there to hear it.
            try await broker.waitForLog(containing: "'waypost/v1/k1/reply/shop'", times: 8)
            return (agent, try restart())
        }
        #expect(ledger == Self.entries)
        #expect(replies == (0..<8).map { "order-\($0) OK again" })
    }

    @Test func `a broker that lost everything in a restart gets the commands again`() async throws {
        let (ledger, replies) = try await deliver(["persistence false"]) { broker, sender, agent, _ in
            try await broker.restart()
            return (try await agent(), sender)
        }
        #expect(ledger == Self.entries)
        #expect(replies.count == 8)
    }

    @Test func `a command line that is typed again with its id is the same command`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let agent = try RunningAgent("k1", broker: broker.url)
        try await agent.online()
        let words = [
            "call", "LedgerService", "append", "--args", #"["once"]"#, "--agent", "k1", "--id", "once",
            "--broker", broker.url,
        ]
        let first = try await CommandProcess(words).ending()
        let second = try await CommandProcess(words).ending()
        #expect(first.status == 0 && second.status == 0)
        #expect(second.output.joined().contains("repeated reply"))
        _ = try await agent.terminate()
        #expect(agent.ledger.count == 1)
    }
}
