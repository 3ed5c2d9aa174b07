import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

/// What the agent goes on with while nothing can be stored.
@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct `A disk without space` {
    // Each start began above the stored epoch, which stays the same as long as nothing can be stored.
    @Test(.enabled(if: SmallDisk.isPossible, "takes the right to mount a file system"))
    func `gives each of two starts in a row higher epochs than went out before`() async throws {
        let disk = try SmallDisk(kibibytes: 2_048)
        defer { disk.end() }
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        var epochs: [Int64] = []
        func takeBirth(_ agent: AgentProcess, after count: Int) async throws {
            let birth = try await backend.message(on: "waypost/v1/k1/state", after: count) {
                $0["why"] == "birth"
            }
            epochs.append(try #require(birth["epoch"]?.intValue))
            try await agent.kill()
        }
        let directory = disk.path + "/state"
        try await takeBirth(try AgentProcess("k1", broker: broker.url, directory: directory), after: 0)
        for _ in 1...2 {
            let seen = backend.seen.count
            // A start stores a little itself. With just as much space as that takes, there is none for the epoch.
            for pages in UInt64(0)... {
                try disk.fill(leaving: pages)
                let agent = try AgentProcess("k1", broker: broker.url, directory: directory)
                func isOnline() -> Bool { agent.lines.contains { $0.contains("online at") } }
                try await eventually("the agent to be online, or to give up") {
                    isOnline() || kill(agent.processID, 0) != 0
                }
                guard isOnline() else { continue }
                _ = try await backend.message(on: "waypost/v1/k1/fail", after: seen) { $0["name"] == "DISK" }
                try await takeBirth(agent, after: seen)
                break
            }
        }
        #expect(epochs == Set(epochs).sorted() && epochs.count == 3, "\(epochs)")
        await backend.disconnect()
    }

    @Test func `keeps the lane of an open that a gate holds until that can be stored`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let faults = try await FaultLibrary()
        let agent = try AgentProcess(
            "k1", broker: broker.url, arguments: ["--demo", "--handler-deadline", "3600"],
            environment: faults.environment)
        try await agent.online()
        let exp = Int64(Date().timeIntervalSince1970 * 1_000) + 3_600_000
        let topic = "waypost/v1/k1/cmd/me"
        for command in [
            #""id":"busy","type":"call","service":"ClockService","method":"sleep","args":[9000000]"#,
            #""id":"held","type":"open","url":"scheme://router/orders?wait=3600""#,
            #""id":"next","type":"call","service":"LedgerService","method":"put","args":["next","1"]"#,
        ] {
            try await backend.publish(#"{"exp":\#(exp),\#(command)}"#, to: topic)
        }
        // What comes once the disk is full is not begun with.
        try await eventually("three commands to be there") {
            try await health(of: agent)["waiting"]?["commands"] == 3
        }
        // They may be there before they are stored, and what can't be stored keeps what comes behind it out.
        try await eventually("three commands to be on disk") {
            let log = try Data(contentsOf: URL(fileURLWithPath: agent.directory + "/waypost.sqlite-wal"))
            return ["busy", "held", "next"].allSatisfy { log.range(of: Data(#""id":"\#($0)""#.utf8)) != nil }
        }
        try faults.set(.storeIsFull, to: 1)
        try await backend.publish(#"{"id":"c1","type":"cancel","target":"busy"}"#, to: topic)
        try await eventually("the open to wait") {
            try await health(of: agent)["waiting"]?["gates"]?.arrayValue?.first?["ref"] == "held"
        }
        // Each try to store that it waits ends like this; the next one of the lane would have begun with the first.
        let refused = try faults[.refusedWrites]
        try await eventually("more tries to store it") { try faults[.refusedWrites] > refused + 2 }
        #expect(agent.ledger.isEmpty)

        try faults.set(.storeIsFull, to: 0)
        #expect(try await backend.reply(to: "busy", of: "k1").code == .canceled)
        #expect(try await backend.reply(to: "next", of: "k1").code == .ok)
        #expect(agent.ledger == ["next=1"])
        let login = #"{"id":"login","type":"open","url":"scheme://router/login?user=Ada"}"#
        #expect(try await backend.command(login, to: "k1").code == .ok)
        #expect(try await backend.reply(to: "held", of: "k1").code == .ok)
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }

    @Test func `has a document of groups in force once it can be stored, and not before`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let faults = try await FaultLibrary()
        let agent = try AgentProcess(
            "k1", broker: broker.url, arguments: ["--demo", "--group", "shop"],
            environment: faults.environment)
        try await agent.online()
        try faults.set(.storeIsFull, to: 1)
        let refused = try faults[.refusedWrites]
        try await backend.publish(
            #"{"type":"groups","rev":1,"add":["lobby"],"remove":["shop"]}"#, to: "waypost/v1/k1/groups",
            retain: true)
        // It is not acknowledged, so the broker sends it with each connection.
        try await eventually("more tries to store it") { try faults[.refusedWrites] > refused + 2 }
        #expect(try await health(of: agent)["groups"] == ["shop"])
        try faults.set(.storeIsFull, to: 0)
        try await eventually("the document to be in force") {
            try await health(of: agent)["groups"] == ["lobby"]
        }
        try await agent.kill()
        try await broker.stop()
        let again = try RunningAgent(
            "k1", broker: broker.url, directory: agent.directory, arguments: ["--demo", "--group", "shop"])
        try await again.printed("next try in")
        #expect(try await health(of: again)["groups"] == ["lobby"])
        #expect(try await again.terminate() == 0)
        await backend.disconnect()
    }

    private func health(of agent: some ObservedAgent) async throws -> JSONValue {
        let ending = try await RunningCommand.run(["health", "--local", "--state", agent.directory, "--json"])
        return try JSONValue(parsing: #require(ending.output.first), limits: .trustedFile)
    }
}
