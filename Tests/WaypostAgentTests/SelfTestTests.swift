import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

struct SelfTestTests {
    private func begun(
        _ test: inout SelfTest, nonce: String = "N1", over version: MQTTVersion = .v5, at now: Int64 = 0
    ) -> (echo: [UInt8], ping: [UInt8]?) {
        test.began(boot: "B", nonce: nonce, over: version, receivesCommands: true, at: now)
    }

    @Test func `both messages come back, and all is well`() throws {
        var test = SelfTest()
        let payloads = begun(&test)
        test.echoReceived(payloads.echo)
        #expect(test.pingReceived(try #require(payloads.ping)) == true)
        test.pingSettled(.acknowledged)
        #expect(test.overdue(at: 60_000) == (false, false))
        #expect(test.echo == .ok)
        #expect(test.commands == .ok)
    }

    @Test func `an echo with another nonce, or of an earlier connection, does not count`() {
        var test = SelfTest()
        let earlier = begun(&test, nonce: "N0").echo
        test.ended()
        _ = begun(&test)
        test.echoReceived(earlier)
        test.echoReceived(Array(#"{"boot":"B"}"#.utf8))
        test.echoReceived([])
        #expect(test.echo == .pending)
        #expect(test.overdue(at: 9_999) == (false, false))
        #expect(test.overdue(at: 10_000) == (true, false))
        #expect(test.overdue(at: 20_000) == (false, false))
        #expect(test.echo == .missing)
    }

    @Test func `a connection that ends before its echo is back proves nothing`() {
        var test = SelfTest()
        _ = begun(&test)
        test.ended()
        #expect(test.overdue(at: 60_000) == (false, false))
        // The next one has its own time.
        _ = begun(&test, nonce: "N2", at: 60_000)
        #expect(test.overdue(at: 69_999) == (false, false))
        #expect(test.overdue(at: 70_000) == (true, false))
    }

    @Test func `a ping that the broker took and did not deliver is missing, once`() {
        var test = SelfTest()
        let payloads = begun(&test)
        test.pingSettled(.acknowledged)
        test.echoReceived(payloads.echo)
        #expect(test.overdue(at: 10_000) == (false, true))
        #expect(test.overdue(at: 20_000) == (false, false))
        #expect(test.commands == .missing)
    }

    @Test(arguments: [
        PublishReceipt.Result.refused(.notAuthorized), .rejected(.overflow),
    ])
    func `a ping that the broker did not take says nothing`(result: PublishReceipt.Result) {
        var test = SelfTest()
        let payloads = begun(&test)
        test.pingSettled(result)
        test.echoReceived(payloads.echo)
        #expect(test.overdue(at: 10_000) == (false, false))
        guard case .unknown = test.commands else {
            Issue.record("\(test.commands)")
            return
        }
    }

    @Test func `with 3-1-1, and without the subscription, no ping is sent`() {
        var test = SelfTest()
        #expect(begun(&test, over: .v311).ping == nil)
        let refused = test.began(boot: "B", nonce: "N", over: .v5, receivesCommands: false, at: 0)
        #expect(refused.ping == nil)
        test.echoReceived(refused.echo)
        #expect(test.overdue(at: 10_000) == (false, false))
    }

    @Test func `a broker that ends the connection at a ping gets two of them, and no more`() {
        var test = SelfTest()
        for _ in 0..<2 {
            #expect(begun(&test).ping != nil)
            test.pingSettled(.lost)
            test.ended()
        }
        #expect(begun(&test).ping == nil)
        // One that answers is not such a broker.
        test = SelfTest()
        for _ in 0..<5 {
            #expect(begun(&test).ping != nil)
            test.pingSettled(.lost)
            #expect(begun(&test).ping != nil)
            test.pingSettled(.acknowledged)
        }
    }

    @Test func `only its own messages are taken for pings, also late ones`() throws {
        var test = SelfTest()
        let early = try #require(begun(&test, nonce: "N0").ping)
        let ping = try #require(begun(&test).ping)
        #expect(test.pingReceived(early) == true)
        #expect(test.commands == .pending)
        #expect(test.pingReceived(ping) == true)
        #expect(test.commands == .ok)
        #expect(test.pingReceived(Array(#"{"id":"c1","type":"ping"}"#.utf8)) == false)
        #expect(test.pingReceived([]) == false)
    }
}

@Suite(.timeLimit(.minutes(60)))
struct AgentLinkTests {
    private static let commands = "waypost/v1/k1/cmd/+"

    private func published(_ harness: AgentHarness, _ topic: String, after count: Int = 0) async throws
        -> MQTTMessage
    {
        try await harness.published.wait(for: topic) { $0.dropFirst(count).contains { $0.topic == topic } }
        return try #require(harness.published.events.dropFirst(count).first { $0.topic == topic })
    }

    @Test func `its message to itself is no command: not stored, not counted, not answered`() async throws {
        let harness = try await AgentHarness(isOnline: false)
        harness.link.connect(granted: [Self.commands])
        let ping = try await published(harness, "waypost/v1/k1/cmd/k1")
        let echo = try await published(harness, "waypost/v1/k1/echo")
        #expect(harness.link.deliver([echo, ping, ping]) == .acknowledge)
        #expect(harness.agent.status.current.selfTest.echo == .ok)
        #expect(harness.agent.status.current.selfTest.commands == .ok)
        #expect(harness.agent.intake.counters.received == 0)
        #expect(try harness.agent.store.commit { try $0.inboxUse() }.isEmpty)
        // Under another sender's name it is a command like any other.
        _ = harness.link.deliver([MQTTMessage(topic: "waypost/v1/k1/cmd/me", payload: ping.payload)])
        #expect(harness.agent.intake.counters.received == 1)
        // And so is another command under the agent's own name.
        #expect(try await harness.command(#"{"id":"c1","type":"ping"}"#, from: "k1").code == .ok)
        #expect(
            !harness.published.events.contains {
                $0.topic == "waypost/v1/k1/reply/k1" && $0.payload == ping.payload
            })
        try await harness.close()
    }

    @Test func `a ping that the broker refuses is no refused message`() async throws {
        let harness = try await AgentHarness(isOnline: false)
        harness.link.answer { $0.topic == "waypost/v1/k1/cmd/k1" ? .refused(.notAuthorized) : .acknowledged }
        harness.link.connect(granted: [Self.commands])
        try await harness.until("the broker's answer") { harness in
            harness.agent.health.checks.contains {
                $0.name == "commands" && $0.state == .unknown
                    && $0.detail == "the agent may not write commands"
            }
        }
        #expect(harness.check("publishes") == true)
        try await harness.close()
    }

    @Test func `that its messages are taken is published once the first was`() async throws {
        let harness = try await AgentHarness(isOnline: false)
        for connection in 1...2 {
            let before = harness.published.events.count
            harness.link.connect(sessionPresent: connection > 1, granted: [Self.commands])
            try await harness.published.wait(for: "health that knows it") { messages in
                messages.dropFirst(before).contains {
                    guard $0.topic == "waypost/v1/k1/health" else { return false }
                    let health = Health((try? JSONValue(parsing: $0.payload)) ?? .null)
                    return health.checks.contains { $0.name == "publishes" && $0.state == .ok }
                }
            }
            harness.link.disconnect()
        }
        try await harness.close()
    }

    @Test func `another's echo does not satisfy it, and each connection has its own`() async throws {
        let harness = try await AgentHarness(isOnline: false)
        harness.link.connect()
        let first = try await published(harness, "waypost/v1/k1/echo")
        harness.receive(#"{"boot":"\(harness.agent.events.boot)"}"#, on: "waypost/v1/k1/echo")
        #expect(harness.agent.status.current.selfTest.echo == .pending)
        let count = harness.published.events.count
        harness.link.disconnect()
        harness.link.connect(sessionPresent: true)
        let second = try await published(harness, "waypost/v1/k1/echo", after: count)
        #expect(first.payload != second.payload)
        _ = harness.link.deliver([first])
        #expect(harness.agent.status.current.selfTest.echo == .pending)
        _ = harness.link.deliver([second])
        #expect(harness.agent.status.current.selfTest.echo == .ok)
        try await harness.close()
    }

    @Test func `a message that was too large to be read is counted, and reported with its topic and size`()
        async throws
    {
        let harness = try await AgentHarness()
        for _ in 0..<3 {
            harness.link.skip(
                SkippedMessage(topic: "waypost/v1/k1/cmd/me\u{1B}[2J", bytes: 200 << 20, limit: 1 << 20))
        }
        let report = try await harness.failure { $0.code == .tooLarge }
        #expect(report.detail.contains("209715200 bytes"))
        #expect(report.detail.contains("waypost/v1/k1/cmd/me"))
        #expect(!report.detail.contains("\u{1B}"))
        #expect(harness.agent.health.counters["messagesSkipped"] == .int(3))
        try await harness.close()
    }

    // They met no rate and no share: six hundred pushed the failures of all others out.
    @Test func `large messages count for their sender, and push no other's failures out`() async throws {
        let harness = try await AgentHarness { $0.limits.watchedFailures = 0 }
        harness.receive("not JSON", on: "waypost/v1/k1/cmd/good")
        for number in 0..<600 {
            harness.link.skip(
                SkippedMessage(topic: "waypost/v1/k1/cmd/loud", bytes: 2 << 20 + number, limit: 1 << 20))
        }
        // Beyond its rate it is one failure, and says so.
        _ = try await harness.failure { $0.code == .busy }
        try await harness.until("the reports at the broker") { $0.reportsOnDisk == 0 }
        let page = try harness.agent.store.commit {
            try $0.failures(FailureRequest(maximum: 1_000), bytes: 1 << 24)
        }
        #expect(page.reports.count <= 126)
        #expect(page.reports.contains { $0["code"] == .int(400) || $0["name"] == "BAD_JSON" })
        // All of them count, and what it sends beside them is over its rate as well.
        #expect(harness.agent.intake.counters.received == 601)
        harness.receive(#"{"id":"c1","type":"ping"}"#, on: "waypost/v1/k1/cmd/loud")
        let other = try await harness.command(#"{"id":"c1","type":"ping"}"#, from: "good")
        #expect(other.code == .ok)
        #expect(harness.published.events.allSatisfy { !$0.topic.hasSuffix("/reply/loud") })
        try await harness.close()
    }

    @Test func `a subscription that is granted later makes health green, and the self-test begins again`()
        async throws
    {
        let harness = try await AgentHarness(isOnline: false)
        harness.link.connect(refused: [Self.commands])
        #expect(harness.check("subscriptions") == false)
        let connection = try #require(harness.agent.status.current.connection)
        harness.link.subscribe(granted: [Self.commands], of: connection)
        #expect(harness.check("subscriptions") == true)
        _ = try await published(harness, "waypost/v1/k1/cmd/k1")
        try await harness.close()
    }

    @Test func `the same request to stay away is reported once`() async throws {
        let harness = try await AgentHarness()
        for turn in 0..<5 {
            harness.link.disconnect(.serverDisconnect(.quotaExceeded), isRepeated: turn > 0)
            harness.link.connect()
        }
        harness.agent.reporter.log(.info, "Test", "the end")
        _ = try await harness.event { $0.message == "the end" }
        _ = try await harness.event { $0.message.contains("Quota exceeded") }
        // What a lost connection had not delivered is sent again, with the same number.
        let lines = Set(
            harness.published.events.filter { $0.topic.contains("/log/") }
                .map { String(decoding: $0.payload, as: UTF8.self) })
        #expect(lines.count { $0.contains("Quota exceeded") } == 1)
        try await harness.close()
    }

    @Test(arguments: [(MQTTVersion.v311, Int64(4)), (.v5, 5)])
    func `the will of the first connection names the version of that connection`(
        version: MQTTVersion, number: Int64
    ) throws {
        let presence = Presence(agent: "k1", boot: "B", topic: "state", clock: .system, after: 0) { $0 + 1 }
        let will = try JSONValue(parsing: presence.will(version).payload)
        #expect(will["mqtt"] == .int(number))
        #expect(will["why"] == "will")
    }
}
