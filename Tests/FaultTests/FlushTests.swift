import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

/// What happens inside a flush, below the agent: it does not end, or the process ends before or after it.
@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct `A flush` {
    private static let topic = "waypost/v1/k1/cmd/me"

    private func append(_ line: String) -> String {
        #"{"id":"\#(line)","ttl":900000,"type":"call","service":"LedgerService","method":"append","args":["\#(line)"]}"#
    }

    /// What `health --alive` says as soon as it ends with a status like this.
    private func health(
        of agent: AgentProcess, _ isWanted: (Int32) -> Bool
    ) async throws -> RunningCommand.Ending {
        var ending: RunningCommand.Ending?
        try await eventually("health with another status") {
            let words = ["health", "--local", "--state", agent.directory, "--alive"]
            ending = try await RunningCommand.run(words)
            return isWanted(try #require(ending).status)
        }
        return try #require(ending)
    }

    @Test func `that hangs turns health red, is reported, and holds up neither health nor a stop`()
        async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let faults = try await FaultLibrary()
        let arguments = ["--demo", "--health-interval", "1", "--stop-within", "5"]
        let agent = try AgentProcess(
            "k1", broker: broker.url, arguments: arguments, environment: faults.environment)
        try await agent.online()
        #expect(try await backend.command(append("first"), to: "k1").code == .ok)
        _ = try await health(of: agent) { $0 == 0 }

        try faults.set(.hangsInFlush, to: 1)
        try await backend.publish(append("second"), to: Self.topic)
        try await agent.printed("does the disk hang?")
        // The link's thread waits for the disk too: nobody would see anything else of it.
        let ending = try await health(of: agent) { $0 != 0 }
        #expect(ending.status == 1)
        #expect(ending.output.contains { $0.contains("store") && $0.contains("does the disk hang?") })

        try faults.set(.hangsInFlush, to: 0)
        #expect(try await backend.reply(to: "second", of: "k1").code == .ok)
        #expect(agent.ledger == ["first", "second"])
        try await agent.printed("the disk responds again")
        _ = try await backend.message(on: "waypost/v1/k1/fail") { $0["name"] == "LOOP_STALLED" }
        _ = try await health(of: agent) { $0 == 0 }

        try faults.set(.hangsInFlush, to: 1)
        try await backend.publish(append("third"), to: Self.topic)
        #expect(try await agent.terminate() == 0)
        let next = try RunningAgent(
            "k1", broker: broker.url, directory: agent.directory, arguments: arguments)
        try await next.online()
        // Its start may have reached the file before the flush that hung: then it does not run again.
        let third = try await backend.reply(to: "third", of: "k1").code
        #expect(third == .ok || third == .interrupted)
        #expect(next.ledger == ["first", "second"] + (third == .ok ? ["third"] : []))
        await backend.disconnect()
    }

    @Test(arguments: [FaultLibrary.Fault.diesBeforeFlush, .diesAfterFlush])
    func `at which the process ends loses nothing and runs nothing twice`(_ fault: FaultLibrary.Fault)
        async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let faults = try await FaultLibrary()
        var directory: String?
        for round in Int64(1)...6 {
            let agent = try AgentProcess(
                "k1", broker: broker.url, directory: directory, environment: faults.environment)
            directory = agent.directory
            try await agent.online()
            try faults.set(fault, to: faults[.flushes] + round)
            let ids = (1...4).map { "\(fault)-\(round)-\($0)" }
            for id in ids { try await backend.publish(append(id), to: Self.topic) }
            #expect(try await agent.ended() == -SIGKILL)
            try faults.set(fault, to: 0)
            let next = try RunningAgent("k1", broker: broker.url, directory: directory)
            try await next.online()
            for id in ids {
                let reply = try await backend.reply(to: id, of: "k1")
                let runs = next.ledger.count { $0 == id }
                #expect(
                    reply.code == .ok ? runs == 1 : reply.code == .interrupted && runs <= 1, "\(id): \(reply)"
                )
            }
            #expect(try await next.terminate() == 0)
        }
        await backend.disconnect()
    }
}
