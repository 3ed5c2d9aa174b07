import MQTTLink
import Synchronization
import TestSupport
import Testing

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct ReconnectTests {
    private static let persistent = [
        "allow_anonymous true", "persistence true", "persistence_location @dir/",
    ]

    @Test(arguments: [MQTTLinkConfiguration.ProtocolVersion.v5, .v311])
    func `a batch that is refused comes again on the next connection`(
        version: MQTTLinkConfiguration.ProtocolVersion
    ) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let isDiskFull = Atomic(true)
        let recorder = LinkRecorder(answer: { _ in
            isDiskFull.exchange(false, ordering: .relaxed) ? .refuse : .acknowledge
        })
        let configuration = try MQTTLinkConfiguration.test(broker, subscriptions: [Subscription("cmd")]) {
            $0.protocolVersion = version
        }
        try await withLink(configuration, recorder) { _, recorder in
            try await recorder.connected()
            try await withLink(try .test(broker, id: "sender")) { sender, sent in
                try await sent.connected()
                sender.publish([OutgoingMessage(1, "cmd", "run")])
                try await sent.settled(1)
            }
            let messages = try await recorder.received(2)
            #expect(messages.map(\.text) == ["run", "run"])
            #expect(recorder.reasons.map(\.cause) == [.batchRefused])
            // The message comes before the subscriptions are answered, and the connection counts after that.
            #expect(try await recorder.connected(times: 2).sessionPresent)
        }
    }

    @Test(arguments: [MQTTLinkConfiguration.ProtocolVersion.v5, .v311])
    func `what came while we were away is there at our return`(
        version: MQTTLinkConfiguration.ProtocolVersion
    ) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(broker, subscriptions: [Subscription("cmd")]) {
            $0.protocolVersion = version
        }
        try await withLink(configuration) { _, recorder in
            let connection = try await recorder.connected()
            #expect(!connection.sessionPresent)
        }
        try await withLink(try .test(broker, id: "sender")) { sender, sent in
            try await sent.connected()
            sender.publish((0..<50).map { OutgoingMessage($0, "cmd", "\($0)") })
            try await sent.settled(50)
        }
        try await withLink(configuration) { _, recorder in
            let messages = try await recorder.received(50)
            #expect(messages.map(\.text) == (0..<50).map { "\($0)" })
            #expect(recorder.connections.map(\.sessionPresent).contains(false) == false)
        }
    }

    @Test func `after a restart of the broker the link is back, subscribed, and works`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        try await withLink(try .test(broker, subscriptions: [Subscription("a")])) { link, recorder in
            try await recorder.connected()
            try await broker.stop()
            let reason = try await recorder.disconnected()
            #expect(reason.stage == .online)
            #expect(reason.cause == .closedByBroker)
            link.publish([OutgoingMessage(1, "a", "offline")])
            let lost = try await recorder.settled(1)
            #expect(lost == [PublishReceipt(token: 1, result: .lost)])
            try await broker.start()
            try await recorder.connectedAgain()
            link.publish([OutgoingMessage(2, "a", "online")])
            let messages = try await recorder.received(1)
            #expect(messages.map(\.text) == ["online"])
            // Away for the same reason is said once: the connection's end, and that there is no broker.
            #expect(recorder.reasons.count <= 3)
        }
    }

    @Test func `a broker that is killed and comes back with its store still knows the session`() async throws
    {
        let broker = try await TestBroker.start(
            Self.persistent + ["autosave_on_changes true", "autosave_interval 1"])
        defer { broker.end() }
        try await withLink(try .test(broker, subscriptions: [Subscription("a")])) { _, recorder in
            try await recorder.connected()
            try await broker.stop()
            try await broker.start()
            try await recorder.connectedAgain()
            #expect(recorder.connections.last?.sessionPresent == true)
            try await broker.kill()
            try await broker.start()
            try await recorder.connected(times: 3)
        }
    }

    @Test func `what was in flight when the broker died gets a receipt each, none twice`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        try await withLink(try .test(broker)) { link, recorder in
            try await recorder.connected()
            broker.pause()
            link.publish((0..<2_000).map { OutgoingMessage($0, "a", "\($0)") })
            try await broker.kill()
            let receipts = try await recorder.settled(2_000)
            #expect(receipts.map(\.token).sorted() == Array(0..<2_000))
            #expect(receipts.allSatisfy { $0.result == .lost })
            // In their order, so that they can be sent again in their order.
            #expect(receipts.map(\.token) == receipts.map(\.token).sorted())
        }
    }

    @Test func `a link that is half open is noticed by keepalive`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(broker) { $0.keepAlive = .seconds(5) }
        try await withLink(configuration) { _, recorder in
            try await recorder.connected()
            broker.pause()
            let reason = try await recorder.disconnected()
            #expect(reason.cause == .keepAlive)
            broker.resume()
            try await recorder.connectedAgain()
        }
    }

    @Test func `a quiet link lives on by its pings and sleeps in between`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(broker) {
            $0.keepAlive = .seconds(5)
            $0.tickInterval = .seconds(2)
        }
        try await withLink(configuration) { _, recorder in
            try await recorder.connected()
            let (before, start) = (recorder.ticks, ContinuousClock.now)
            try await broker.waitForLog(containing: "Sending PINGRESP to link", times: 2)
            // A ping each 2.5 s and a tick each 2 s: about 2 turns a second.
            let seconds = (ContinuousClock.now - start).components.seconds
            #expect(recorder.ticks - before < 20 + 2 * Int(seconds))
            #expect(recorder.reasons.isEmpty)
        }
    }

    @Test func `what does not fit into the queue gets a receipt that says so, and the rest is sent`()
        async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(broker) { $0.queueLimit = 100 }
        try await withLink(configuration) { link, recorder in
            try await recorder.connected()
            broker.pause()
            link.publish((0..<1_000).map { OutgoingMessage($0, "a", "x") })
            try await recorder.log.wait(for: "an overflow") { events in
                events.contains { $0.receipts.contains { $0.result == .rejected(.overflow) } }
            }
            broker.resume()
            let receipts = try await recorder.settled(1_000)
            #expect(Set(receipts.map(\.token)).count == 1_000)
            let refused = receipts.filter { $0.result == .rejected(.overflow) }.count
            let sent = receipts.filter { $0.result == .acknowledged }.count
            #expect(refused + sent == 1_000)
            #expect(sent >= 100)
        }
    }

    @Test func `a link without a broker stops at once`() async throws {
        let port = try FreePort.find()
        let recorder = LinkRecorder()
        let link = MQTTLink(configuration: try .test(url: "mqtt://127.0.0.1:\(port)"), delegate: recorder)
        link.publish([OutgoingMessage(1, "a", "early")])
        link.start()
        try await recorder.disconnected()
        await link.stop(after: [MQTTMessage("a", "bye")], within: .seconds(30))
        #expect(recorder.receipts == [PublishReceipt(token: 1, result: .lost)])
        await link.stop()
    }

    @Test func `stopping a frozen broker's link ends at the limit`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let recorder = LinkRecorder()
        let link = MQTTLink(configuration: try .test(broker), delegate: recorder)
        link.start()
        try await recorder.connected()
        broker.pause()
        link.publish([OutgoingMessage(1, "a", "x")])
        await link.stop(after: [MQTTMessage("a", "bye")], within: .milliseconds(200))
        #expect(recorder.receipts == [PublishReceipt(token: 1, result: .lost)])
    }

    @Test func `a socket in the file system works like a port`() async throws {
        let broker = try await TestBroker.start(["listener 0 @dir/socket", "allow_anonymous true"])
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(
            url: "unix://\(broker.directory)/socket", subscriptions: [Subscription("a")])
        try await withLink(configuration) { link, recorder in
            try await recorder.connected()
            link.publish([OutgoingMessage(1, "a", "x")])
            try await recorder.received(1)
        }
    }

    @Test func `a host name with several addresses finds the one that listens`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        try await withLink(try .test(url: "mqtt://localhost:\(broker.port)")) { _, recorder in
            try await recorder.connected()
        }
    }

    @Test func `a subscription made later is made again on each connect`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        try await withLink(try .test(broker)) { link, recorder in
            try await recorder.connected()
            let answers = try await link.subscribe([Subscription("late")])
            #expect(answers?.map(\.isGranted) == [true])
            try await broker.restart()
            try await recorder.connectedAgain()
            #expect(recorder.connections.last?.subscriptions.map(\.subscription.filter) == ["late"])
            link.publish([OutgoingMessage(1, "late", "x")])
            try await recorder.received(1)
        }
    }
}
