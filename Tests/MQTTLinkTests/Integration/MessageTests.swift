import MQTTLink
import TestSupport
import Testing

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct MessageTests {
    private static let properties = MQTTProperties(
        responseTopic: "reply/ops", correlationData: [0, 1, 255], messageExpiry: 600,
        contentType: "application/json", payloadIsUTF8: true,
        user: [
            MQTTProperties.User("traceparent", "00-ab-cd-01"), MQTTProperties.User("twice", "ä"),
            MQTTProperties.User("twice", "ö"),
        ])

    @Test func `version 5 properties arrive as they were sent`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(broker, subscriptions: [Subscription("p/#")])
        try await withLink(configuration) { link, recorder in
            try await recorder.connected()
            var message = MQTTMessage("p/1", "{}")
            message.properties = Self.properties
            var bare = MQTTMessage("p/2", "{}")
            bare.properties.correlationData = []
            var long = MQTTMessage("p/3", "{}")
            long.properties.correlationData = Array(repeating: 7, count: 65_535)
            link.publish([
                OutgoingMessage(token: 1, message: message), OutgoingMessage(token: 2, message: bare),
                OutgoingMessage(token: 3, message: long),
            ])
            let messages = try await recorder.received(3)
            #expect(messages[0].properties.responseTopic == "reply/ops")
            #expect(messages[0].properties.correlationData == [0, 1, 255])
            #expect((590...600).contains(messages[0].properties.messageExpiry ?? 0))
            #expect(messages[0].properties.contentType == "application/json")
            #expect(messages[0].properties.payloadIsUTF8)
            // User properties are not read.
            #expect(messages[0].properties.user.isEmpty)
            #expect(messages[1].properties.correlationData == [])
            // One byte more than an agent returns: enough to see that it is too long.
            #expect(messages[2].properties.correlationData?.count == 257)
        }
    }

    @Test func `on 3-1-1 the properties stay at home and the message arrives`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(broker, subscriptions: [Subscription("p")]) {
            $0.protocolVersion = .v311
        }
        try await withLink(configuration) { link, recorder in
            try await recorder.connected()
            var message = MQTTMessage("p", "{}")
            message.properties = Self.properties
            link.publish([OutgoingMessage(token: 1, message: message)])
            let messages = try await recorder.received(1)
            #expect(messages[0].properties.isEmpty)
        }
    }

    @Test func `a kept message says so, and an empty payload is an empty payload`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        try await withLink(try .test(broker, id: "first")) { link, recorder in
            try await recorder.connected()
            link.publish([OutgoingMessage(1, "kept", "here", retain: true), OutgoingMessage(2, "empty", "")])
            try await recorder.settled(2)
        }
        let subscriptions = [Subscription("kept"), Subscription("empty")]
        try await withLink(try .test(broker, id: "second", subscriptions: subscriptions)) { link, recorder in
            try await recorder.connected()
            let kept = try await recorder.received(1)
            #expect(kept.map(\.retain) == [true])
            link.publish([OutgoingMessage(3, "empty", "")])
            let messages = try await recorder.received(2)
            #expect(messages[1].payload.isEmpty)
            #expect(!messages[1].retain)
        }
    }

    @Test func `own messages stay away where that was asked for`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let subscriptions = [Subscription("mine", noLocal: true), Subscription("all")]
        try await withLink(try .test(broker, subscriptions: subscriptions)) { link, recorder in
            try await recorder.connected()
            link.publish([OutgoingMessage(1, "mine", "1"), OutgoingMessage(2, "all", "2")])
            let messages = try await recorder.received(1)
            #expect(messages.map(\.topic) == ["all"])
        }
    }

    @Test func `a bad topic or property is a receipt, and the others go their way`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        try await withLink(try .test(broker)) { link, recorder in
            try await recorder.connected()
            var cut = MQTTMessage("fine", "x")
            cut.properties.contentType = "text\u{0}plain"
            var long = MQTTMessage("fine", "x")
            long.properties.correlationData = Array(repeating: 1, count: 70_000)
            link.publish([
                OutgoingMessage(1, "a/+", "x"), OutgoingMessage(2, "a\u{0}b", "x"),
                OutgoingMessage(3, "", "x"),
                OutgoingMessage(token: 4, message: cut), OutgoingMessage(token: 5, message: long),
                OutgoingMessage(6, "fine", "x"),
            ])
            let receipts = try await recorder.settled(6).sorted { $0.token < $1.token }.map(\.result)
            #expect(receipts[0] == .rejected(.topic(TopicError(topic: "a/+", reason: .wildcardInTopic))))
            #expect(receipts[1] == .rejected(.topic(TopicError(topic: "a\u{0}b", reason: .containsNUL))))
            #expect(receipts[2] == .rejected(.topic(TopicError(topic: "", reason: .empty))))
            guard case .rejected(.library) = receipts[3] else {
                Issue.record("\(receipts[3])")
                return
            }
            #expect(receipts[4] == .rejected(.tooLarge))
            #expect(receipts[5] == .acknowledged)
        }
    }

    @Test func `a message larger than the broker takes is rejected before it is sent`() async throws {
        let broker = try await TestBroker.start(["allow_anonymous true", "max_packet_size 2000"])
        defer { broker.end() }
        try await withLink(try .test(broker)) { link, recorder in
            let connection = try await recorder.connected()
            #expect(connection.maximumPacketSize == 2_000)
            link.publish([OutgoingMessage(1, "a", String(repeating: "x", count: 3_000))])
            let receipts = try await recorder.settled(1)
            #expect(receipts == [PublishReceipt(token: 1, result: .rejected(.tooLarge))])
            #expect(recorder.reasons.isEmpty)
        }
    }

    /// The limit of the link, and what the broker says in its CONNACK.
    @Test(arguments: [(2, nil), (9, 2), (2, 9)] as [(Int, UInt8?)])
    func `no more messages are under way than the limit and the broker allow`(
        limit: Int, receiveMaximum: UInt8?
    ) async throws {
        // It reads, and acknowledges nothing that is published.
        let broker = try FakeBroker { connection in
            _ = try connection.accept(properties: receiveMaximum.map { [0x21, 0, $0] } ?? [])
            try connection.readToEnd()
        }
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(url: broker.url) {
            $0.protocolVersion = .v5
            $0.inFlightLimit = limit
        }
        try await withLink(configuration) { link, recorder in
            try await recorder.connected()
            link.publish((1...5).map { OutgoingMessage($0, "n", "\($0)") })
            try await eventually("two messages", progress: { broker.log.events.count }) {
                broker.packets(on: 1).count { $0.type == 3 } >= 2
            }
            // Turns of the loop in which a third one could leave.
            let ticks = recorder.ticks
            link.publish([OutgoingMessage(6, "n", "6")])
            try await eventually("some turns of the loop") { recorder.ticks > ticks + 2 }
            await link.stop(within: .zero)
        }
        try await broker.waitForEnd(of: 1)
        #expect(broker.packets(on: 1).count { $0.type == 3 } == 2)
    }

    @Test(arguments: [MQTTLinkConfiguration.ProtocolVersion.v5, .v311])
    func `5 000 messages keep their order, and each gets one receipt`(
        version: MQTTLinkConfiguration.ProtocolVersion
    ) async throws {
        let broker = try await TestBroker.start(["allow_anonymous true", "max_inflight_messages 1000"])
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(broker, subscriptions: [Subscription("n")]) {
            $0.protocolVersion = version
            $0.inFlightLimit = 1_000
        }
        try await withLink(configuration) { link, recorder in
            let connection = try await recorder.connected()
            if version == .v5 { #expect(connection.receiveMaximum == 1_000) }
            link.publish((0..<5_000).map { OutgoingMessage($0, "n", "\($0)") })
            let messages = try await recorder.received(5_000)
            #expect(messages.map(\.text) == (0..<5_000).map { "\($0)" })
            let receipts = try await recorder.settled(5_000)
            #expect(receipts.map(\.token).sorted() == Array(0..<5_000))
            #expect(receipts.allSatisfy { $0.result == .acknowledged })
        }
    }
}
