import MQTTLink
import TestSupport
import Testing

/// A stop ends in its time, wherever a broker has left the link waiting.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct StopTests {
    enum Wait: String, Sendable, CaseIterable {
        case tcp, tls, connack, suback, puback, nextTry
    }

    @Test(arguments: Wait.allCases)
    func `a stop ends in its time in every state`(wait: Wait) async throws {
        let broker = try FakeBroker(isClosed: wait == .tcp) { connection in
            switch wait {
            case .tcp, .tls: while true { try connection.readAnything() }
            case .nextTry: return
            case .connack: try connection.readToEnd()
            case .suback:
                try connection.accept()
                try connection.readToEnd()
            case .puback:
                let version = try connection.accept()
                try connection.suback(1, version: version)
                try connection.readToEnd()
            }
        }
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(
            url: wait == .tls ? broker.secureURL : broker.url, subscriptions: [Subscription("a")]
        ) {
            $0.protocolVersion = .v5
            $0.connectTimeout = .seconds(600)
            $0.subscribeTimeout = .seconds(600)
            // So that it certainly waits when it is stopped.
            $0.reconnect.first = .seconds(600)
            $0.reconnect.longest = .seconds(600)
        }
        let recorder = LinkRecorder()
        let link = MQTTLink(configuration: configuration, delegate: recorder)
        link.start()
        switch wait {
        case .tcp: try await PendingConnect.wait(for: broker.port)
        case .tls:
            try await broker.log.wait(for: "a connection") {
                $0.contains { if case .accepted = $0 { true } else { false } }
            }
        case .connack: try await Self.wait(for: 1, at: broker)
        case .suback: try await Self.wait(for: 8, at: broker)
        case .puback:
            try await recorder.connected()
            link.publish([OutgoingMessage(1, "a", "x")])
            try await Self.wait(for: 3, at: broker)
        case .nextTry: try await recorder.disconnected()
        }
        let began = ContinuousClock.now
        await link.stop(after: [MQTTMessage("goodbye", "x")], within: .seconds(1))
        #expect(ContinuousClock.now - began < .seconds(60))
    }

    private static func wait(for type: UInt8, at broker: FakeBroker) async throws {
        try await broker.log.wait(for: "a packet of type \(type)") { events in
            events.contains { if case .packet(_, let packet) = $0 { packet.type == type } else { false } }
        }
    }
}
