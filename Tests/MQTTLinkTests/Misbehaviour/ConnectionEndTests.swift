import MQTTLink
import TestSupport
import Testing

/// Every way in which an attempt ends, without and with TLS, at the beginning of the list and further on.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct ConnectionEndTests {
    /// More than any attempt takes, and what a loop that does not sleep does in a few milliseconds.
    private static let mostTurns = 200

    @Test(arguments: ConnectionEnd.allCases, [false, true])
    func `the reason says what happened, the loop sleeps, and the next broker is tried at once`(
        end: ConnectionEnd, secured: Bool
    ) async throws {
        guard secured || !end.isOfTLS else { return }
        let certificates = try await offThePool { try TestCertificates() }
        defer { certificates.remove() }
        let bad = try end.broker(secured: secured, certificates)
        defer { bad?.end() }
        let good = try FakeBroker { try $0.behave(version: try $0.accept()) }
        defer { good.end() }
        let host = end == .unreachable ? "255.255.255.255" : "127.0.0.1"
        let port = try bad?.port ?? FreePort.find()
        let url = "\(secured ? "mqtts" : "mqtt")://\(host):\(port)"
        for isFirst in [true, false] {
            var configuration = try MQTTLinkConfiguration.test(url: url) {
                let authority = end == .unknownAuthority ? "other-ca.pem" : "ca.pem"
                $0.tls = TLSOptions(caFile: certificates[authority])
                // Nothing but silence takes as long as this.
                $0.connectTimeout = end.isSilent ? .seconds(2) : .seconds(600)
            }
            configuration.brokers.append(try BrokerURL(good.url))
            if !isFirst {
                configuration.brokers.insert(try BrokerURL("mqtt://127.0.0.1:\(FreePort.find())"), at: 0)
            }
            let started = ContinuousClock.now
            try await withLink(configuration) { _, recorder in
                #expect(try await recorder.connected().broker.port == good.port)
                #expect(ContinuousClock.now - started < .seconds(300))
                #expect(recorder.ticks < Self.mostTurns)
                let reason = try #require(recorder.reasons.last).description
                for part in end.sentence(secured: secured) { #expect(reason.contains(part), "\(reason)") }
                #expect(recorder.reasons.map(\.broker) == Array(configuration.brokers.dropLast()))
            }
        }
    }

    @Test(arguments: [false, true])
    func `a broker that TCP reaches only after a while is connected to all the same`(secured: Bool)
        async throws
    {
        let certificates = try await offThePool { try TestCertificates() }
        defer { certificates.remove() }
        let slow = try FakeBroker(tls: secured ? FakeTLS(certificates) : nil, isClosed: true) {
            try $0.behave(version: try $0.accept())
        }
        defer { slow.end() }
        let configuration = try MQTTLinkConfiguration.test(url: secured ? slow.secureURL : slow.url) {
            $0.tls = TLSOptions(caFile: certificates["ca.pem"])
            $0.connectTimeout = .seconds(60)
        }
        try await withLink(configuration) { _, recorder in
            try await PendingConnect.wait(for: slow.port)
            slow.letIn()
            try await recorder.connected()
            #expect(recorder.reasons.isEmpty)
            #expect(recorder.ticks < Self.mostTurns)
        }
    }

    @Test(arguments: [false, true])
    func `a refusal that comes only after a while is one all the same`(secured: Bool) async throws {
        let broker = try FakeBroker(isClosed: true) { _ in }
        let configuration = try MQTTLinkConfiguration.test(url: secured ? broker.secureURL : broker.url) {
            $0.connectTimeout = .seconds(60)
            $0.reconnect.isOn = false
        }
        try await withLink(configuration) { _, recorder in
            try await PendingConnect.wait(for: broker.port)
            // What TCP sends again now finds no one.
            broker.end()
            let reason = try await recorder.disconnected().description
            for part in ConnectionEnd.refused.sentence(secured: secured) {
                #expect(reason.contains(part), "\(reason)")
            }
            #expect(recorder.ticks < Self.mostTurns)
        }
    }

    @Test func `who waits for an answer of a session is told why its connection ended`() async throws {
        let broker = try FakeBroker { connection in
            try connection.accept()
            // What is asked then is not answered.
            _ = try connection.readPacket()
        }
        defer { broker.end() }
        for round in 0..<40 {
            let session = try await MQTTSession.connect(
                .oneShot(brokers: [try BrokerURL(broker.url)], clientID: "ops"), within: .seconds(600))
            let error = await #expect(throws: MQTTSessionError.self) {
                if round.isMultiple(of: 2) {
                    _ = try await session.subscribe([Subscription("a")])
                } else {
                    _ = try await session.publish(MQTTMessage(topic: "a", payload: [], qos: .atLeastOnce))
                }
            }
            #expect(session.endReason.map { .ended($0) } == error)
            await session.disconnect()
        }
    }
}
