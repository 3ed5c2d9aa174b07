import Glibc
import MQTTLink
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(60)))
struct BrokenTrafficTests {
    @Test func `a goodbye of the broker is reported with its name, and the link comes back`() async throws {
        let broker = try FakeBroker { connection in
            let version = try connection.accept()
            guard connection.number == 1 else { return try connection.behave(version: version) }
            // 0x1F: reason string.
            let properties = [0x1F] + FakeConnection.text("going down")
            try connection.send(type: 14, [0x8B] + FakeConnection.length(properties.count) + properties)
            try connection.readToEnd()
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url)) { _, recorder in
            let reason = try await recorder.disconnected()
            #expect(reason.cause == .serverDisconnect(ReasonCode(rawValue: 0x8B)))
            #expect(reason.description.contains("Server shutting down"))
            try await recorder.connectedAgain()
        }
    }

    @Test func `a taken session is reported as that`() async throws {
        let broker = try FakeBroker { connection in
            let version = try connection.accept()
            guard connection.number == 1 else { return try connection.behave(version: version) }
            try connection.send(type: 14, [0x8E, 0])
            try connection.readToEnd()
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url)) { _, recorder in
            let found = try await recorder.disconnected().cause
            #expect(found == .sessionTakenOver)
        }
    }

    @Test func `a broker that takes the session again and again makes the link wait for seconds`()
        async throws
    {
        // It knows the session each time, and closes in order.
        let broker = try FakeBroker { connection in
            let version = try connection.accept(sessionPresent: true)
            try connection.suback(1, version: version)
            // Once the link has answered, it knows that it was connected; nothing is left to read at the end.
            try connection.write(FakeConnection.publish("t/1", [1], id: 1, version: version))
            _ = try connection.readPacket()
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url, subscriptions: [Subscription("t/+")])) { _, recorder in
            @Sendable func isConflict(_ reason: DisconnectReason?) -> Bool {
                if case .clientIDConflict = reason?.cause { true } else { false }
            }
            try await recorder.log.wait(for: "a suspected conflict") { $0.contains { isConflict($0.reason) } }
            // The first: on a busy machine the next one may have come already.
            let reason = try #require(recorder.reasons.first(where: isConflict))
            #expect(reason.cause == .clientIDConflict(shortSessions: 5))
            let peace = try #require(reason.retryIn)
            #expect(peace >= .seconds(5) && peace <= .seconds(60))
        }
    }

    @Test func `a message in many small pieces arrives whole`() async throws {
        let broker = try FakeBroker { connection in
            let version = try connection.accept()
            for id in 1...3 as ClosedRange<UInt16> {
                let bytes = FakeConnection.publish(
                    "t/\(id)", Array(repeating: 7, count: 300), id: id, version: version)
                for byte in bytes { try connection.write([byte]) }
            }
            try connection.behave(version: version)
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url)) { _, recorder in
            let messages = try await recorder.received(3)
            #expect(messages.map(\.topic) == ["t/1", "t/2", "t/3"])
            #expect(messages.allSatisfy { $0.payload == Array(repeating: 7, count: 300) })
            #expect(recorder.reasons.isEmpty)
        }
    }

    /// The rest of a header comes after a while, or not at all while its beginning waits in a full buffer.
    @Test(arguments: [7, 11])
    func `a flood goes on, wherever the socket's buffer cuts a header`(size: Int) async throws {
        let count = (2 << 20) / size
        let broker = try FakeBroker { connection in
            let version = try connection.accept()
            // Beside its header and its topic, each of which has a length.
            let payload = [UInt8](repeating: 7, count: size - 5)
            let message = FakeConnection.publish("t", payload, id: 0, version: version)
            try connection.write([UInt8](repeatElement(message, count: count).joined()))
            try connection.write(FakeConnection.publish("end", [], id: 1, version: version))
            try connection.behave(version: version)
        }
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(url: broker.url) { $0.protocolVersion = .v311 }
        try await withLink(configuration) { _, recorder in
            let messages = try await recorder.received(count + 1)
            #expect(messages.last?.topic == "end")
            #expect(recorder.reasons.isEmpty)
        }
    }

    @Test func `the same packet id twice is two messages and two acknowledgements`() async throws {
        let broker = try FakeBroker { connection in
            let version = try connection.accept()
            try connection.write(FakeConnection.publish("a", [1], id: 9, version: version))
            try connection.write(
                FakeConnection.publish("a", [1], id: 9, version: version, isDuplicate: true))
            try connection.behave(version: version)
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url)) { _, recorder in
            try await recorder.received(2)
            try await broker.log.wait(for: "two PUBACKs") { events in
                events.count { if case .packet(_, let packet) = $0 { packet.type == 4 } else { false } } >= 2
            }
            #expect(broker.packets(on: 1).filter { $0.type == 4 }.map(\.id) == [9, 9])
        }
    }

    @Test func `more messages than the receive maximum allows come in bounded batches, none lost`()
        async throws
    {
        let broker = try FakeBroker { connection in
            let version = try connection.accept()
            var bytes: [UInt8] = []
            for id in 1...500 as ClosedRange<UInt16> {
                bytes += FakeConnection.publish("flood", [UInt8(id & 0xFF)], id: id, version: version)
            }
            try connection.write(bytes)
            try connection.behave(version: version)
        }
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(url: broker.url) {
            $0.receiveMaximum = 10
            $0.batchLimit = 50
        }
        try await withLink(configuration) { _, recorder in
            let messages = try await recorder.received(500)
            #expect(messages.count == 500)
            #expect(recorder.log.events.map(\.messages.count).max() ?? 0 <= 50)
            try await broker.log.wait(for: "500 PUBACKs") { events in
                events.count { if case .packet(_, let packet) = $0 { packet.type == 4 } else { false } }
                    >= 500
            }
        }
    }

    @Test func `no acknowledgement of a refused batch leaves, and the broker delivers it again`() async throws
    {
        let broker = try FakeBroker { connection in
            let version = try connection.accept(sessionPresent: connection.number > 1)
            for id in 1...3 as ClosedRange<UInt16> {
                try connection.write(FakeConnection.publish("a", [UInt8(id)], id: id, version: version))
            }
            try connection.behave(version: version)
        }
        defer { broker.end() }
        let isDiskFull = Atomic(true)
        let recorder = LinkRecorder(answer: { _ in
            isDiskFull.exchange(false, ordering: .relaxed) ? .refuse : .acknowledge
        })
        try await withLink(try .test(url: broker.url), recorder) { _, recorder in
            let reason = try await recorder.disconnected()
            #expect(reason.cause == .batchRefused)
            try await broker.waitForEnd(of: 1)
            #expect(broker.packets(on: 1).map(\.type) == [1])
            try await broker.log.wait(for: "three PUBACKs on the second connection") { events in
                events.count { if case .packet(2, let packet) = $0 { packet.type == 4 } else { false } } >= 3
            }
        }
    }

    @Test func `a packet that was not requested ends the connection`() async throws {
        let broker = try FakeBroker { connection in
            let version = try connection.accept()
            if connection.number == 1 { try connection.send(type: 6, flags: 2, [0, 1]) }
            try connection.behave(version: version)
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url)) { _, recorder in
            let found = try await recorder.disconnected().cause
            #expect(found == .protocolViolation("a packet of type 6"))
            try await recorder.connectedAgain()
        }
    }
}
