import Foundation
import Glibc
import Logging
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

/// The threads of an agent on a real broker: handlers begin on the link's.
@Suite(.timeLimit(.minutes(60))) struct `An agent whose handlers block the link's thread` {
    private let opens = DispatchSemaphore(value: 0)
    private let blocked = TestSupport.EventLog<String>()
    private let cores = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// The name of the thread that calls.
    private static func thread() -> String {
        (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8))?
            .trimmingCharacters(in: .newlines) ?? ""
    }

    private func agent(at broker: BrokerURL) throws -> Agent {
        let (opens, blocked) = (opens, blocked)
        let router = Router()
        try router.register("app://block", idempotent: true) { _ in
            blocked.append(Self.thread())
            opens.wait()
            return .opened()
        }
        try router.register("app://quick", idempotent: true) { _ in .opened(.string(Self.thread())) }
        try router.register("app://once") { _ in .opened(.string(Self.thread())) }
        var configuration = AgentConfiguration(
            agent: "k1", stateDirectory: NSTemporaryDirectory() + "waypost-blocked-\(UUID().uuidString)",
            link: MQTTLinkConfiguration(brokers: [broker], clientID: "k1"))
        configuration.limits.handlerDeadline = .seconds(300)
        return try Agent(
            configuration, router: router, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test func `goes on with another, and nobody else waits for them`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let agent = try agent(at: BrokerURL(broker.url))
        let running = Task { try await agent.run() }
        let backend = try await Backend(broker: broker.url)
        _ = try await backend.message(on: "waypost/v1/k1/state") { $0["state"] == "online" }
        var number = 0
        func open(_ name: String) async throws -> String {
            number += 1
            try await backend.publish(
                #"{"id":"\#(name)\#(number)","type":"open","url":"app://\#(name)","lane":"\#(name)\#(number)"}"#,
                to: "waypost/v1/k1/cmd/me")
            return "\(name)\(number)"
        }
        func run(_ name: String) async throws -> String? {
            let reply = try await backend.reply(to: open(name), of: "k1")
            #expect(reply.code == .ok)
            return reply.result["value"]?.stringValue
        }
        // On a busy machine the link has no time for some.
        for name in ["quick", "once"] { while try await run(name) != "mqtt-link" {} }
        for _ in 0..<2 * cores { _ = try await open("block") }
        try await blocked.wait(for: "the handlers to block") { $0.count == 2 * cores }
        for name in ["quick", "once"] { _ = try await run(name) }
        for _ in 0..<2 * cores { opens.signal() }
        for id in 0..<2 * cores {
            let id = "block\(number - 2 - id)"
            #expect(try await backend.reply(to: id, of: "k1").code == .ok)
        }
        running.cancel()
        try await running.value
        await backend.disconnect()
    }
}
