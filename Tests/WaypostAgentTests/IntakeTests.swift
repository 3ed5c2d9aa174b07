import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `Intake` {
    private func router() throws -> Router {
        let router = Router()
        try router.register("scheme://router/demo") { _ in .opened("white") }
        try router.services.expose(
            ExposedService("Counter", instance: Counter()) {
                Exposed("next()") { (counter: Counter) in await counter.next() }
            })
        return router
    }

    private actor Counter {
        private var value = 0
        func next() -> Int {
            value += 1
            return value
        }
    }

    @Test func `an open is answered with its route and its value`() async throws {
        let house = try House(router: router())
        let reply = try await house.command(#"{"id":"c1","type":"open","url":"scheme://router/demo?id=2"}"#)
        #expect(reply.status == .ok)
        #expect(reply.result["route"] == "scheme://router/demo")
        #expect(reply.result["value"] == "white")
        _ = try await house.event { $0.ref == "c1" && $0.level == .info }
    }

    @Test func `a command that comes twice runs once, and the second reply says so`() async throws {
        let house = try House(router: router())
        let command = #"{"id":"c1","type":"call","service":"Counter","method":"next"}"#
        let first = try await house.command(command)
        let second = try await house.command(command)
        #expect(first.result == 1)
        #expect(second.result == 1)
        #expect(!first.isDuplicate)
        #expect(second.isDuplicate)
    }

    @Test func `an id with other bytes is refused with 409`() async throws {
        let house = try House(router: router())
        _ = try await house.command(#"{"id":"c1","type":"ping"}"#)
        let reply = try await house.command(#"{"id":"c1","type":"ping","lane":"other"}"#)
        #expect(reply.code == .idReused)
    }

    @Test func `two senders may use the same id`() async throws {
        let house = try House(router: router())
        let command = #"{"id":"c1","type":"call","service":"Counter","method":"next"}"#
        #expect(try await house.command(command, from: "a").result == 1)
        #expect(try await house.command(command, from: "b").result == 2)
    }

    @Test func `an expired command is not run`() async throws {
        let house = try House(router: router())
        let reply = try await house.command(
            #"{"id":"c1","type":"open","url":"scheme://router/demo","exp":1795219199999}"#)
        #expect(reply.code == .expired)
        #expect(reply.status == .expired)
    }

    @Test func `a sender whose clock is far ahead is told so`() async throws {
        let house = try House(router: router())
        let reply = try await house.command(
            "{\"id\":\"c1\",\"type\":\"ping\",\"at\":\(TurnedClock.start + 30_001)}")
        #expect(reply.code == .clockSkew)
        #expect(
            try await house.command("{\"id\":\"c2\",\"type\":\"ping\",\"at\":\(TurnedClock.start + 30_000)}")
                .code == .ok)
    }

    @Test func `after a step of the clock an absolute exp is refused until the clock is sound again`()
        async throws
    {
        let house = try House(router: router())
        _ = try await house.command(#"{"id":"c0","type":"ping"}"#)
        house.clock.step(120_000)
        let expiry = TurnedClock.start + 3_600_000
        #expect(try await house.command("{\"id\":\"c1\",\"type\":\"ping\",\"exp\":\(expiry)}").code == .clock)
        #expect(try await house.command(#"{"id":"c2","type":"ping"}"#).code == .ok)
        house.clock.advance(60_000)
        #expect(try await house.command("{\"id\":\"c3\",\"type\":\"ping\",\"exp\":\(expiry)}").code == .ok)
    }

    @Test func `a sender over its rate is told to wait, another is not`() async throws {
        let house = try House(router: router()) {
            $0.limits.intakeRate = 1
            $0.limits.intakeBurst = 2
        }
        #expect(try await house.command(#"{"id":"c1","type":"ping"}"#).code == .ok)
        #expect(try await house.command(#"{"id":"c2","type":"ping"}"#).code == .ok)
        #expect(try await house.command(#"{"id":"c3","type":"ping"}"#).code == .busy)
        #expect(try await house.command(#"{"id":"c1","type":"ping"}"#, from: "other").code == .ok)
        house.clock.advance(1_000)
        #expect(try await house.command(#"{"id":"c3","type":"ping"}"#).code == .ok)
    }

    @Test func `when the table of ids is full new commands are refused`() async throws {
        let house = try House(router: router()) { $0.limits.dedupeKeys = 1 }
        #expect(try await house.command(#"{"id":"c1","type":"ping"}"#).code == .ok)
        #expect(try await house.command(#"{"id":"c2","type":"ping"}"#).code == .busy)
    }

    @Test func `a gap in a sender's count is reported and the command runs`() async throws {
        let house = try House(router: router())
        #expect(try await house.command(#"{"id":"c1","type":"ping","seq":1}"#).code == .ok)
        #expect(try await house.command(#"{"id":"c2","type":"ping","seq":5}"#).code == .ok)
        let report = try await house.failure { $0.code == .sequenceGap }
        #expect(report.ref == "c2")
    }

    @Test func `equal failures within ten seconds are counted together`() async throws {
        let house = try House(router: router())
        for _ in 0..<3 { house.receive("not JSON", on: "waypost/v1/k1/cmd/me") }
        let first = try await house.failure { $0.code == .badJSON }
        #expect(first.count == 1)
        house.clock.advance(10_000)
        let over = house.agent.failures.windowsOver(at: house.clock.now)
        #expect(over.map(\.count) == [3])
    }

    @Test func `the response topic of MQTT 5 is honoured under the agent's own reply only`() async throws {
        let house = try House(router: router())
        var properties = MQTTProperties(
            responseTopic: "waypost/v1/k1/reply/elsewhere", correlationData: [1, 2])
        house.receive(#"{"id":"c1","type":"ping"}"#, on: "waypost/v1/k1/cmd/me", properties: properties)
        _ = try await house.reply(to: "c1", from: "elsewhere")
        #expect(
            house.published.events.contains {
                $0.topic == "waypost/v1/k1/reply/elsewhere" && $0.properties.correlationData == [1, 2]
            })
        properties.responseTopic = "victim/topic"
        house.receive(#"{"id":"c2","type":"ping"}"#, on: "waypost/v1/k1/cmd/me", properties: properties)
        _ = try await house.reply(to: "c2")
        #expect(!house.published.events.contains { $0.topic == "victim/topic" })
        _ = try await house.event { $0.level == .warning && $0.message.contains("response topic") }
    }

    @Test func `a command that comes again while it runs is known without the store`() async throws {
        let (goAhead, signal) = AsyncStream.makeStream(of: Void.self)
        let router = try router()
        try router.register("scheme://router/slow") { _ in
            for await _ in goAhead { break }
            return .opened("done")
        }
        let house = try House(router: router)
        let topic = "waypost/v1/k1/cmd/me"
        let slow = #"{"id":"c1","type":"open","url":"scheme://router/slow"}"#
        #expect(house.receive(slow, on: topic) == .acknowledge)
        let directory = house.agent.configuration.stateDirectory
        try FileManager.default.moveItem(atPath: directory, toPath: directory + "-away")
        #expect(house.receive(slow, on: topic) == .acknowledge)
        #expect(house.agent.health.snapshot.duplicates == 1)
        #expect(house.receive(#"{"id":"c2","type":"ping"}"#, on: topic) == .refuse)
        try FileManager.default.moveItem(atPath: directory + "-away", toPath: directory)
        let before = house.published.events.count
        house.receive(#"{"id":"c1","type":"ping"}"#, on: topic)
        #expect(try await house.reply(to: "c1", after: before).code == .idReused)
        let after = house.published.events.count
        signal.finish()
        let reply = try await house.reply(to: "c1", after: after)
        #expect(reply.status == .ok)
        #expect(!reply.isDuplicate)
        let again = try await house.command(slow)
        #expect(again.isDuplicate)
        #expect(again.result["value"] == "done")
    }

    @Test func `a secret in a URL is masked in events and reports`() async throws {
        let house = try House(router: router())
        _ = try await house.command(
            #"{"id":"c1","type":"open","url":"scheme://router/nowhere?token=abc123&id=7"}"#)
        _ = try await house.failure { $0.ref == "c1" }
        _ = try await house.event { $0.ref == "c1" && $0.level == .error }
        let told = house.published.events.filter { !$0.topic.contains("/reply/") }
        #expect(!told.contains { String(decoding: $0.payload, as: UTF8.self).contains("abc123") })
    }
}
