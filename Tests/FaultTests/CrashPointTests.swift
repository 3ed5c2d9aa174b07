import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

/// One crash at each place between two durable steps; what follows from the protocol's section on crashes is checked.
@Suite(.aFewAtATime, .serialized) struct `A crash between two steps` {
    private static let append =
        #"{"id":"once","type":"call","service":"LedgerService","method":"append","args":["entry"]}"#
    private static let put =
        #"{"id":"put","type":"call","service":"LedgerService","method":"put","args":["k","v"]}"#

    private func ledger(_ agent: AgentProcess) throws -> [Substring] {
        let path = agent.directory + "/ledger.txt"
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    }

    /// Sends a command to an agent that dies at the point, starts another on its state, and gives the reply.
    private func reply(
        to payload: String, crashingAt point: String
    ) async throws -> (reply: Reply, ledger: [Substring], all: [String]) {
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        let dying = try AgentProcess("k1", broker: broker.url, environment: ["WAYPOST_FAULT": point])
        try await dying.online()
        try await backend.publish(payload, to: "waypost/v1/k1/cmd/me")
        let status = try await dying.ended()
        #expect(status == -SIGKILL, "the agent did not die at \(point)")
        let agent = try AgentProcess("k1", broker: broker.url, directory: dying.directory)
        let id = try #require(try JSONValue(parsing: payload)["id"]?.stringValue)
        let reply = try await backend.reply(to: id, of: "k1")
        // Whatever else is under way has come to its end with the goodbye.
        try await agent.online()
        #expect(try await agent.terminate() == 0)
        _ = try await backend.message(on: "waypost/v1/k1/state") { $0["why"] == "shutdown" }
        let all = backend.seen.filter { $0.topic.hasSuffix("/reply/me") }
            .compactMap { $0.json?["status"]?.stringValue }
        await backend.disconnect()
        return (reply, try ledger(agent), all)
    }

    @Test(arguments: ["before-store", "after-store"])
    func `a command that had not been started runs, once`(point: String) async throws {
        let (reply, ledger, all) = try await reply(to: Self.append, crashingAt: point)
        #expect(reply.status == .ok)
        #expect(ledger == ["entry"])
        #expect(Set(all) == ["ok"])
    }

    @Test func `one that was acknowledged ends in one status, whether it had been started or not`()
        async throws
    {
        // It may be started while the acknowledgement is being written: both threads have it.
        let (reply, ledger, all) = try await reply(to: Self.append, crashingAt: "after-acknowledge")
        switch reply.status {
        case .ok: #expect(ledger == ["entry"])
        default:
            #expect(reply.status == .interrupted)
            #expect(ledger.count <= 1)
        }
        #expect(Set(all).count == 1)
    }

    @Test(arguments: ["after-started", "after-handler"])
    func `one that was started and may not run twice is interrupted`(point: String) async throws {
        let (reply, ledger, all) = try await reply(to: Self.append, crashingAt: point)
        #expect(reply.status == .interrupted)
        #expect(reply.code.number == 520)
        #expect(ledger.count <= 1)
        #expect(Set(all) == ["interrupted"])
    }

    @Test func `one that was started and is idempotent runs again to its end`() async throws {
        let (reply, _, all) = try await reply(to: Self.put, crashingAt: "after-handler")
        #expect(reply.status == .ok)
        #expect(Set(all) == ["ok"])
    }

    @Test(arguments: ["after-result", "before-reply-acknowledged"])
    func `one that has its result keeps it, and the reply arrives`(point: String) async throws {
        let (reply, ledger, all) = try await reply(to: Self.append, crashingAt: point)
        #expect(reply.status == .ok)
        #expect(reply.result == 1)
        #expect(ledger == ["entry"])
        #expect(Set(all) == ["ok"])
    }
}
