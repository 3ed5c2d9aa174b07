import MQTTLink
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(60)))
struct SigningInTests {
    @Test(arguments: [UInt8(0x88), 0x89, 0x87])
    func `a refusal is reported with its name, and it is tried again`(code: UInt8) async throws {
        let broker = try FakeBroker { connection in
            let connect = try connection.readPacket()
            try connection.connack(connection.number == 1 ? code : 0, connect.version)
            if connection.number > 1 { try connection.behave(version: connect.version) }
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url)) { _, recorder in
            let reason = try await recorder.disconnected()
            #expect(reason.cause == .refused(ReasonCode(rawValue: code), detail: nil))
            #expect(reason.stage == .handshaking)
            #expect(reason.retryIn != nil)
            #expect(reason.description.contains(ReasonCode(rawValue: code).name))
            try await recorder.connected()
        }
    }

    @Test func `a refused version falls back at once, and is remembered`() async throws {
        let broker = try FakeBroker { connection in
            let connect = try connection.readPacket()
            guard connect.version == 4 else {
                // As a 3.1.1 broker says it, with no properties.
                return try connection.send(type: 2, [0, 1])
            }
            try connection.connack(0, 4)
            if connection.number == 2 {
                _ = try connection.readPacket()
            } else {
                try connection.behave(version: 4)
            }
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url)) { link, recorder in
            let connection = try await recorder.connected()
            #expect(connection.version == .v311)
            #expect(connection.fellBack)
            #expect(recorder.reasons.isEmpty)
            // The fake drops the second connection at a message; the third must not ask for 5 again.
            link.publish([OutgoingMessage(1, "a", "go")])
            try await recorder.connected(times: 2)
            #expect((1...3).map { broker.packets(on: $0).first?.version } == [5, 4, 4])
        }
    }

    @Test func `a broker that closes on version 5 without a word is tried with 3-1-1`() async throws {
        let broker = try FakeBroker { connection in
            let connect = try connection.readPacket()
            guard connect.version == 4 else { return }
            try connection.connack(0, 4)
            try connection.behave(version: 4)
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url)) { _, recorder in
            let found = try await recorder.connected().version
            #expect(found == .v311)
            // Not even a question whether the port expects TLS: it has answered.
            #expect(recorder.reasons.isEmpty)
        }
    }

    @Test func `a forced version does not fall back`() async throws {
        let broker = try FakeBroker { connection in
            let connect = try connection.readPacket()
            try connection.connack(0x84, connect.version)
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url) { $0.protocolVersion = .v5 }) { _, recorder in
            let reason = try await recorder.disconnected()
            #expect(reason.cause == .refused(.unsupportedProtocolVersion, detail: nil))
            #expect(reason.version == .v5)
        }
    }

    @Test func `one that accepts TCP and says nothing is given up at the deadline`() async throws {
        let broker = try FakeBroker { connection in
            if connection.number == 1 { try connection.readToEnd() }
            try connection.behave(version: try connection.accept())
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url) { $0.connectTimeout = .seconds(3) }) {
            _, recorder in
            let reason = try await recorder.disconnected()
            #expect(reason.cause == .timedOut)
            #expect(reason.stage == .handshaking)
            try await recorder.connectedAgain()
        }
    }

    @Test func `brokers are tried in turn until one accepts`() async throws {
        let dead = try FreePort.find()
        let broker = try FakeBroker { try $0.behave(version: try $0.accept()) }
        defer { broker.end() }
        var configuration = try MQTTLinkConfiguration.test(url: "mqtt://127.0.0.1:\(dead)")
        configuration.brokers.append(try BrokerURL(broker.url))
        try await withLink(configuration) { _, recorder in
            let connection = try await recorder.connected()
            #expect(connection.broker.port == broker.port)
            #expect(recorder.reasons.map(\.broker.port) == [dead])
        }
    }

    @Test func `a refused, a granted and a lowered subscription are reported as such`() async throws {
        let broker = try FakeBroker { connection in
            let version = try connection.accept()
            for code in [UInt8(0x80), 1, 0, 2] { try connection.suback(code, version: version) }
            try connection.behave(version: version)
        }
        defer { broker.end() }
        let filters = ["no", "yes", "low", "two", "bad/#/x"].map { Subscription($0) }
        try await withLink(try .test(url: broker.url, subscriptions: filters)) { _, recorder in
            let answers = try await recorder.connected().subscriptions.map(\.answer)
            #expect(
                answers == [
                    .refused(ReasonCode(rawValue: 0x80)), .granted, .lowered(to: .atMostOnce),
                    .refused(ReasonCode(rawValue: 2)),
                    .invalid(TopicError(topic: "bad/#/x", reason: .misplacedWildcard)),
                ])
        }
    }

    @Test func `a subscription that is never answered ends the attempt`() async throws {
        let broker = try FakeBroker { connection in
            let version = try connection.accept()
            if connection.number == 1 { try connection.readToEnd() }
            try connection.behave(version: version)
        }
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(
            url: broker.url, subscriptions: [Subscription("a")]
        ) {
            $0.subscribeTimeout = .milliseconds(300)
        }
        try await withLink(configuration) { _, recorder in
            let reason = try await recorder.disconnected()
            #expect(reason.cause == .timedOut)
            #expect(reason.stage == .subscribing)
        }
    }

    @Test func `what is no broker is said to be none`() async throws {
        let broker = try FakeBroker { connection in
            try connection.write(Array("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n".utf8))
            try connection.readToEnd()
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url) { $0.protocolVersion = .v5 }) { _, recorder in
            guard case .protocolViolation = try await recorder.disconnected().cause else {
                Issue.record("\(recorder.reasons)")
                return
            }
        }
    }

    @Test func `a name without an address is reported as one`() async throws {
        try await withLink(try .test(url: "mqtt://no-such-host.invalid")) { _, recorder in
            let reason = try await recorder.disconnected()
            #expect(reason.stage == .resolving)
            guard case .unknownHost = reason.cause else {
                Issue.record("\(reason)")
                return
            }
        }
    }
}
