import MQTTLink
import TestSupport
import Testing

@Suite(.aFewAtATime, .timeLimit(.minutes(20)))
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
