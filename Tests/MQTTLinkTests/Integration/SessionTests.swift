import MQTTLink
import TestSupport
import Testing

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct SessionTests {
    @Test func `a session subscribes, publishes, listens and leaves`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let session = try await MQTTSession.connect(
            .oneShot(brokers: [try BrokerURL(broker.url)], clientID: "ops"), within: .seconds(30))
        let answers = try await session.subscribe([Subscription("x/#"), Subscription("y", qos: .atMostOnce)])
        #expect(answers.map(\.isGranted) == [true, true])
        #expect(try await session.publish(MQTTMessage("x/1", "hello")) == .acknowledged)
        var iterator = session.messages.makeAsyncIterator()
        #expect(await iterator.next()?.text == "hello")
        await session.disconnect()
        #expect(await iterator.next() == nil)
        #expect(session.droppedMessages == 0)
        await #expect(throws: MQTTSessionError.closed) {
            try await session.publish(MQTTMessage("x/1", "late"))
        }
    }

    @Test func `without a broker it throws at once, with a sentence`() async throws {
        let port = try FreePort.find()
        let url = try BrokerURL("mqtt://127.0.0.1:\(port)")
        let error = try await #require(throws: MQTTSessionError.self) {
            _ = try await MQTTSession.connect(.oneShot(brokers: [url], clientID: "ops"), within: .seconds(30))
        }
        guard case .notConnected(let reason) = error, case .network = reason.cause else {
            Issue.record("\(error)")
            return
        }
        #expect(reason.description.contains("mqtt://127.0.0.1:\(port)"))
        #expect(reason.description.contains("Connection refused"))
    }

    @Test func `a reader that does not read costs a bounded buffer, and the drops are counted exactly`()
        async throws
    {
        let broker = try await TestBroker.start(["allow_anonymous true", "max_queued_messages 0"])
        defer { broker.end() }
        var configuration = MQTTLinkConfiguration.oneShot(
            brokers: [try BrokerURL(broker.url)], clientID: "slow")
        configuration.subscriptions = [Subscription("flood")]
        let session = try await MQTTSession.connect(configuration, within: .seconds(30), messageLimit: 10)
        for number in 0..<100 {
            _ = try await session.publish(MQTTMessage("flood", "\(number)"))
        }
        // Behind all of them on the same connection: when its answer is here, they are.
        _ = try await session.subscribe([Subscription("end")])
        await session.disconnect(within: .seconds(10))
        var texts: [String] = []
        for await message in session.messages { texts.append(message.text) }
        #expect(texts.count == 10)
        #expect(texts.last == "99")
        #expect(session.droppedMessages == 90)
    }

    @Test func `a message that is too large is not read, and the session counts it`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        // A broker with MQTT 5 would keep it back.
        var configuration = MQTTLinkConfiguration.oneShot(
            brokers: [try BrokerURL(broker.url)], clientID: "small")
        configuration.protocolVersion = .v311
        configuration.maximumPacketSize = 1_024
        configuration.subscriptions = [Subscription("x")]
        let session = try await MQTTSession.connect(configuration, within: .seconds(30))
        let large = MQTTMessage(topic: "x", payload: [UInt8](repeating: 0, count: 1 << 20), qos: .atLeastOnce)
        let writer = try await MQTTSession.connect(
            .oneShot(brokers: [try BrokerURL(broker.url)], clientID: "writer"), within: .seconds(30))
        for message in [large, large, MQTTMessage("x", "small")] {
            #expect(try await writer.publish(message) == .acknowledged)
        }
        var iterator = session.messages.makeAsyncIterator()
        #expect(await iterator.next()?.text == "small")
        #expect(session.skippedMessages == 2)
        await session.disconnect()
        await writer.disconnect()
    }

    @Test func `a broker that says nothing costs no more than the time given`() async throws {
        let broker = try FakeBroker { try $0.readToEnd() }
        defer { broker.end() }
        let url = try BrokerURL(broker.url)
        let error = try await #require(throws: MQTTSessionError.self) {
            _ = try await MQTTSession.connect(
                .oneShot(brokers: [url], clientID: "ops"), within: .milliseconds(300))
        }
        // The attempt's deadline and the session's are the same; either may be first.
        switch error {
        case .deadline(_, let found): #expect(found == url)
        case .notConnected(let reason): #expect(reason.cause == .timedOut)
        default: Issue.record("\(error)")
        }
    }

    @Test func `when the broker goes the messages end, and the reason is there`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let session = try await MQTTSession.connect(
            .oneShot(brokers: [try BrokerURL(broker.url)], clientID: "ops"), within: .seconds(30))
        #expect(session.endReason == nil)
        try await broker.stop()
        for await _ in session.messages { Issue.record("a message from nowhere") }
        let reason = try #require(session.endReason)
        #expect(reason.stage == .online)
        #expect(reason.retryIn == nil)
        await #expect(throws: MQTTSessionError.ended(reason)) {
            try await session.publish(MQTTMessage("a", "x"))
        }
        await session.disconnect()
    }

    @Test func `many sessions at once each have their own messages`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let url = try BrokerURL(broker.url)
        try await withThrowingTaskGroup(of: String?.self) { group in
            for number in 0..<20 {
                group.addTask {
                    let session = try await MQTTSession.connect(
                        .oneShot(brokers: [url], clientID: "ops-\(number)"), within: .seconds(30))
                    _ = try await session.subscribe([Subscription("to/\(number)")])
                    _ = try await session.publish(MQTTMessage("to/\(number)", "\(number)"))
                    var iterator = session.messages.makeAsyncIterator()
                    let text = await iterator.next()?.text
                    await session.disconnect()
                    return text
                }
            }
            var texts: Set<String> = []
            for try await text in group { if let text { texts.insert(text) } }
            #expect(texts.count == 20)
        }
    }
}
