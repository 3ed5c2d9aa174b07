import Foundation
import Logging
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

/// What the broker does not take is never counted as delivered.
@Suite struct `A broker that refuses messages` {
    private static let quota = ReasonCode(rawValue: 0x97)

    private func router() throws -> Router {
        let router = Router()
        try router.register("app://large", idempotent: true) { _ in
            .opened(.string(String(repeating: "x", count: 1_100_000)))
        }
        return router
    }

    @Test func `for a moment gets the reply again`() async throws {
        let harness = try await AgentHarness()
        let refusals = TestSupport.EventLog<Void>()
        harness.link.answer { message in
            guard message.topic.hasSuffix("/reply/me"), refusals.events.isEmpty else { return .acknowledged }
            refusals.append(())
            return .refused(Self.quota)
        }
        harness.receive(#"{"id":"c1","type":"ping"}"#, on: "waypost/v1/k1/cmd/me")
        try await harness.published.wait(for: "the reply a second time") { messages in
            messages.count { $0.topic.hasSuffix("/reply/me") } == 2
        }
        try await harness.until("the end of the command") { harness in
            (try? harness.agent.store.commit { try $0.unsentReplies(excluding: [], bytes: .max).records })?
                .isEmpty == true
        }
        #expect(harness.agent.health.json["counters"]?["publishesRefused"] == 1)
        try await harness.close()
    }

    @Test func `turns health red, and what is stored stays until another connection`() async throws {
        let harness = try await AgentHarness()
        harness.link.answer { message in
            message.topic.hasSuffix("/fail") || message.topic.hasSuffix("/reply/me")
                ? .refused(.notAuthorized) : .acknowledged
        }
        harness.receive("not JSON", on: "waypost/v1/k1/cmd/me")
        harness.receive(#"{"id":"c1","type":"ping"}"#, on: "waypost/v1/k1/cmd/me")
        try await harness.until("both refusals") { $0.agent.outbox.counters.kept == 2 }
        #expect(harness.check("publishes") == false)
        #expect(harness.reportsOnDisk == 1)
        harness.link.answer { _ in .acknowledged }
        let before = harness.published.events.count
        harness.link.disconnect()
        harness.link.connect(sessionPresent: true)
        _ = try await harness.failure(after: before) { $0.code == .badJSON }
        _ = try await harness.reply(to: "c1", after: before)
        try await harness.until("an empty outbox") { $0.reportsOnDisk == 0 }
        #expect(harness.check("publishes") == true)
        try await harness.close()
    }

    @Test func `makes one line in the agent's log, however many a sender causes`() async throws {
        let lines = TestSupport.EventLog<String>()
        let harness = try await AgentHarness(logger: Logger(label: "test") { _ in LineRecorder(lines) })
        harness.link.answer { $0.topic.hasSuffix("/reply/me") ? .refused(.notAuthorized) : .acknowledged }
        for number in 0..<40 {
            harness.receive("{\"id\":\"c\(number)\",\"type\":\"ping\"}", on: "waypost/v1/k1/cmd/me")
        }
        try await harness.until("all refusals") { $0.agent.outbox.counters.kept == 40 }
        try await harness.close()
        #expect(lines.events.count { $0.contains("the broker refused a message") } == 1)
        // The others are counted, and said before it ends.
        #expect(lines.events.contains { $0.contains("the broker refused 39 more messages") })
    }

    @Test func `is logged again after a while, with what was counted meanwhile`() {
        let log = RefusalLog()
        #expect(log.refused(at: 1_000, "the first") == ["the first"])
        #expect(log.refused(at: 1_001, "the second") == [])
        #expect(log.refused(at: 10_999, "the third") == [])
        #expect(log.summary(at: 10_999) == [])
        #expect(log.summary(at: 11_000) == ["the broker refused 2 more messages"])
        #expect(log.summary(at: 30_000) == [])
        #expect(log.refused(at: 21_000, "the fourth") == ["the fourth"])
        #expect(log.refused(at: 21_000, "the fifth") == [])
        #expect(
            log.refused(at: 31_000, "the sixth") == ["the broker refused 1 more message", "the sixth"])
    }

    @Test func `what it refused is there after a restart`() async throws {
        let harness = try await AgentHarness()
        harness.link.answer { $0.topic.hasSuffix("/fail") ? .refused(.notAuthorized) : .acknowledged }
        harness.receive("not JSON", on: "waypost/v1/k1/cmd/me")
        try await harness.until("the refusal") { $0.agent.outbox.counters.kept == 1 }
        try await harness.close()
        let again = try await AgentHarness(directory: harness.agent.configuration.stateDirectory)
        _ = try await again.failure { $0.code == .badJSON }
        try await again.close()
    }

    @Test func `a result beyond our own limit becomes a 413 that says so`() async throws {
        let harness = try await AgentHarness(router: router())
        let reply = try await harness.command(#"{"id":"c1","type":"open","url":"app://large"}"#)
        #expect(reply.code == .tooLarge)
        #expect(reply.detail?.contains("ended with 0 OK") == true)
        #expect(reply.detail?.contains("1047552 can be sent") == true)
        try await harness.close()
    }

    @Test func `a result beyond the broker's limit becomes a 413 that says so, and stays one`() async throws {
        let harness = try await AgentHarness(router: router(), isOnline: false) {
            $0.limits.packetBytes = 4_194_304
        }
        harness.link.answer { $0.payload.count > 100_000 ? .rejected(.tooLarge) : .acknowledged }
        harness.link.connect(maximumPacketSize: 100_000)
        harness.receive(
            #"{"id":"c1","type":"open","url":"app://large"}"#, on: "waypost/v1/k1/cmd/me")
        try await harness.published.wait(for: "the smaller reply") { messages in
            messages.contains { $0.topic.hasSuffix("/reply/me") && $0.payload.count < 1_000 }
        }
        let before = harness.published.events.count
        let again = try await harness.command(#"{"id":"c1","type":"open","url":"app://large"}"#)
        #expect(again.code == .tooLarge)
        #expect(again.isDuplicate)
        #expect(again.detail?.contains("100000 can be sent") == true)
        #expect(harness.published.events.dropFirst(before).allSatisfy { $0.payload.count < 100_000 })
        try await harness.close()
    }

    @Test func `the list of routes is cut to what it takes, and health says how many are missing`()
        async throws
    {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register((0..<14_000).map { Route("app://route/\($0)") { _ in .opened() } })
        let harness = try await AgentHarness(router: router, isOnline: false) { $0.logLevel = "w" }
        harness.link.connect(maximumPacketSize: 100_000)
        let routes = try await harness.document("routes")
        let count = try #require(routes.arrayValue?.count)
        #expect(count > 1_000 && count < 14_000)
        let message = harness.published.events.first { $0.topic.hasSuffix("/routes") }
        #expect(message.map { $0.payload.count < 100_000 } == true)
        #expect(harness.check("routes") == false)
        let detail = harness.agent.health.checks.first { $0.name == "routes" }?.detail
        #expect(detail?.contains("\(14_000 - count) entries are missing") == true)
        _ = try await harness.event { $0.level == .warning && $0.message.contains("\(14_000 - count)") }
        try await harness.close()
    }

    @Test func `events are split into messages that it takes`() async throws {
        let harness = try await AgentHarness(isOnline: false)
        harness.link.connect(maximumPacketSize: 4_096)
        for number in 0..<300 {
            harness.agent.events.log(.info, "Test", "line \(number) \(String(repeating: "x", count: 200))")
        }
        _ = try await harness.event { $0.message.hasPrefix("line 299 ") }
        let logs = harness.published.events.filter { $0.topic.hasSuffix("/log/i") }
        #expect(logs.count > 10)
        #expect(logs.allSatisfy { $0.payload.count < 4_096 })
        try await harness.close()
    }
}

@Suite struct `Queues that fill` {
    @Test func `replays beyond the limit are dropped and counted`() async throws {
        let harness = try await AgentHarness { $0.limits.volatileBytes = 65_536 }
        for number in 0..<200 { harness.agent.events.log(.info, "Test", "line \(number)") }
        try await harness.until("all lines to go out") { $0.agent.outbox.waiting == 0 }
        harness.link.disconnect()
        for number in 0..<60 {
            harness.receive(
                "{\"id\":\"r\(number)\",\"type\":\"replay\",\"since\":0,\"max\":500}",
                on: "waypost/v1/k1/cmd/sender\(number)")
        }
        let counters = harness.agent.outbox.counters
        #expect(counters.dropped > 0)
        #expect(harness.agent.events.dropped > 0)
        #expect(harness.agent.health.json["counters"]?["messagesDropped"] == .int(counters.dropped))
        try await harness.close()
    }

    @Test func `replies that do not fit in memory are read from disk when it is their turn`() async throws {
        let router = Router()
        try router.register("app://some/:n", idempotent: true) { _ in
            .opened(.string(String(repeating: "x", count: 10_000)))
        }
        let harness = try await AgentHarness(router: router, isOnline: false) {
            // On a slow machine the events of the opens would be many messages.
            $0.logLevel = "E"
            $0.limits.outboxMemoryBytes = 65_536
            $0.limits.intakeRate = 0
        }
        for number in 0..<200 {
            harness.receive(
                "{\"id\":\"c\(number)\",\"type\":\"open\",\"url\":\"app://some/\(number)\"}",
                on: "waypost/v1/k1/cmd/me")
        }
        try await harness.until("all results on disk") { harness in
            harness.agent.journal.counters.ended[.ok] == 200 && harness.agent.executor.waiting == 0
        }
        try await harness.until("few replies in memory") { $0.agent.outbox.waiting < 20 }
        harness.link.connect()
        for number in 0..<200 { #expect(try await harness.reply(to: "c\(number)").code == .ok) }
        try await harness.until("the end of all commands") { harness in
            (try? harness.agent.store.commit { try $0.unsentReplies(excluding: [], bytes: .max).records })?
                .isEmpty == true
        }
        try await harness.close()
    }

    @Test func `reports that wait for a full disk are limited, and those beyond are counted`() async throws {
        let harness = try await AgentHarness {
            $0.limits.outboxRecords = 50
            $0.limits.watchedFailures = 0
        }
        let directory = harness.agent.configuration.stateDirectory
        try FileManager.default.moveItem(atPath: directory, toPath: directory + "-away")
        for number in 0..<500 { harness.receive("not JSON", on: "waypost/v1/k1/cmd/sender\(number)") }
        try FileManager.default.moveItem(atPath: directory + "-away", toPath: directory)
        let dropped = try await harness.failure { $0.code == .dropped }
        try await harness.until("an empty outbox") { $0.reportsOnDisk == 0 }
        let reports = harness.published.events.filter { $0.topic.hasSuffix("/fail") }
            .compactMap { try? FailureReport(JSONValue(parsing: $0.payload)) }
        let lost = reports.filter { $0.code == .dropped }.reduce(0) { $0 + $1.count }
        #expect(dropped.count > 0)
        #expect(reports.count { $0.code == .badJSON } + Int(lost) == 500)
        try await harness.close()
    }

    @Test func `a stop ends while the disk takes nothing`() async throws {
        let router = Router()
        try router.register("app://append") { _ in .opened() }
        let harness = try await AgentHarness(router: router) { $0.stopWithin = .seconds(1) }
        let directory = harness.agent.configuration.stateDirectory
        try FileManager.default.moveItem(atPath: directory, toPath: directory + "-away")
        harness.receive("not JSON", on: "waypost/v1/k1/cmd/me")
        // Before, the journal tried for ever, and the stop waited for it.
        try await harness.close()
        try FileManager.default.moveItem(atPath: directory + "-away", toPath: directory)
    }
}
