import TestSupport
import Testing

@testable import MQTTLink

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct WillTests {
    private func recorder(_ text: String) -> LinkRecorder {
        LinkRecorder(will: { _ in MQTTMessage("state", text, retain: true) })
    }

    @Test(arguments: [MQTTLinkConfiguration.ProtocolVersion.v5, .v311])
    func `the will is sent when the link is let go of without a word`(
        version: MQTTLinkConfiguration.ProtocolVersion
    ) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        try await withLink(try .test(broker, id: "watcher", subscriptions: [Subscription("state")])) {
            _, watcher in
            try await watcher.connected()
            let recorder = recorder("gone")
            var link: MQTTLink? = MQTTLink(
                configuration: try .test(broker, id: "dying") {
                    $0.protocolVersion = version
                    $0.willDelay = 0
                }, delegate: recorder)
            link?.start()
            try await recorder.connected()
            #expect(watcher.messages.isEmpty)
            link = nil
            let messages = try await watcher.received(1)
            #expect(messages.map(\.text) == ["gone"])
        }
    }

    @Test func `a goodbye is acknowledged before the link ends, and the will is not sent`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let watched = [Subscription("state"), Subscription("end")]
        try await withLink(try .test(broker, id: "watcher", subscriptions: watched)) { _, watcher in
            try await watcher.connected()
            let recorder = recorder("gone")
            let link = MQTTLink(
                configuration: try .test(broker, id: "leaving") { $0.willDelay = 0 }, delegate: recorder)
            link.start()
            try await recorder.connected()
            link.publish([OutgoingMessage(1, "state", "working")])
            await link.stop(after: [MQTTMessage("state", "bye", retain: true)], within: .seconds(30))
            #expect(recorder.receipts == [PublishReceipt(token: 1, result: .acknowledged)])
            #expect(recorder.reasons.isEmpty)
            try await broker.waitForLog(containing: "Received DISCONNECT from leaving")
            // The will would be in front of this one.
            try await withLink(try .test(broker, id: "last")) { link, last in
                try await last.connected()
                link.publish([OutgoingMessage(1, "end", "end")])
                try await last.settled(1)
            }
            let messages = try await watcher.received(3)
            #expect(messages.map(\.text) == ["working", "bye", "end"])
        }
    }

    /// What RabbitMQ 4 says of itself: maximum QoS 1, sixteen topic aliases, packets of 16 MiB, no shared subscriptions,
    /// and for how long it keeps the session.
    private static let rabbitMQ4: [UInt8] = [
        0x24, 1, 0x22, 0, 16, 0x27, 1, 0, 0, 0, 0x2A, 0, 0x11, 0, 1, 0x51, 0x80,
    ]

    /// The seconds of the will's delay in a CONNECT of MQTT 5; nil when it has none.
    private func willDelay(_ broker: FakeBroker, _ connection: Int) throws -> Int? {
        let body = try #require(broker.packets(on: connection).first).body
        // 10 bytes of the fixed part, the properties, the client id, and then the will's properties.
        var place = 10 + 1 + Int(body[10])
        place += 2 + (Int(body[place]) << 8 | Int(body[place + 1]))
        let properties = Array(body[(place + 1)...].prefix(Int(body[place])))
        guard let found = properties.firstIndex(of: 0x18) else { return nil }
        return properties[(found + 1)...].prefix(4).reduce(0) { $0 << 8 | Int($1) }
    }

    @Test func `a broker that does not keep a delayed will gets one without, after one more round`()
        async throws
    {
        let broker = try FakeBroker { connection in
            try connection.accept(properties: Self.rabbitMQ4)
            try connection.behave(version: 5)
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url) { $0.willDelay = 7 }, recorder("gone")) { _, recorder in
            let connection = try await recorder.connected()
            #expect(connection.features.forgetsDelayedRetainedWills)
            #expect(recorder.reasons.isEmpty)
            #expect(try willDelay(broker, 1) == 7)
            #expect(try willDelay(broker, 2) ?? 0 == 0)
            #expect(broker.packets(on: 3).isEmpty)
        }
    }

    @Test(arguments: [false, true])
    func `without a retained will, or at another broker, there is one round`(isRabbitMQ: Bool) async throws {
        let broker = try FakeBroker { connection in
            // mosquitto: ten topic aliases, twenty messages in flight.
            try connection.accept(properties: isRabbitMQ ? Self.rabbitMQ4 : [0x22, 0, 10, 0x21, 0, 20])
            try connection.behave(version: 5)
        }
        defer { broker.end() }
        let will = MQTTMessage("state", "gone", retain: !isRabbitMQ)
        try await withLink(try .test(url: broker.url), LinkRecorder(will: { _ in will })) { _, recorder in
            let connection = try await recorder.connected()
            #expect(connection.features.forgetsDelayedRetainedWills == isRabbitMQ)
            #expect(try willDelay(broker, 1) == 5)
            #expect(broker.packets(on: 2).isEmpty)
        }
    }

    @Test func `each connection has the will that was asked for before it`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let epochs = EventLog<Int>()
        let recorder = LinkRecorder(will: { _ in
            epochs.append(epochs.events.count + 1)
            return MQTTMessage("state", "epoch \(epochs.events.count)")
        })
        try await withLink(try .test(broker, id: "watcher", subscriptions: [Subscription("state")])) {
            _, watcher in
            try await watcher.connected()
            var link: MQTTLink? = MQTTLink(
                configuration: try .test(broker, id: "epochs") { $0.willDelay = 0 }, delegate: recorder)
            link?.start()
            try await recorder.connected()
            try await broker.restart()
            try await recorder.connectedAgain()
            try await watcher.connectedAgain()
            link = nil
            // A broker that is stopped may have sent the first one.
            let last = epochs.events.count
            #expect(last > 1)
            try await watcher.log.wait(for: "the will of epoch \(last)") { events in
                events.contains { $0.messages.contains { $0.text == "epoch \(last)" } }
            }
        }
    }
}
