import Dispatch
import MQTTLink
import TestSupport
import Testing
import Threading

/// A delegate whose disk hangs for longer than a keepalive.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct LongCallTests {
    enum Call: Sendable, CaseIterable { case received, willAcknowledge }

    @Test(arguments: Call.allCases, [false, true])
    func `a call that does not return keeps the connection alive`(_ call: Call, isSecure: Bool) async throws {
        let pings = DispatchSemaphore(value: 0)
        let certificates = try await offThePool { isSecure ? try TestCertificates() : nil }
        defer { certificates?.remove() }
        let broker = try FakeBroker(tls: try certificates.map { try FakeTLS($0) }) { connection in
            let version = try connection.accept()
            try connection.write(FakeConnection.publish("in", [1], id: 1, version: version))
            while true {
                guard try connection.readPacket().type == 12 else { continue }
                pings.signal()
                try connection.send(type: 13, [])
            }
        }
        defer { broker.end() }
        let acknowledgements: @Sendable ([FakeBroker.Event]) -> Int = { events in
            events.count { if case .packet(1, let packet) = $0 { packet.type == 4 } else { false } }
        }
        /// How many there were when the call returned.
        let returned = EventLog<Int>()
        let answer: @Sendable (Call) -> BatchDecision = {
            guard $0 == call, returned.events.isEmpty else { return .acknowledge }
            for _ in 1...2 { pings.wait() }
            returned.append(acknowledgements(broker.log.events))
            return .acknowledge
        }
        let recorder = LinkRecorder(answer: { _ in answer(.received) }, agrees: { answer(.willAcknowledge) })
        let configuration = try MQTTLinkConfiguration.test(
            url: isSecure ? broker.secureURL : broker.url
        ) {
            $0.keepAlive = .seconds(5)
            $0.tls = certificates.map { TLSOptions(caFile: $0["ca.pem"]) }
        }
        try await withLink(configuration, recorder) { _, recorder in
            try await returned.wait(for: "two signs of life") { !$0.isEmpty }
            // Not before the call returned, and then on the same connection.
            #expect(returned.events == [0])
            try await broker.log.wait(for: "the PUBACK") { acknowledgements($0) == 1 }
            #expect(recorder.reasons.isEmpty)
        }
        #expect(recorder.messages.map(\.payload) == [[1]])
    }
}
