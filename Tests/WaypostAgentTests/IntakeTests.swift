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
        let harness = try await AgentHarness(router: router())
        let reply = try await harness.command(#"{"id":"c1","type":"open","url":"scheme://router/demo?id=2"}"#)
        #expect(reply.status == .ok)
        #expect(reply.result["route"] == "scheme://router/demo")
        #expect(reply.result["value"] == "white")
        _ = try await harness.event { $0.ref == "c1" && $0.level == .info }
    }

    @Test func `a command that comes twice runs once, and the second reply says so`() async throws {
        let harness = try await AgentHarness(router: router())
        let command = #"{"id":"c1","type":"call","service":"Counter","method":"next"}"#
        let first = try await harness.command(command)
        let second = try await harness.command(command)
        #expect(first.result == 1)
        #expect(second.result == 1)
        #expect(!first.isDuplicate)
        #expect(second.isDuplicate)
    }

    @Test(arguments: [
        (#""type":"open","url":"scheme://router/demo","params":{"id":18446744073709551615}"#, "params.id"),
        (
            #""type":"call","service":"Counter","method":"next","args":[1,[-9223372036854775809]]"#,
            "args[1][0]"
        ),
        (#""type":"ping","seq":123456789012345678901234567890"#, "seq"),
        (#""type":"open","url":"scheme://router/demo","params":{"x":[1e400]}"#, "params.x[0]"),
        (#""type":"open","url":"scheme://router/demo","params":{"x":-1e-400}"#, "params.x"),
    ])
    func `a number that can't be kept is refused with its place, and answered`(fields: String, place: String)
        async throws
    {
        let harness = try await AgentHarness(router: router())
        harness.receive(#"{"id":"c1",\#(fields)}"#, on: "waypost/v1/k1/cmd/me")
        let reply = try await harness.reply(to: "c1")
        #expect(reply.code == .badField)
        #expect(reply.detail?.hasPrefix("\(place), at byte ") == true, "\(reply.detail ?? "")")
    }

    @Test func `a map with an integer beyond 64 bits is refused with its place`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(
            #"[{"routerType":1,"orginPath":"scheme://a","targetPath":"scheme://router/demo","params":{"n":1e3}},{"routerType":1,"orginPath":"scheme://b","targetPath":"scheme://router/demo","params":{"n":18446744073709551615}}]"#,
            on: "waypost/v1/k1/map")
        let report = try await harness.failure { $0.origin == .map }
        #expect(report.code == .badField)
        #expect(report.detail.contains("[1].params.n, at byte "), "\(report.detail)")
    }

    @Test func `two senders may use the same id`() async throws {
        let harness = try await AgentHarness(router: router())
        let command = #"{"id":"c1","type":"call","service":"Counter","method":"next"}"#
        #expect(try await harness.command(command, from: "a").result == 1)
        #expect(try await harness.command(command, from: "b").result == 2)
    }

    @Test func `an expired command is not run`() async throws {
        let harness = try await AgentHarness(router: router())
        let reply = try await harness.command(
            #"{"id":"c1","type":"call","service":"Counter","method":"next","exp":1}"#)
        #expect(reply.code == .expired)
        #expect(reply.status == .expired)
        // The first that counts is the one after it.
        let next = try await harness.command(
            #"{"id":"c2","type":"call","service":"Counter","method":"next"}"#)
        #expect(next.result == 1)
    }

    @Test(arguments: [
        #""type":"ping""#, #""type":"failures""#, #""type":"inspect","target":"c0""#,
        #""type":"log","level":"v","for":1000"#, #""type":"replay","since":0"#,
        #""type":"cancel","target":"c0""#, #""type":"navigate","action":"back""#,
    ])
    func `one that needs no lane is not carried out either when it has expired`(fields: String) async throws {
        let harness = try await AgentHarness(router: router())
        let past = TurnedClock.start - 1
        let reply = try await harness.command("{\"id\":\"c1\",\(fields),\"exp\":\(past)}")
        #expect(reply.code == .expired && reply.result.isNull)
        // At its exp it is too late, and a moment before it is not.
        let now = try await harness.command("{\"id\":\"c2\",\(fields),\"exp\":\(past + 1)}")
        #expect(now.code == .expired)
        let next = try await harness.command("{\"id\":\"c3\",\(fields),\"exp\":\(past + 2)}")
        #expect(next.code != .expired)
        try await harness.close()
    }

    @Test func `a sender whose clock is far ahead gets 425`() async throws {
        let harness = try await AgentHarness(router: router())
        let reply = try await harness.command(
            "{\"id\":\"c1\",\"type\":\"ping\",\"at\":\(TurnedClock.start + 30_001)}")
        #expect(reply.code == .clockSkew)
        #expect(
            try await harness.command(
                "{\"id\":\"c2\",\"type\":\"ping\",\"at\":\(TurnedClock.start + 30_000)}"
            )
            .code == .ok)
    }

    @Test func `after a step of the clock an absolute exp is refused until the clock is correct again`()
        async throws
    {
        let harness = try await AgentHarness(router: router())
        _ = try await harness.command(#"{"id":"c0","type":"ping"}"#)
        harness.clock.step(120_000)
        let expiry = TurnedClock.start + 3_600_000
        #expect(
            try await harness.command("{\"id\":\"c1\",\"type\":\"ping\",\"exp\":\(expiry)}").code == .clock)
        #expect(try await harness.command(#"{"id":"c2","type":"ping"}"#).code == .ok)
        harness.clock.advance(60_000)
        #expect(try await harness.command("{\"id\":\"c3\",\"type\":\"ping\",\"exp\":\(expiry)}").code == .ok)
    }

    @Test func `a sender over its rate has to wait, another has not`() async throws {
        let harness = try await AgentHarness(router: router()) {
            $0.limits.intakeRate = 1
            $0.limits.intakeBurst = 2
        }
        #expect(try await harness.command(#"{"id":"c1","type":"ping"}"#).code == .ok)
        #expect(try await harness.command(#"{"id":"c2","type":"ping"}"#).code == .ok)
        #expect(try await harness.command(#"{"id":"c3","type":"ping"}"#).code == .busy)
        #expect(try await harness.command(#"{"id":"c1","type":"ping"}"#, from: "other").code == .ok)
        harness.clock.advance(1_000)
        #expect(try await harness.command(#"{"id":"c3","type":"ping"}"#).code == .ok)
    }

    @Test func `when the table of ids is full new commands are refused`() async throws {
        let harness = try await AgentHarness(router: router()) { $0.limits.dedupeKeys = 1 }
        #expect(try await harness.command(#"{"id":"c1","type":"ping"}"#).code == .ok)
        #expect(try await harness.command(#"{"id":"c2","type":"ping"}"#).code == .busy)
    }

    @Test func `a gap in a sender's count is reported and the command runs`() async throws {
        let harness = try await AgentHarness(router: router())
        #expect(try await harness.command(#"{"id":"c1","type":"ping","seq":1}"#).code == .ok)
        #expect(try await harness.command(#"{"id":"c2","type":"ping","seq":5}"#).code == .ok)
        let report = try await harness.failure { $0.code == .sequenceGap }
        #expect(report.ref == "c2")
    }

    @Test func `equal failures within ten seconds are counted together`() async throws {
        let harness = try await AgentHarness(router: router())
        for _ in 0..<3 { harness.receive("not JSON", on: "waypost/v1/k1/cmd/me") }
        let first = try await harness.failure { $0.code == .badJSON }
        #expect(first.count == 1)
        harness.clock.advance(10_000)
        let over = harness.agent.failures.windowsOver(at: harness.clock.now)
        #expect(over.map(\.count) == [3])
    }

    @Test func `a command that comes again while it runs is known without the store`() async throws {
        let (goAhead, signal) = AsyncStream.makeStream(of: Void.self)
        let router = try router()
        try router.register("scheme://router/slow") { _ in
            for await _ in goAhead { break }
            return .opened("done")
        }
        let harness = try await AgentHarness(router: router)
        let topic = "waypost/v1/k1/cmd/me"
        let slow = #"{"id":"c1","type":"open","url":"scheme://router/slow"}"#
        #expect(harness.receive(slow, on: topic) == .acknowledge)
        let directory = harness.agent.configuration.stateDirectory
        try FileManager.default.moveItem(atPath: directory, toPath: directory + "-away")
        #expect(harness.receive(slow, on: topic) == .acknowledge)
        #expect(harness.agent.intake.counters.duplicates == 1)
        #expect(harness.receive(#"{"id":"c2","type":"ping"}"#, on: topic) == .refuse)
        try FileManager.default.moveItem(atPath: directory + "-away", toPath: directory)
        let before = harness.published.events.count
        harness.receive(#"{"id":"c1","type":"ping"}"#, on: topic)
        #expect(try await harness.reply(to: "c1", after: before).code == .idReused)
        let after = harness.published.events.count
        signal.finish()
        let reply = try await harness.reply(to: "c1", after: after)
        #expect(reply.status == .ok)
        #expect(!reply.isDuplicate)
        let again = try await harness.command(slow)
        #expect(again.isDuplicate)
        #expect(again.result["value"] == "done")
    }

    @Test func `a secret in a URL is masked in events and reports`() async throws {
        let harness = try await AgentHarness(router: router())
        _ = try await harness.command(
            #"{"id":"c1","type":"open","url":"scheme://router/nowhere?token=abc123&id=7"}"#)
        _ = try await harness.failure { $0.ref == "c1" }
        _ = try await harness.event { $0.ref == "c1" && $0.level == .error }
        let others = harness.published.events.filter { !$0.topic.contains("/reply/") }
        #expect(!others.contains { String(decoding: $0.payload, as: UTF8.self).contains("abc123") })
    }
}
