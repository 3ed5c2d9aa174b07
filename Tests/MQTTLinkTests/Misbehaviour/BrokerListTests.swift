import Glibc
import MQTTLink
import TestSupport
import Testing

/// Lists of brokers of which some do not do what they should.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct BrokerListTests {
    private func configuration(
        _ urls: [String], subscriptions: [Subscription] = [Subscription("a")],
        _ change: (inout MQTTLinkConfiguration) -> Void = { _ in }
    ) throws -> MQTTLinkConfiguration {
        var configuration = try MQTTLinkConfiguration.test(
            url: "mqtt://127.0.0.1:1", subscriptions: subscriptions, change)
        configuration.brokers = try urls.map { try BrokerURL($0) }
        return configuration
    }

    @Test func `a broker that closes at SUBSCRIBE is left for the next one, and is no conflict`() async throws
    {
        let bad = try FakeBroker { connection in
            try connection.accept(sessionPresent: true)
            _ = try connection.readPacket()
        }
        defer { bad.end() }
        let good = try await TestBroker.start()
        defer { good.end() }
        try await withLink(try configuration([bad.url, good.url])) { _, recorder async throws in
            #expect(try await recorder.connected().broker.port == good.port)
            #expect(recorder.reasons.map(\.cause) == [.closedByBroker])
            #expect(recorder.reasons.map(\.stage) == [.subscribing])
        }
        // Alone it is tried again and again, and reported once.
        try await withLink(try configuration([bad.url])) { _, recorder async throws in
            try await bad.waitForEnd(of: 12)
            #expect(recorder.reasons.map(\.cause) == [.closedByBroker])
            #expect(recorder.connections.isEmpty)
        }
    }

    @Test func `a broker that first sends what it kept, for longer than an answer may take, is stayed with`()
        async throws
    {
        let slow = try FakeBroker { connection in
            let version = try connection.accept(sessionPresent: true)
            // Each message before the answer, and three times as long as the answer may take.
            for id in 1...9 {
                try connection.write(FakeConnection.publish("a", [1], id: UInt16(id), version: version))
                sleep(1)
            }
            try connection.behave(version: version)
        }
        defer { slow.end() }
        let configuration = try configuration([slow.url]) { $0.subscribeTimeout = .seconds(3) }
        try await withLink(configuration) { _, recorder async throws in
            _ = try await recorder.connected()
            #expect(recorder.reasons.isEmpty)
        }
    }

    @Test func `a frozen broker is left for the next one after a keepalive without an answer`() async throws {
        let frozen = try await TestBroker.start()
        defer { frozen.end() }
        let good = try await TestBroker.start()
        defer { good.end() }
        let configuration = try configuration([frozen.url, good.url]) { $0.keepAlive = .seconds(5) }
        try await withLink(configuration) { _, recorder async throws in
            #expect(try await recorder.connected().broker.port == frozen.port)
            frozen.pause()
            // After which time, that is shown of `KeepAliveClock`.
            #expect(try await recorder.disconnected().cause == .keepAlive)
            #expect(try await recorder.connected(times: 2).broker.port == good.port)
        }
    }

    @Test func `a frozen broker that is first in the list does not hold the link`() async throws {
        let frozen = try await TestBroker.start()
        defer { frozen.end() }
        frozen.pause()
        let good = try await TestBroker.start()
        defer { good.end() }
        let configuration = try configuration([frozen.url, good.url]) { $0.connectTimeout = .seconds(1) }
        try await withLink(configuration) { _, recorder async throws in
            #expect(try await recorder.connected().broker.port == good.port)
            #expect(recorder.reasons.map(\.cause) == [.timedOut])
        }
    }

    @Test
    func `the preferred broker is gone back to once it is there again, and the other one meanwhile serves`()
        async throws
    {
        let first = try await TestBroker.start()
        defer { first.end() }
        let second = try await TestBroker.start()
        defer { second.end() }
        let configuration = try configuration([first.url, second.url]) {
            $0.prefersFirstBroker = true
            $0.returnAfter = .milliseconds(200)
        }
        try await withLink(configuration) { link, recorder async throws in
            #expect(try await recorder.connected().broker.port == first.port)
            try await first.stop()
            #expect(try await recorder.connected(times: 2).broker.port == second.port)
            // It looks for the first one, and does not leave for nothing.
            link.publish([OutgoingMessage(1, "a", "x")])
            try await recorder.received(1)
            try await first.start()
            #expect(try await recorder.connected(times: 3).broker.port == first.port)
            #expect(recorder.reasons.last?.cause == .returning)
            #expect(recorder.reasons.last?.stage == .online)
        }
    }

    @Test func `a preferred broker that accepts and does not answer costs one attempt, and the other serves`()
        async throws
    {
        // The first connection is refused; those after it are accepted and never answered.
        let first = try FakeBroker { connection in
            if connection.number == 1 { return }
            try connection.readToEnd()
        }
        defer { first.end() }
        let second = try await TestBroker.start()
        defer { second.end() }
        let configuration = try configuration([first.url, second.url]) {
            $0.protocolVersion = .v5
            $0.prefersFirstBroker = true
            $0.returnAfter = .milliseconds(500)
            $0.connectTimeout = .seconds(1)
        }
        try await withLink(configuration) { _, recorder async throws in
            #expect(try await recorder.connected().broker.port == second.port)
            #expect(try await recorder.connected(times: 2).broker.port == second.port)
            // On a busy machine it may have tried again by now.
            let causes = recorder.reasons.map(\.cause)
            #expect(causes.prefix(3) == [.closedByBroker, .returning, .timedOut])
        }
    }

    @Test(arguments: [UInt8(0x97), 0x9C, 0x9D])
    func `a broker that says to stay away is left alone for minutes, and the next one is tried at once`(
        code: UInt8
    ) async throws {
        let full = try FakeBroker { connection in
            let connect = try connection.readPacket()
            try connection.connack(code, connect.version)
        }
        defer { full.end() }
        let good = try await TestBroker.start()
        defer { good.end() }
        try await withLink(try configuration([full.url, good.url])) { _, recorder async throws in
            #expect(try await recorder.connected().broker.port == good.port)
            #expect(recorder.reasons.map(\.cause) == [.refused(ReasonCode(rawValue: code), detail: nil)])
            try await good.restart()
            // Whatever happens to the good one: the other is not asked again.
            #expect(try await recorder.connected(times: 2).broker.port == good.port)
            #expect(full.log.events.count { if case .accepted = $0 { true } else { false } } == 1)
        }
        try await withLink(try configuration([full.url])) { _, recorder async throws in
            let reason = try await recorder.disconnected()
            #expect(try #require(reason.retryIn) >= .seconds(120))
        }
    }

    @Test(arguments: [UInt8(0x87), 0x80])
    func `a refused subscription is tried again on the same connection until it is granted`(code: UInt8)
        async throws
    {
        let broker = try FakeBroker { connection in
            let version = try connection.accept()
            for answer in [code, 1, code, 1] { try connection.suback(answer, version: version) }
            try connection.behave(version: version)
        }
        defer { broker.end() }
        let configuration = try configuration(
            [broker.url], subscriptions: [Subscription("late"), Subscription("yes")]
        ) {
            $0.resubscribe = (.milliseconds(20), .milliseconds(50))
        }
        try await withLink(configuration) { _, recorder async throws in
            let connection = try await recorder.connected()
            #expect(connection.subscriptions.map(\.isGranted) == [false, true])
            let later = try await recorder.log.first("a granted subscription") { event in
                if case .subscribed(let connection) = event { connection } else { nil }
            }
            #expect(later.subscriptions.map(\.isGranted) == [true, true])
            #expect(recorder.reasons.isEmpty)
            // The granted one is not asked for again.
            let subscribes = broker.packets(on: 1).filter { $0.type == 8 }
            #expect(subscribes.count == 4)
        }
    }

    @Test func `what is wanted while the subscriptions of a connection are open holds on that connection`()
        async throws
    {
        let broker = try FakeBroker { connection in
            let version = try connection.accept(sessionPresent: true)
            let first = try connection.readPacket()
            try connection.suback(1, version: version)
            let last = try connection.readPacket()
            #expect(last.type == 10)
            try connection.send(type: 9, Array(first.body[0..<2]) + (version == 5 ? [0] : []) + [1])
            try connection.behave(version: version)
        }
        defer { broker.end() }
        let configuration = try configuration([broker.url], subscriptions: [Subscription("early")])
        try await withLink(configuration) { link, recorder async throws in
            try await broker.log.wait(for: "the first SUBSCRIBE") {
                $0.contains { if case .packet(1, let packet) = $0 { packet.type == 8 } else { false } }
            }
            let answers = try await link.subscribe([Subscription("late")])
            #expect(answers?.map(\.isGranted) == [true])
            #expect(recorder.connections.isEmpty)
            link.unsubscribe(["early"])
            try await recorder.connected()
        }
    }

    @Test func `each attempt gets a will for its version`() async throws {
        let broker = try FakeBroker { connection in
            let connect = try connection.readPacket()
            guard connect.version == 4 else { return try connection.send(type: 2, [0, 1]) }
            try connection.connack(0, 4)
            try connection.behave(version: 4)
        }
        defer { broker.end() }
        let recorder = LinkRecorder(will: { MQTTMessage("state", "will for \($0)") })
        try await withLink(try configuration([broker.url]), recorder) { _, recorder async throws in
            try await recorder.connected()
            let wills = try (1...2).map { number in
                String(decoding: try #require(broker.packets(on: number).first).body, as: UTF8.self)
            }
            #expect(wills[0].contains("will for 5"))
            #expect(wills[1].contains("will for 3.1.1"))
        }
    }

    @Test func `a broker that switches keepalive off is noticed all the same when it hangs`() async throws {
        let broker = try FakeBroker { connection in
            // 0x13: server keep alive.
            let version = try connection.accept(properties: [0x13, 0, 0])
            guard connection.number == 1 else { return try connection.behave(version: version) }
            try connection.readToEnd()
        }
        defer { broker.end() }
        let configuration = try configuration([broker.url], subscriptions: []) {
            $0.protocolVersion = .v5
            $0.keepAlive = .seconds(5)
        }
        try await withLink(configuration) { _, recorder async throws in
            #expect(try await recorder.disconnected().cause == .keepAlive)
            try await recorder.connectedAgain()
        }
    }
}
