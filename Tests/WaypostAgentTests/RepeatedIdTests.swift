import Foundation
import MQTTLink
import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostAgent

/// A known id is answered from the store, before rate, table, outbox and queue are asked.
@Suite struct `A repeated id` {
    private static let ping = #"{"id":"c1","type":"ping"}"#

    /// Sends `c1` again and expects the stored reply and no other.
    private func expectStored(_ harness: AgentHarness, _ sender: String = "me") async throws {
        let before = harness.published.events.count
        let topic = "waypost/v1/k1/cmd/\(sender)"
        #expect(harness.receive(Self.ping, on: topic) == .acknowledge)
        let reply = try await harness.reply(to: "c1", from: sender, after: before)
        #expect(reply.isDuplicate)
        #expect(Set(harness.replies(to: "c1").map(\.status)) == [.ok])
    }

    @Test func `gets its reply from a sender over its rate`() async throws {
        let harness = try await AgentHarness {
            $0.limits.intakeRate = 1
            $0.limits.intakeBurst = 2
        }
        #expect(try await harness.command(Self.ping).code == .ok)
        #expect(try await harness.command(#"{"id":"c0","type":"ping"}"#).code == .ok)
        try await expectStored(harness)
        #expect(try await harness.command(#"{"id":"c2","type":"ping"}"#).code == .busy)
    }

    // Killed before the broker has the repeated reply, the agent sends it at its next start.
    @Test func `has its reply open on the disk until the broker has it again`() async throws {
        let harness = try await AgentHarness()
        #expect(try await harness.command(Self.ping).code == .ok)
        try await harness.untilAllIsAcknowledged()
        harness.link.answer { $0.topic.contains("/reply/") ? nil : .acknowledged }
        try await expectStored(harness)
        #expect(try harness.agent.store.commit { try !$0.topicsOfUnsentReplies().isEmpty })
        harness.link.disconnect()
        harness.link.answer { _ in .acknowledged }
        harness.link.connect(sessionPresent: true)
        try await harness.untilAllIsAcknowledged()
        try await harness.close()
    }

    /// How a command ended, and what makes it end so.
    @Test(arguments: [Code.ok, .expired, .canceled])
    func `gets its reply however its command ended, for as long as a sender sends it again`(_ code: Code)
        async throws
    {
        let gate = OneShotEvent()
        let router = Router()
        try router.register("a://slow") { _ in
            await gate.wait()
            return .opened()
        }
        let harness = try await AgentHarness(router: router)
        func open(_ id: String) -> String {
            #"{"id":"\#(id)","type":"open","url":"a://slow","exp":\#(TurnedClock.start + 3_600_000)}"#
        }
        let topic = "waypost/v1/k1/cmd/me"
        harness.receive(open("first"), on: topic)
        harness.receive(open("c1"), on: topic)
        switch code {
        case .expired: harness.clock.advance(3_600_000)
        case .canceled: harness.receive(#"{"id":"x","type":"cancel","target":"c1"}"#, on: topic)
        default: gate.fire()
        }
        #expect(try await harness.reply(to: "c1").code == code)
        gate.fire()
        #expect(try await harness.reply(to: "first").status != .accepted)
        try await harness.untilAllIsAcknowledged()
        func again(at time: Int64) async throws -> Reply {
            harness.clock.advance(time - harness.clock.now)
            _ = harness.agent.forgetEndedCommands(after: 0)
            return try await harness.command(open("c1"))
        }
        let end = TurnedClock.start + 3_600_000 + Command.recognitionAfterExpiry
        for time in [end - 1, end] {
            let reply = try await again(at: time)
            #expect(reply.code == code && reply.isDuplicate)
            try await harness.untilAllIsAcknowledged()
        }
        // Long after it expired it is another command, and has expired.
        let other = try await again(at: end + 1)
        #expect(other.code == .expired && !other.isDuplicate)
        try await harness.close()
    }

    @Test func `gets its reply when the table of ids is full`() async throws {
        let harness = try await AgentHarness { $0.limits.dedupeKeys = 1 }
        #expect(try await harness.command(Self.ping).code == .ok)
        try await expectStored(harness)
        #expect(try await harness.command(#"{"id":"c2","type":"ping"}"#).code == .busy)
    }

    @Test func `gets its reply when the outbox is full`() async throws {
        let harness = try await AgentHarness { $0.limits.outboxRecords = 1 }
        #expect(try await harness.command(Self.ping).code == .ok)
        harness.link.answer { $0.topic.hasSuffix("/fail") ? nil : .acknowledged }
        harness.receive("not JSON", on: "waypost/v1/k1/cmd/other")
        try await harness.until("a full outbox") { $0.agent.journal.isOutboxFull(for: "me") }
        try await expectStored(harness)
        #expect(try await harness.command(#"{"id":"c2","type":"ping"}"#).code == .outbox)
    }

    @Test func `gets its reply when too many commands wait`() async throws {
        let router = Router()
        let (goAhead, signal) = AsyncStream.makeStream(of: Void.self)
        try router.register("scheme://slow", idempotent: true) { _ in
            for await _ in goAhead { break }
            return .opened()
        }
        let harness = try await AgentHarness(router: router) { $0.limits.waitingCommands = 1 }
        #expect(try await harness.command(Self.ping).code == .ok)
        harness.receive(#"{"id":"s1","type":"open","url":"scheme://slow"}"#, on: "waypost/v1/k1/cmd/me")
        try await harness.until("the slow command to run") { $0.agent.executor.waiting == 1 }
        try await expectStored(harness)
        #expect(try await harness.command(#"{"id":"c2","type":"ping"}"#).code == .busy)
        signal.finish()
    }
}

/// A sender that tries again stamps its command anew; it is the same command all the same.
@Suite struct `A repeated command` {
    private let runs = TestSupport.EventLog<String>()
    private let directory = NSTemporaryDirectory() + "waypost-repeated-\(UUID().uuidString)"

    private func harness(_ configure: (inout AgentConfiguration) -> Void = { _ in }) async throws
        -> AgentHarness
    {
        let router = Router()
        try router.register("scheme://count") { [runs] request in
            runs.append(request.context.ref ?? "")
            return .opened("done")
        }
        return try await AgentHarness(directory: directory, router: router, configure: configure)
    }

    /// The fields of an `open` behind its id.
    private func open(_ fields: String) -> String {
        #"{"id":"c1","type":"open","url":"scheme://count","params":{"a":1,"b":[2]},\#(fields)}"#
    }

    @Test func `a command that is stamped anew is the same command`() async throws {
        let harness = try await harness()
        let now = harness.clock.now
        let first = try await harness.command(open(#""at":\#(now),"exp":\#(now + 60_000),"seq":1"#))
        #expect(first.code == .ok && !first.isDuplicate)
        for again in [
            open(#""at":\#(now + 5),"exp":\#(now + 90_000),"seq":2"#), open(#""ttl":1000"#),
            open(#""lane":"other","trace":"t","unknown":1"#),
            #"{"params":{"b":[2], "a":1}, "url":"scheme:\/\/count", "type":"open", "id":"c1"}"#,
        ] {
            let reply = try await harness.command(again)
            #expect(reply.isDuplicate && reply.code == .ok && reply.at == first.at, "\(again)")
        }
        #expect(runs.events == ["c1"])
        try await harness.close()
    }

    @Test func `is the same after a restart`() async throws {
        var harness = try await harness()
        _ = try await harness.command(open(#""ttl":60000"#))
        try await harness.close()
        harness = try await self.harness()
        #expect(try await harness.command(open(#""ttl":50000"#)).isDuplicate)
        #expect(runs.events == ["c1"])
        try await harness.close()
    }

    @Test(arguments: [
        #"{"id":"c1","type":"open","url":"scheme://other","params":{"a":1,"b":[2]}}"#,
        #"{"id":"c1","type":"open","url":"scheme://count","params":{"a":2,"b":[2]}}"#,
        #"{"id":"c1","type":"open","url":"scheme://count","params":{"a":"1","b":[2]}}"#,
        #"{"id":"c1","type":"open","url":"scheme://count"}"#, #"{"id":"c1","type":"ping"}"#,
        #"{"id":"c1","type":"open"}"#,
    ])
    func `an id that was used for a different command is refused with 409`(_ other: String) async throws {
        let harness = try await harness()
        #expect(try await harness.command(open(#""ttl":60000"#)).code == .ok)
        let reply = try await harness.command(other)
        #expect(reply.code == .idReused && !reply.isDuplicate)
        #expect(reply.detail == "id c1 was already used for a different command")
        try await harness.close()
    }

    @Test func `that was refused gets its refusal again`() async throws {
        let harness = try await harness()
        for (command, again) in [
            (#"{"id":"c1","type":"open","exp":1}"#, #"{"id":"c1","exp":2,"type":"open"}"#),
            (#"{"id":"c2","type":"ping","at":9999999999999}"#, #"{"id":"c2","type":"ping","at":1}"#),
        ] {
            let first = try await harness.command(command)
            let second = try await harness.command(again)
            #expect(first.code != .ok && first.code == second.code && second.isDuplicate, "\(second)")
        }
        try await harness.close()
    }

    // What an earlier build stored has the digest of the bytes alone.
    @Test func `of an earlier build is known by its bytes`() async throws {
        let payload = Array(#"{"id":"c1","type":"ping"}"#.utf8)
        let digest = CommandDigest(stored: SHA256.digest(of: payload))
        #expect(digest.matches(CommandDigest(payload: payload, content: [1])))
        #expect(!digest.matches(CommandDigest(payload: payload + [32], content: [1])))
        #expect(digest.fits(payload) && !digest.fits(payload + [32]))
    }
}

@Suite struct `A time to live` {
    @Test func `counts from the arrival, whatever the clocks say`() async throws {
        let router = Router()
        try router.register("scheme://count") { _ in .opened() }
        let harness = try await AgentHarness(router: router)
        harness.clock.step(-400 * 86_400_000)
        let open = #""type":"open","url":"scheme://count""#
        let refused = try await harness.command(#"{"id":"a","exp":\#(harness.clock.now + 1_000),\#(open)}"#)
        #expect(refused.code == .clock && refused.detail?.contains("ttl instead of exp") == true)
        #expect(try await harness.command(#"{"id":"b","ttl":1000,\#(open)}"#).code == .ok)
        try await harness.close()
    }

    @Test func `ends while the command waits for its turn`() async throws {
        let router = Router()
        let (goAhead, signal) = AsyncStream.makeStream(of: Void.self)
        try router.register("scheme://slow", idempotent: true) { _ in
            for await _ in goAhead { break }
            return .opened()
        }
        let harness = try await AgentHarness(router: router)
        harness.receive(#"{"id":"s1","type":"open","url":"scheme://slow"}"#, on: "waypost/v1/k1/cmd/me")
        try await harness.until("the slow command to run") { $0.agent.executor.waiting == 1 }
        harness.receive(
            #"{"id":"s2","ttl":5000,"type":"open","url":"scheme://slow"}"#, on: "waypost/v1/k1/cmd/me")
        harness.clock.advance(5_000)
        #expect(try await harness.reply(to: "s2").code == .expired)
        signal.finish()
        try await harness.close()
    }

    @Test(arguments: [
        (#""ttl":1000,"exp":1999999999000"#, "exp and ttl are both set; send one of them"),
        (#""ttl":0"#, "ttl must be 1 to 2592000000; found 0"),
        (#""ttl":"1s""#, "ttl must be an integer; found a string"),
    ])
    func `is refused when it makes no sense`(_ fields: String, _ detail: String) async throws {
        let harness = try await AgentHarness()
        let reply = try await harness.command(#"{"id":"a","type":"ping",\#(fields)}"#)
        #expect(reply.code == .badField && reply.detail == detail)
        try await harness.close()
    }
}

@Suite struct `A batch that can't be stored` {
    // Each delivery took from what the sender may send, so that commands within the rate got BUSY.
    @Test func `does not count against its senders' rate, however often the broker sends it`() async throws {
        let harness = try await AgentHarness {
            $0.limits.intakeRate = 1
            $0.limits.intakeBurst = 10
        }
        let batch = (0..<10).map { number in
            MQTTMessage(
                topic: "waypost/v1/k1/cmd/me",
                payload: Array("{\"id\":\"c\(number)\",\"type\":\"ping\"}".utf8),
                qos: .atLeastOnce)
        }
        let directory = harness.agent.configuration.stateDirectory
        try FileManager.default.moveItem(atPath: directory, toPath: directory + "-away")
        for _ in 0..<20 { #expect(harness.link.deliver(batch) == .refuse) }
        try FileManager.default.moveItem(atPath: directory + "-away", toPath: directory)
        #expect(harness.link.deliver(batch) == .acknowledge)
        for number in 0..<10 { #expect(try await harness.reply(to: "c\(number)").code == .ok) }
        #expect(try await harness.command(#"{"id":"more","type":"ping"}"#).code == .busy)
        try await harness.close()
    }
}

/// A command may run before it is stored: its id must be known all the same.
@Suite struct `A command that is not stored yet` {
    private func router(_ runs: TestSupport.EventLog<String>) throws -> Router {
        let router = Router()
        try router.register("scheme://count", idempotent: true) { request in
            runs.append(request.context.ref ?? "")
            return .opened("done")
        }
        return router
    }

    private func open(_ id: String, _ url: String = "scheme://count") -> MQTTMessage {
        MQTTMessage(
            topic: "waypost/v1/k1/cmd/me",
            payload: Array("{\"id\":\"\(id)\",\"type\":\"open\",\"url\":\"\(url)\"}".utf8))
    }

    @Test func `is not acknowledged and runs once, however often the broker sends it to a full disk`()
        async throws
    {
        let runs = TestSupport.EventLog<String>()
        let harness = try await AgentHarness(router: router(runs))
        let directory = harness.agent.configuration.stateDirectory
        try FileManager.default.moveItem(atPath: directory, toPath: directory + "-away")
        for _ in 0..<5 { #expect(harness.link.deliver([open("a")]) == .refuse) }
        // Others are not begun while nothing can be stored.
        for _ in 0..<5 { #expect(harness.link.deliver([open("a"), open("b")]) == .refuse) }
        let before = harness.published.events.count
        harness.link.deliver([open("a", "scheme://other")])
        #expect(try await harness.reply(to: "a", after: before).code == .idReused)
        #expect(runs.events == ["a"])
        try FileManager.default.moveItem(atPath: directory + "-away", toPath: directory)
        let after = harness.published.events.count
        #expect(harness.link.deliver([open("a"), open("b")]) == .acknowledge)
        #expect(try await harness.reply(to: "a", after: after).code == .ok)
        #expect(try await harness.reply(to: "b", after: after).code == .ok)
        #expect(runs.events == ["a", "b"])
        try await harness.close()
    }

    @Test func `is known to another with its id in the same batch`() async throws {
        let runs = TestSupport.EventLog<String>()
        let harness = try await AgentHarness(router: router(runs))
        harness.link.deliver([open("a"), open("a"), open("a", "scheme://other"), open("b")])
        #expect(try await harness.reply(to: "b").code == .ok)
        try await harness.until("both ends of it") { $0.replies(to: "a").count == 2 }
        #expect(harness.replies(to: "a").map(\.code).sorted { $0.number < $1.number } == [.ok, .idReused])
        #expect(runs.events.sorted() == ["a", "b"])
        try await harness.close()
    }

    @Test func `is shown to one who asks for it in the same batch`() async throws {
        let runs = TestSupport.EventLog<String>()
        let harness = try await AgentHarness(router: router(runs))
        let question = MQTTMessage(
            topic: "waypost/v1/k1/cmd/me", payload: Array(#"{"id":"q","type":"inspect","target":"a"}"#.utf8))
        harness.link.deliver([open("a"), question])
        let reply = try await harness.reply(to: "q")
        #expect(reply.result["commands"]?[0]?["state"]?.stringValue != nil, "\(reply)")
        try await harness.close()
    }
}

@Suite struct `Gaps in a sender's count` {
    // With a thousand senders known, those after them were not looked at any more, and nothing said so.
    @Test func `are noticed for new senders too, however many there were`() async throws {
        let harness = try await AgentHarness { $0.limits.senders = 8 }
        for number in 0..<100 {
            harness.receive(#"{"id":"a","type":"ping","seq":1}"#, on: "waypost/v1/k1/cmd/sender\(number)")
        }
        #expect(try await harness.command(#"{"id":"n1","type":"ping","seq":1}"#, from: "new").code == .ok)
        #expect(try await harness.command(#"{"id":"n2","type":"ping","seq":3}"#, from: "new").code == .ok)
        #expect(try await harness.failure { $0.code == .sequenceGap }.ref == "n2")
    }

    @Test func `are found up to the largest number`() {
        var senders = SenderTable(maximum: 2, rate: 0, burst: 0)
        let first = senders.gap(before: .max, of: "a", at: 0)
        let second = senders.gap(before: 1, of: "a", at: 0)
        #expect(first == nil)
        #expect(second == .max)
    }
}
