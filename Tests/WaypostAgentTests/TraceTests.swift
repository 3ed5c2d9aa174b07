import Logging
import MQTTLink
import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostAgent

/// The trace of a command, in all that the command causes.
@Suite struct `A trace` {
    private static let first = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    private static let second = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"

    private static func properties(_ values: String...) -> MQTTProperties {
        var properties = MQTTProperties()
        properties.user = values.map { MQTTProperties.User("traceparent", $0) }
        return properties
    }

    private static func json(_ message: MQTTMessage) -> JSONValue {
        (try? JSONValue(parsing: message.payload)) ?? .null
    }

    private static func property(_ message: MQTTMessage) -> String? {
        message.properties.user.first { $0.name == "traceparent" }?.value
    }

    /// The harness, with a route that logs, one that fails, one that opens another, and one that tells its trace.
    private static func harness() async throws -> AgentHarness {
        let router = Router()
        let agent = Guarded<Agent?>(nil)
        try router.register("t://told") { request in
            .opened(request.context.trace.map { .string($0) } ?? .null)
        }
        try router.register("t://logs") { _ in
            guard let agent = agent.withLock(\.self) else { return .opened() }
            Logger(label: "Mine") { agent.logHandler(label: $0) }.info("written by the handler")
            return .opened()
        }
        try router.register("t://fails") { _ in throw Failure(.handlerFailed, "on purpose") }
        try router.register("t://outer") { _ in
            .opened(.bool(await router.open("t://told").isSuccess))
        }
        let harness = try await AgentHarness(router: router) { $0.logLevel = "v" }
        agent.withLock { $0 = harness.agent }
        return harness
    }

    @Test(
        arguments: [
            (#","trace":"\#(first)""#, [], first), ("", [first], first),
            (#","trace":"\#(first)""#, [second], first),
            (#","trace":null"#, [second], second), ("", [first, second], nil), ("", ["00-ab-cd-01"], nil),
            (#","trace":"x""#, [second], nil), (#","trace":7"#, [], nil), ("", [], nil),
            (#","trace":"ff\#(first.dropFirst(2))""#, [], nil), (#","trace":"\#(first)-more""#, [], nil),
            (#","trace":"01\#(first.dropFirst(2))-more""#, [], "01" + first.dropFirst(2)),
            (#","trace":"00-\#(String(repeating: "0", count: 32))-b7ad6b7169203331-01""#, [], nil),
            (
                #","trace":"00-0af7651916cd43dd8448eb211c80319c-\#(String(repeating: "0", count: 16))-01""#,
                [], nil
            ),
            (#","trace":"\#(first.uppercased())""#, [], nil),
        ] as [(String, [String], String?)])
    func `is the field, else the property, else none`(_ field: String, _ values: [String], _ wanted: String?)
        async throws
    {
        let harness = try await Self.harness()
        var properties = MQTTProperties()
        properties.user = values.map { MQTTProperties.User("traceparent", $0) }
        harness.receive(
            #"{"id":"c","type":"open","url":"t://told"\#(field)}"#, on: "waypost/v1/k1/cmd/me",
            properties: properties)
        let reply = try await harness.reply(to: "c")
        #expect(reply.trace == wanted && reply.result["value"] == wanted.map { .string($0) } ?? .null)
        let isBad = wanted == nil && !(field.isEmpty && values.isEmpty)
        #expect(harness.agent.health.counters["badTraces"] == .int(isBad ? 1 : 0))
        #expect(reply.warnings.isEmpty == !(isBad && !field.isEmpty))
        try await harness.close()
    }

    @Test(arguments: ["logs", "fails", "outer", "none"])
    func `is in every reply, line and report of its command, and in no other`(_ path: String) async throws {
        let harness = try await Self.harness()
        let start = harness.published.events.count
        harness.receive(
            #"{"id":"c","type":"open","url":"t://\#(path)","trace":"\#(Self.first)"}"#,
            on: "waypost/v1/k1/cmd/me")
        _ = try await harness.reply(to: "c")
        _ = try await harness.command(#"{"id":"d","type":"open","url":"t://\#(path)"}"#)
        _ = try await harness.event(after: start) { $0.ref == "d" && $0.level >= .info }
        if path == "logs" {
            _ = try await harness.event(after: start) { $0.tag == "Mine" && $0.trace == Self.first }
            _ = try await harness.event(after: start) { $0.tag == "Mine" && $0.trace == nil }
        }
        if path == "outer" {
            _ = try await harness.event(after: start) {
                $0.ref == nil && $0.url == "t://told" && $0.trace == Self.first
            }
        }
        if path == "fails" || path == "none" {
            let report = try await harness.failure(after: start) { $0.ref == "c" }
            #expect(report.trace == Self.first)
            #expect(try await harness.failure(after: start) { $0.ref == "d" }.trace == nil)
        }
        for message in harness.published.events.dropFirst(start) where message.topic.contains("/log/") {
            let lines = String(decoding: message.payload, as: UTF8.self).split(separator: "\n")
            for event in try lines.map({ try WaypostMessages.LogEvent(JSONValue(parsing: String($0))) })
            where event.ref != nil {
                #expect(event.trace == (event.ref == "c" ? Self.first : nil), "\(event.message)")
            }
        }
        try await harness.close()
    }

    @Test func `of a repeated reply is that of the first command, as its content is`() async throws {
        let harness = try await Self.harness()
        let command = #"{"id":"c","type":"open","url":"t://told"}"#
        harness.receive(command, on: "waypost/v1/k1/cmd/me", properties: Self.properties(Self.first))
        _ = try await harness.reply(to: "c")
        harness.receive(command, on: "waypost/v1/k1/cmd/me", properties: Self.properties(Self.second))
        let again = try await harness.published.first("the repetition") {
            Self.json($0)["dup"] == true ? $0 : nil
        }
        #expect(Self.json(again)["trace"] == .string(Self.first) && Self.property(again) == Self.first)
        // Another command under the id is a command of its own.
        harness.receive(
            #"{"id":"c","type":"open","url":"t://logs","trace":"\#(Self.second)"}"#,
            on: "waypost/v1/k1/cmd/me")
        let refused = try await harness.published.first("the refusal") {
            Self.json($0)["name"] == "ID_REUSED" && Self.json($0)["type"] == "reply" ? $0 : nil
        }
        #expect(Self.json(refused)["trace"] == .string(Self.second) && Self.property(refused) == Self.second)
        try await harness.close()
    }

    @Test func `is kept over a stop of the agent`() async throws {
        let gate = OpenGate("later")
        let router = Router()
        try router.register("t://waits") { _ in .opened() }
        try router.intercept("gate") { _ in .wait(for: gate, atMost: .seconds(600)) }
        let harness = try await AgentHarness(router: router)
        harness.receive(
            #"{"id":"c","type":"open","url":"t://waits","trace":"\#(Self.first)"}"#,
            on: "waypost/v1/k1/cmd/me")
        try await harness.until("the open at its gate") { _ in !router.waitingOpens.isEmpty }
        let directory = harness.agent.configuration.stateDirectory
        try await harness.close()
        let next = Router()
        try next.register("t://waits") { request in
            .opened(request.context.trace.map { .string($0) } ?? .null)
        }
        let again = try await AgentHarness(directory: directory, router: next)
        let reply = try await again.reply(to: "c")
        #expect(reply.trace == Self.first && reply.result["value"] == .string(Self.first))
        try await again.close()
    }
}
