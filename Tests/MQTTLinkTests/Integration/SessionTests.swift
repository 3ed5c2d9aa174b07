import MQTTLink
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
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
}
