import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

/// A sender inside its rights that means harm: what it can do to the others.
@Suite struct `A hostile sender` {
    private func ping(_ id: String, lifetime: Int64? = nil) -> String {
        let expiry = lifetime.map { ",\"exp\":\(TurnedClock.start + $0)" } ?? ""
        return "{\"id\":\"\(id)\",\"type\":\"ping\"\(expiry)}"
    }

    private func command(_ payload: String, from sender: String) -> MQTTMessage {
        MQTTMessage(topic: "waypost/v1/k1/cmd/\(sender)", payload: Array(payload.utf8), qos: .atLeastOnce)
    }

    private func reports(_ harness: AgentHarness, _ code: Code) -> [FailureReport] {
        harness.published.events.filter { $0.topic.hasSuffix("/fail") }
            .compactMap { try? FailureReport(JSONValue(parsing: $0.payload)) }.filter { $0.code == code }
    }

    @Test func `keeps its used-up rate, and those that were silent longest are forgotten in its place`() {
        var table = SenderTable(maximum: 4, rate: 1, burst: 2)
        for sender in ["a", "b", "c", "d"] { _ = table.admit(sender, at: 0) }
        for _ in 0..<3 { _ = table.admit("a", at: 0) }
        _ = table.admit("e", at: 0)
        if case .within = table.admit("a", at: 0) { Issue.record("a has a new burst") }
        // It was forgotten, and has one.
        guard case .within = table.admit("b", at: 0), case .within = table.admit("b", at: 0) else {
            Issue.record("b was not forgotten")
            return
        }
    }

    // Each answer that waits for its time was a task: a sender without a limit of its rate could have any number.
    @Test func `asks two thousand times with a spread, and is answered or refused while few answers wait`()
        async throws
    {
        let count = 2_000
        let harness = try await AgentHarness { $0.limits.intakeRate = 0 }
        let before = try memory()
        var most = 0
        for start in stride(from: 0, to: count, by: 100) {
            let batch = (start..<start + 100).map {
                command(#"{"id":"p\#($0)","type":"ping","spread":60000}"#, from: "me")
            }
            // What is not taken the broker delivers again.
            try await eventually("the intake") { harness.link.deliver(batch) == .acknowledge }
            most = max(most, harness.agent.executor.waitingAnswers)
        }
        #expect(most > 0 && most <= 64)
        // All but those that wait for their time within the minute.
        var replies: [String: Code] = [:]
        var seen = 0
        try await eventually("the answers", progress: { harness.published.events.count }) {
            let events = harness.published.events
            for message in events[seen...] where message.topic == "waypost/v1/k1/reply/me" {
                guard let reply = try? Reply(JSONValue(parsing: message.payload)) else { continue }
                replies[reply.id] = reply.code
            }
            seen = events.count
            return replies.count + harness.agent.executor.waitingAnswers >= count
        }
        #expect(replies.values.allSatisfy { $0 == .ok || $0.number == 429 })
        // In KiB; the recorder of the test has all answers, some KiB each.
        let growth = try memory() - before
        #expect(growth < 200 << 10 || !Sanitizer.isAbsent)
        try await harness.close()
    }

    /// The memory of the process, in KiB.
    private func memory() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) })
    }

    // Stored as a list of numbers, 600 pings of 25 bytes made a file of 157 MB.
    @Test func `gets no more space on disk by correlation data than 256 bytes a command`() async throws {
        let harness = try await AgentHarness { $0.limits.intakeRate = 0 }
        let before = harness.agent.store.disk.heldBytes
        let properties = MQTTProperties(correlationData: [UInt8](repeating: 7, count: 60_000))
        for number in 0..<100 {
            harness.receive(ping("c\(number)"), on: "waypost/v1/k1/cmd/me", properties: properties)
        }
        // Each reply is a health document, which is stored too.
        let reply = try await harness.reply(to: "c99").encoded().count
        try await harness.until("all results on disk") { $0.agent.ledger.shares.total.waiting == 0 }
        #expect(harness.agent.store.disk.heldBytes - before < 100 * (reply + 4_096))
        #expect(
            harness.published.events.allSatisfy { ($0.properties.correlationData?.count ?? 0) <= 256 })
        _ = try await harness.event { $0.level == .warning && $0.message.contains("correlation data of me") }
        try await harness.close()
    }

    @Test func `is warned once of correlation data and of a foreign response topic, not for each message`()
        async throws
    {
        let harness = try await AgentHarness()
        let properties = MQTTProperties(
            responseTopic: "waypost/v1/k1/reply/victim",
            correlationData: [UInt8](repeating: 7, count: 257))
        for number in 0..<20 {
            harness.receive(ping("c\(number)"), on: "waypost/v1/k1/cmd/me", properties: properties)
        }
        _ = try await harness.reply(to: "c19")
        harness.agent.events.flush()
        let events = harness.published.events.filter { $0.topic.hasSuffix("/log/w") }
            .map { String(decoding: $0.payload, as: UTF8.self) }.joined(separator: "\n")
            .split(separator: "\n")
        #expect(events.count { $0.contains("response topic") } == 1)
        #expect(events.count { $0.contains("correlation data") } == 1)
        try await harness.close()
    }

    // Any topic under the agent's reply/ was taken, so one sender could speak to another as the agent.
    @Test func `cannot have its reply sent to another sender, nor anywhere else`() async throws {
        let harness = try await AgentHarness()
        for (number, topic) in ["waypost/v1/k1/reply/victim", "victim/topic", "waypost/v1/k2/reply/me"]
            .enumerated()
        {
            harness.receive(
                ping("c\(number)"), on: "waypost/v1/k1/cmd/me",
                properties: MQTTProperties(responseTopic: topic, correlationData: [1, 2]))
            _ = try await harness.reply(to: "c\(number)")
        }
        let replies = harness.published.events.filter { $0.topic.contains("/reply/") }
        #expect(replies.allSatisfy { $0.topic == "waypost/v1/k1/reply/me" })
        #expect(replies.allSatisfy { $0.properties.correlationData == [1, 2] })
        #expect(!harness.published.events.contains { $0.topic == "victim/topic" })
        try await harness.close()
    }

    // At 50 a second the table was full after 33 minutes, and then everyone got BUSY.
    @Test func `that fills its share of the ids gets BUSY, the others do not, and health is red from 80 %`()
        async throws
    {
        let harness = try await AgentHarness { $0.limits.dedupeKeys = 20 }
        for number in 0..<5 {
            let reply = try await harness.command(ping("c\(number)", lifetime: 86_000_000), from: "loud")
            #expect(reply.code == .ok)
        }
        let refused = try await harness.command(ping("c5", lifetime: 86_000_000), from: "loud")
        #expect(refused.code == .busy)
        #expect(refused.detail?.contains("has used its share of 5 remembered ids (25 %)") == true)
        let end = Timestamp.rfc3339(TurnedClock.start + 86_000_000 + 300_000)
        #expect(refused.detail?.hasSuffix("the first one becomes free at \(end)") == true)
        // On another topic it is the same sender.
        harness.receive(ping("c6"), on: "waypost/v1/@all/cmd/loud")
        #expect(try await harness.reply(to: "c6", from: "loud").code == .busy)
        #expect(try await harness.command(ping("c0", lifetime: 86_000_000), from: "loud").isDuplicate)

        // Who comes near its share is named before the table is full.
        let health = try await harness.command(ping("h"), from: "ops").result
        let ids = health["checks"]?.arrayValue?.first { $0["name"] == "ids" }
        #expect(ids?["ok"] == true)
        #expect(ids?["detail"]?.stringValue?.contains("loud used most of a share") == true, "\(health)")

        for number in 0..<9 {
            #expect(harness.check("ids") == true)
            #expect(try await harness.command(ping("o\(number)"), from: "o\(number)").code == .ok)
        }
        #expect(harness.check("ids") == true)
        #expect(try await harness.command(ping("o9"), from: "o9").code == .ok)
        #expect(harness.check("ids") == false)
        try await harness.close()
    }

    @Test func `has its share of the ids again once some are forgotten`() async throws {
        let harness = try await AgentHarness { $0.limits.dedupeKeys = 4 }
        #expect(try await harness.command(ping("a")).code == .ok)
        #expect(try await harness.command(ping("b")).code == .busy)
        try await harness.untilAllIsAcknowledged()
        for _ in 0..<30 {
            harness.clock.advance(60_000)
            _ = harness.agent.forgetEndedCommands(after: 0)
        }
        #expect(try await harness.command(ping("b")).code == .ok)
        try await harness.close()
    }

    @Test func `still has its share of the ids used up after a restart`() async throws {
        let directory: String
        do {
            let harness = try await AgentHarness { $0.limits.dedupeKeys = 4 }
            #expect(try await harness.command(ping("a")).code == .ok)
            directory = harness.agent.configuration.stateDirectory
            try await harness.close()
        }
        let harness = try await AgentHarness(directory: directory) { $0.limits.dedupeKeys = 4 }
        #expect(harness.agent.ledger.shares.total.ids == 1)
        #expect(try await harness.command(ping("b")).code == .busy)
        #expect(try await harness.command(ping("b"), from: "other").code == .ok)
        try await harness.close()
    }

    @Test
    func `with commands that wait fills its share of the queue, in number and in bytes, and no other's`()
        async throws
    {
        let router = Router()
        let (goAhead, signal) = AsyncStream.makeStream(of: Void.self)
        try router.register("scheme://slow", idempotent: true) { _ in
            for await _ in goAhead { break }
            return .opened()
        }
        let harness = try await AgentHarness(router: router) {
            $0.limits.waitingCommands = 16
            $0.limits.waitingBytes = 65_536
        }
        func open(_ id: String, padding: Int = 0) -> String {
            let text = String(repeating: "x", count: padding)
            return
                "{\"id\":\"\(id)\",\"type\":\"open\",\"url\":\"scheme://slow\",\"params\":{\"p\":\"\(text)\"}}"
        }
        for number in 0..<4 {
            harness.receive(open("n\(number)"), on: "waypost/v1/k1/cmd/many")
        }
        harness.receive(open("n4"), on: "waypost/v1/k1/cmd/many")
        #expect(try await harness.reply(to: "n4", from: "many").code == .busy)
        harness.receive(open("l0", padding: 15_000), on: "waypost/v1/k1/cmd/large")
        harness.receive(open("l1", padding: 15_000), on: "waypost/v1/k1/cmd/large")
        #expect(try await harness.reply(to: "l1", from: "large").code == .busy)
        #expect(try await harness.command(ping("p"), from: "other").code == .ok)
        signal.finish()
        #expect(try await harness.reply(to: "l0", from: "large").code == .ok)
        try await harness.until("the end of all") { $0.agent.ledger.shares.total.waiting == 0 }
        #expect(harness.agent.ledger.shares.total.waitingBytes == 0)
        try await harness.close()
    }

    // 10 300 payloads of 25 bytes filled the outbox, and then everyone got OUTBOX.
    @Test func `over its rate makes one report of what can't be read, and does not fill the outbox`()
        async throws
    {
        let harness = try await AgentHarness(isOnline: false) {
            $0.limits.intakeRate = 10
            $0.limits.intakeBurst = 10
            $0.limits.outboxRecords = 100
        }
        for number in 0..<1_000 {
            _ = harness.link.deliver([command("no JSON \(number)", from: "loud")])
            _ = harness.link.deliver([
                MQTTMessage(topic: "waypost/v1/k1/cmd/bad name \(number)", payload: [1], qos: .atLeastOnce)
            ])
        }
        #expect(harness.agent.intake.counters.rejected == 2_000)
        harness.link.connect(receiveMaximum: 10)
        #expect(try await harness.command(ping("p"), from: "other").code == .ok)
        try await harness.until("the reports to leave") { $0.reportsOnDisk == 0 }
        // Ten of each within the rate, one for what was over it, and one for what was not read at all.
        #expect(reports(harness, .badField).count == 10)
        #expect(reports(harness, .busy).count == 4)
        #expect(reports(harness, .busy).contains { $0.detail.hasPrefix("loud sends more than 10 messages") })
        harness.clock.advance(10_000)
        let counts = harness.agent.failures.windowsOver(at: harness.clock.now)
            .filter { $0.sender == "loud" && $0.code == .busy }.map(\.count)
        #expect(counts.sorted() == [10, 980])
        try await harness.close()
    }

    @Test func `over twice its rate is not read, and a known id is answered before that`() async throws {
        let harness = try await AgentHarness {
            $0.limits.intakeRate = 1
            $0.limits.intakeBurst = 2
        }
        #expect(try await harness.command(ping("a")).code == .ok)
        #expect(try await harness.command(ping("b")).code == .ok)
        #expect(try await harness.command(ping("a")).isDuplicate)
        #expect(try await harness.command(ping("c")).code == .busy)
        let before = harness.published.events.count
        harness.receive(ping("a"), on: "waypost/v1/k1/cmd/me")
        harness.receive(ping("d"), on: "waypost/v1/k1/cmd/me")
        // Another sender's command comes behind them.
        #expect(try await harness.command(ping("e"), from: "other").code == .ok)
        let replies = harness.published.events.dropFirst(before).filter { $0.topic.hasSuffix("/reply/me") }
        #expect(replies.isEmpty)
        _ = try await harness.failure { $0.code == .busy && $0.detail.contains("not read") }
        #expect(harness.agent.intake.counters.received == 7)
        harness.clock.advance(2_000)
        #expect(try await harness.command(ping("d")).code == .ok)
        try await harness.close()
    }

    // Checking a signature costs more than all else that intake does with a command.
    @Test func `over its rate has no signature checked`() async throws {
        let key = Base64.encode([UInt8](repeating: 7, count: 32))
        var trust = MapTrust()
        try trust.pin("release", key: key)
        trust.coversCommands = true
        let harness = try await AgentHarness { [trust] in
            $0.limits.intakeRate = 1
            $0.limits.intakeBurst = 1
            $0.trust = trust
        }
        #expect(try await harness.command(ping("a")).code == .unsigned)
        #expect(try await harness.command(ping("b")).code == .busy)
        try await harness.close()
    }

    @Test func `fills its share of the outbox with reports and no more, and the others' commands run`()
        async throws
    {
        let harness = try await AgentHarness(isOnline: false) {
            $0.limits.intakeRate = 0
            $0.limits.outboxRecords = 16
        }
        for number in 0..<20 {
            _ = harness.link.deliver([
                command("{\"id\":\"n\(number)\",\"type\":\"open\",\"url\":\"scheme://none\"}", from: "loud")
            ])
        }
        try await harness.until("a full share") { $0.agent.journal.isOutboxFull(for: "loud") }
        #expect(!harness.agent.journal.isOutboxFull(for: "other"))
        let stored = try harness.agent.store.commit { try $0.outbox().records }
            .map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(stored.count { $0.contains("scheme://none") } == 4, "\(stored)")
        harness.link.answer { $0.topic.hasSuffix("/fail") ? nil : .acknowledged }
        harness.link.connect(receiveMaximum: 100)
        #expect(try await harness.command(ping("p"), from: "loud").code == .outbox)
        #expect(try await harness.command(ping("p"), from: "other").code == .ok)
        try await harness.close()
    }

    @Test func `cannot make a report or a reply long by what it sends`() async throws {
        let harness = try await AgentHarness()
        let type = String(repeating: "\\u0001", count: 10_000)
        let reply = try await harness.command(#"{"id":"a","type":"\#(type)"}"#)
        #expect(reply.code == .unknownType)
        #expect((reply.detail?.utf8.count ?? 0) <= 2_048)
        #expect(try await harness.failure { $0.ref == "a" }.detail.utf8.count <= 2_048)
        harness.receive("{}", on: "waypost/v1/k1/cmd/" + String(repeating: "ü", count: 30_000))
        #expect(
            try await harness.failure { $0.detail.contains("a name that is not allowed") }.detail.utf8.count
                < 1_024)
        try await harness.close()
    }
}
