import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

@Suite struct `A level that a command asks for` {
    private func ask(_ level: String, tag: String? = nil) -> String {
        let tag = tag.map { #","tag":"\#($0)""# } ?? ""
        return #"{"id":"\#(UUID().uuidString)","type":"log","level":"\#(level)","for":600000\#(tag)}"#
    }

    private func override(_ harness: AgentHarness) -> JSONValue {
        harness.agent.health.json["log"]?["override"] ?? .null
    }

    @Test(arguments: ["v", "i", "w", "f"])
    func `is an event with the sender's name, whatever is published`(_ configured: String) async throws {
        let harness = try await AgentHarness { $0.logLevel = configured }
        #expect(try await harness.command(ask("F"), from: "ops").code == .ok)
        let event = try await harness.event { $0.message.contains("ops asked for events of level F") }
        #expect(event.level == .warning)
        _ = try await harness.command(ask("v", tag: "Router"), from: "dev")
        _ = try await harness.event { $0.message.contains("dev asked for events of tag Router of level V") }
        try await harness.close()
    }

    @Test func `is said though the rate of events is used up`() async throws {
        let harness = try await AgentHarness {
            $0.limits.logRate = 1
            $0.limits.logBurst = 1
        }
        for number in 0..<100 { harness.agent.events.log(.info, "Test", "line \(number)") }
        _ = try await harness.command(ask("f"), from: "ops")
        _ = try await harness.event { $0.message.contains("ops asked for") }
        try await harness.close()
    }

    @Test(arguments: [("i", "f", "w"), ("v", "e", "w"), ("e", "f", "e"), ("f", "f", "f"), ("w", "d", "d")])
    func `goes under what the configuration asks for only below warnings`(
        _ configured: String, _ asked: String, _ published: String
    ) async throws {
        let harness = try await AgentHarness { $0.logLevel = configured }
        let reply = try await harness.command(ask(asked))
        #expect(reply.result["level"] == .string(published))
        let lowest = try #require(LogLevel(letter: published))
        for level in LogLevel.allCases { harness.agent.events.log(level, "Test", "level \(level.letter)") }
        _ = try await harness.event { $0.message == "level F" }
        let seen = harness.published.events.filter { $0.topic.contains("/log/") }
            .map { String(decoding: $0.payload, as: UTF8.self) }.joined()
        for level in LogLevel.allCases {
            #expect(seen.contains("level \(level.letter)\"") == (level >= lowest), "\(level)")
        }
        try await harness.close()
    }

    @Test func `is in health with its sender, and is said again after a restart`() async throws {
        let harness = try await AgentHarness()
        #expect(harness.agent.health.json["log"] == ["level": "i", "override": .null])
        let count = harness.published.events.count
        let reply = try await harness.command(ask("e", tag: "Service"), from: "ops")
        let expected: JSONValue = [
            "level": "e", "tag": "Service", "until": reply.result["until"] ?? .null, "from": "ops",
        ]
        #expect(override(harness) == expected)
        // At once, and not only when it is health's turn.
        _ = try await harness.document("health", after: count) { $0["log"]?["override"] == expected }
        try await harness.close()
        let again = try await AgentHarness(
            directory: harness.agent.configuration.stateDirectory, clock: harness.clock)
        #expect(override(again) == expected)
        _ = try await again.event { $0.message.contains("ops asked for events of tag Service of level E") }
        again.clock.advance(600_000)
        #expect(override(again) == .null)
        try await again.close()
    }

    @Test func `ends in its time when the clock is set back, before a restart or after it`() async throws {
        let harness = try await AgentHarness()
        _ = try await harness.command(ask("f"))
        harness.clock.step(-86_400_000)
        harness.clock.advance(600_000)
        #expect(override(harness) == .null)
        harness.agent.events.log(.info, "Test", "as before")
        _ = try await harness.event { $0.message == "as before" }
        try await harness.close()
        let again = try await AgentHarness(
            directory: harness.agent.configuration.stateDirectory, clock: harness.clock)
        #expect(override(again)["from"] == "me")
        again.clock.advance(Command.maximumLogDuration)
        #expect(override(again) == .null)
        try await again.close()
    }

    @Test func `that an older version stored is still in force`() async throws {
        let harness = try await AgentHarness()
        let stored = #"{"level":"D","tag":null,"until":\#(harness.clock.now + 600_000)}"#
        try harness.agent.store.commit { try $0.setText("log_override", stored) }
        try await harness.close()
        let again = try await AgentHarness(
            directory: harness.agent.configuration.stateDirectory, clock: harness.clock)
        #expect(override(again)["level"] == "d" && override(again)["from"] == .null)
        again.agent.events.log(.debug, "Test", "more than usual")
        _ = try await again.event { $0.message == "more than usual" }
        try await again.close()
    }

    @Test func `has a tag of a bounded length, with its secrets masked`() async throws {
        let harness = try await AgentHarness()
        _ = try await harness.command(ask("f", tag: String(repeating: "t", count: 10_000)))
        #expect(override(harness)["tag"]?.stringValue?.utf8.count ?? 0 <= 64)
        _ = try await harness.command(ask("f", tag: "token=hunter2"))
        #expect(override(harness)["tag"] == "token=***")
        _ = try await harness.event { $0.message.contains("token=***") }
        try await harness.close()
    }
}
