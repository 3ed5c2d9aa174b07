import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostBackend

/// A backend that must not lose a command, and whose commands must not run twice.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
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

    /// The same command, as it is when so much of its time has gone by.
    private func aged(_ command: SealedCommand, by milliseconds: Int64) throws -> SealedCommand {
        var stored = try #require(
            JSONSerialization.jsonObject(with: JSONEncoder().encode(command)) as? [String: Any])
        stored["expires"] = command.expires - milliseconds
        return try JSONDecoder().decode(
            SealedCommand.self, from: JSONSerialization.data(withJSONObject: stored))
    }

    @Test func `one that has expired is sent as long as its agent still knows its reply, however it ended`()
        async throws
    {
        let site = try await Site.open(["--demo", "--handler-deadline", "300"])
        let settings = try BackendConfiguration(broker: site.broker.url, name: "shop")
        try await WaypostBackend.Backend.with(settings) { backend in
            let agent = backend.agent("k1")
            func seal(_ id: String, _ lane: String, _ time: Int = 0, for lifetime: Int = 60) throws
                -> SealedCommand
            {
                try agent.seal(
                    .call("ClockService", "sleep", [.int(Int64(time))]),
                    SendOptions(id: id, lifetime: .seconds(lifetime), lane: lane))
            }
            let (nap, late) = (try seal("nap", "busy", 290_000), try seal("late", "busy", for: 1))
            let (done, gone) = (try seal("done", "free"), try seal("gone", "busy"))
            let napping = backend.send(nap)
            #expect(try await napping.accepted())
            let waiting = [backend.send(late), backend.send(done), backend.send(gone)]
            #expect(try await waiting[0].reply().code == .expired)
            #expect(try await waiting[1].reply().code == .ok)
            try await agent.cancel("gone")
            #expect(try await waiting[2].reply().code == .canceled)
            try await agent.cancel("nap")
            #expect(try await napping.reply().code == .canceled)
            let ends = [(late, Code.expired), (done, .ok), (gone, .canceled), (nap, .canceled)]
            for (command, code) in ends {
                // Its time ran out four minutes ago.
                let left = command.expires - Int64(Date().timeIntervalSince1970 * 1_000)
                let reply = try await backend.send(aged(command, by: left + 240_000)).reply()
                #expect(reply.code == code && reply.isRepeated, "\(command.id)")
                // Once it may be another command to its agent it is not sent any more.
                await #expect {
                    _ = try await backend.send(aged(command, by: left + 300_000)).reply()
                } throws: { error in
                    (error as? BackendError)?.kind == .noReply && "\(error)".contains("forgot it")
                }
            }
        }
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
