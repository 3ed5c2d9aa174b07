import Foundation
import MQTTLink
import TestSupport
import Testing

/// Messages beyond the limit, from brokers that send them all the same.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct LargeMessageTests {
    /// How a broker is reached and spoken to.
    struct Setting: Sendable, CustomTestStringConvertible {
        var isSecured: Bool
        var version: MQTTLinkConfiguration.ProtocolVersion
        var testDescription: String { "\(isSecured ? "TLS" : "TCP"), MQTT \(version.version)" }

        static let all = [false, true].flatMap { isSecured in
            [MQTTLinkConfiguration.ProtocolVersion.v311, .v5].map {
                Setting(isSecured: isSecured, version: $0)
            }
        }
    }

    /// The most that is read when the limit is 2 000 bytes.
    private static let limit = 2_000 + 65_536 + 1_024

    /// A broker that does what its script says, with TLS or without, and a link to it.
    private func withBroker(
        _ setting: Setting, script: @escaping @Sendable (FakeConnection) throws -> Void,
        configure: (inout MQTTLinkConfiguration) -> Void = { _ in },
        _ body: (FakeBroker, MQTTLink, LinkRecorder) async throws -> Void
    ) async throws {
        let certificates = try await offThePool { setting.isSecured ? try TestCertificates() : nil }
        defer { certificates?.remove() }
        let broker = try FakeBroker(tls: try certificates.map { try FakeTLS($0) }, script)
        defer { broker.end() }
        let url = setting.isSecured ? broker.secureURL : broker.url
        let configuration = try MQTTLinkConfiguration.test(url: url) {
            $0.protocolVersion = setting.version
            $0.maximumPacketSize = 2_000
            $0.tls = certificates.map { TLSOptions(caFile: $0["ca.pem"]) }
            configure(&$0)
        }
        try await withLink(configuration) { try await body(broker, $0, $1) }
    }

    /// Waits for so many PUBACKs, and returns the ids of all.
    private func acknowledged(_ broker: FakeBroker, _ count: Int) async throws -> [UInt16] {
        @Sendable func ids(_ events: [FakeBroker.Event]) -> [UInt16] {
            events.compactMap { event in
                if case .packet(1, let packet) = event, packet.type == 4 { packet.id } else { nil }
            }
        }
        try await broker.log.wait(for: "\(count) acknowledgements") { ids($0).count >= count }
        return ids(broker.log.events)
    }

    @Test(arguments: [MQTTLinkConfiguration.ProtocolVersion.v311, .v5])
    func `headers that come byte by byte are those of messages, acknowledgements and pings all the same`(
        version: MQTTLinkConfiguration.ProtocolVersion
    ) async throws {
        try await withBroker(Setting(isSecured: false, version: version)) { connection in
            let version = try connection.accept()
            func trickle(_ bytes: [UInt8]) throws {
                for byte in bytes.prefix(8) {
                    try connection.write([byte])
                    usleep(2_000)
                }
                try connection.write(Array(bytes.dropFirst(8)))
            }
            try trickle(
                FakeConnection.publish(
                    "large", [UInt8](repeating: 7, count: 300_000), id: 2, version: version))
            try trickle(FakeConnection.publish("ok", [2], id: 3, version: version))
            var packet = try connection.readPacket()
            while packet.type != 3 { packet = try connection.readPacket() }
            try trickle([0xD0, 0, 0x40, 2] + packet.body[3..<5])
            try connection.behave(version: version)
        } configure: {
            $0.maximumPacketSize = 2_000
        } _: { broker, link, recorder async throws in
            #expect(try await recorder.received(1).map(\.topic) == ["ok"])
            #expect(recorder.skipped.map(\.topic) == ["large"])
            #expect(try await acknowledged(broker, 2) == [2, 3])
            link.publish([OutgoingMessage(1, "a", "x")])
            #expect(try await recorder.settled(1).map(\.result) == [.acknowledged])
            #expect(recorder.reasons.isEmpty)
        }
    }

    @Test(arguments: Setting.all)
    func `a message beyond the limit is skipped, acknowledged and reported, and the link goes on`(
        setting: Setting
    ) async throws {
        try await withBroker(setting) { connection in
            let version = try connection.accept()
            let large = [UInt8](repeating: 7, count: 3 << 20)
            try connection.write(FakeConnection.publish("ok/1", [1], id: 1, version: version))
            try connection.write(FakeConnection.publish("large", large, id: 2, version: version))
            try connection.write(FakeConnection.publish("large/0", large, id: 0, version: version))
            try connection.write(FakeConnection.publish("ok/2", [2], id: 3, version: version))
            try connection.behave(version: version)
        } _: { broker, link, recorder async throws in
            #expect(try await recorder.received(2).map(\.topic) == ["ok/1", "ok/2"])
            #expect(recorder.skipped.map(\.topic) == ["large", "large/0"])
            #expect(recorder.skipped.map(\.qos) == [.atLeastOnce, .atMostOnce])
            #expect(recorder.skipped.allSatisfy { $0.bytes > 3 << 20 && $0.limit == Self.limit })
            #expect(try await acknowledged(broker, 3) == [1, 2, 3])
            link.publish([OutgoingMessage(1, "a", "x")])
            #expect(try await recorder.settled(1).map(\.result) == [.acknowledged])
            #expect(recorder.reasons.isEmpty)
        }
    }

    @Test(arguments: Setting.all)
    func `a message as large as the limit arrives, with its topic and properties beside it`(
        setting: Setting
    ) async throws {
        let topic = String(repeating: "t", count: 65_000)
        try await withBroker(setting) { connection in
            let version = try connection.accept()
            let payload = [UInt8](repeating: 7, count: 2_000)
            try connection.write(FakeConnection.publish(topic, payload, id: 1, version: version))
            try connection.behave(version: version)
        } _: { _, _, recorder async throws in
            #expect(try await recorder.received(1).map(\.payload.count) == [2_000])
            #expect(recorder.skipped.isEmpty)
        }
    }

    @Test(arguments: Setting.all, 0..<5 as Range<UInt64>)
    func `good packets, large ones, answers to pings and false acknowledgements come in any pieces`(
        setting: Setting, seed: UInt64
    ) async throws {
        var random = SeededGenerator(seed: seed)
        let version = setting.version.version.rawValue
        var stream: [UInt8] = []
        var payloads: [[UInt8]] = []
        var skipped: [String] = []
        var ids: [UInt16] = []
        // In another TLS record than its beginning, the header of a large message can't be read past the library.
        var uncut: Set<Int> = []
        for number in 1...200 as ClosedRange<UInt16> {
            let id = random.next() % 4 == 0 ? 0 : number
            switch random.next() % 8 {
            case 0: stream += [0xD0, 0]
            case 1: stream += [0x40, 2, 0x77, UInt8(number & 0xFF)]
            case 2 where skipped.count < 12:
                let payload = [UInt8](repeating: 7, count: Self.limit + Int(random.next() % 100_000))
                uncut.formUnion(stream.count + 1..<stream.count + 4)
                stream += FakeConnection.publish("large/\(number)", payload, id: id, version: version)
                skipped.append("large/\(number)")
                if id != 0 { ids.append(id) }
            default:
                payloads.append((0..<Int(random.next() % 2_000)).map { UInt8(truncatingIfNeeded: $0) } + [1])
                stream += FakeConnection.publish("a", payloads[payloads.count - 1], id: id, version: version)
                if id != 0 { ids.append(id) }
            }
        }
        stream += FakeConnection.publish("end", [], id: 999, version: version)
        ids.append(999)
        let sizes = [1, 2, 3, 5, 17, 300, 5_000, 16_384]
        var cuts = [0]
        while let last = cuts.last, last < stream.count {
            var next = min(last + sizes[Int(random.next() % 8)], stream.count)
            while uncut.contains(next) { next -= 1 }
            if next == last { next += 4 }
            cuts.append(next)
        }
        let (bytes, pieces, wanted) = (stream, cuts, ids)
        try await withBroker(setting) { connection in
            try connection.accept()
            for (start, end) in zip(pieces, pieces.dropFirst()) {
                try connection.write(Array(bytes[start..<end]))
            }
            try connection.behave(version: version)
        } _: { broker, _, recorder async throws in
            let messages = try await recorder.received(payloads.count + 1)
            #expect(messages.dropLast().map(\.payload) == payloads, "seed \(seed)")
            #expect(messages.last?.topic == "end")
            #expect(recorder.skipped.map(\.topic) == skipped, "seed \(seed)")
            #expect(try await acknowledged(broker, wanted.count) == wanted, "seed \(seed)")
            #expect(recorder.reasons.isEmpty)
        }
    }

    @Test
    func
        `the header of a large message in two TLS records ends the connection, before anything is allocated`()
        async throws
    {
        let setting = Setting(isSecured: true, version: .v311)
        try await withBroker(setting) { connection in
            let version = try connection.accept()
            guard connection.number == 1 else { return try connection.behave(version: version) }
            try connection.write([0x32, 0xFF])
            try connection.write([0xFF, 0xFF, 0x7F, 0, 1, 0x61])
            try connection.readToEnd()
        } _: { _, _, recorder async throws in
            let found = try await recorder.disconnected().cause
            #expect(found == .packetTooLarge(bytes: 268_435_455 + 5, limit: Self.limit))
            try await recorder.connectedAgain()
        }
    }

    @Test(arguments: [false, true])
    func `a broker that stops in the middle of a large message is left after a keepalive`(
        isSecured: Bool
    ) async throws {
        try await withBroker(Setting(isSecured: isSecured, version: .v311)) { connection in
            let version = try connection.accept()
            guard connection.number == 1 else { return try connection.behave(version: version) }
            // 256 MiB are announced, and some of them come.
            try connection.write([0x32, 0xFF, 0xFF, 0xFF, 0x7F, 0, 1, 0x61, 0, 1])
            try connection.write([UInt8](repeating: 7, count: 1 << 20))
            try connection.readToEnd()
        } configure: {
            $0.keepAlive = .seconds(5)
        } _: { _, _, recorder async throws in
            #expect(try await recorder.disconnected().cause == .keepAlive)
            try await recorder.connectedAgain()
        }
    }

    @Test(arguments: [false, true])
    func `a large message that comes slowly keeps the link alive for longer than a keepalive`(
        isSecured: Bool
    ) async throws {
        try await withBroker(Setting(isSecured: isSecured, version: .v311)) { connection in
            let version = try connection.accept()
            let large = FakeConnection.publish(
                "large", Array(repeating: 7, count: 100_000), id: 1, version: version)
            // Seven pieces, a second each: the broker is slow, and the test has nothing to wait for.
            for start in stride(from: 0, to: large.count, by: 15_000) {
                try connection.write(Array(large[start..<min(start + 15_000, large.count)]))
                sleep(1)
            }
            try connection.behave(version: version)
        } configure: {
            $0.keepAlive = .seconds(5)
        } _: { broker, _, recorder async throws in
            #expect(try await acknowledged(broker, 1) == [1])
            #expect(recorder.skipped.map(\.topic) == ["large"])
            #expect(recorder.reasons.isEmpty)
            // Pings went out in between.
            #expect(broker.packets(on: 1).contains { $0.type == 12 })
        }
    }

    @Test func `a real broker with TLS sends a message beyond the limit, and the next one arrives`()
        async throws
    {
        let certificates = try await offThePool { try TestCertificates() }
        defer { certificates.remove() }
        let broker = try await TestBroker.start([
            "allow_anonymous true", "cafile \(certificates["ca.pem"])",
            "certfile \(certificates["server.pem"])", "keyfile \(certificates["server.key"])",
        ])
        defer { broker.end() }
        let url = "mqtts://localhost:\(broker.port)"
        let small = try MQTTLinkConfiguration.test(url: url, subscriptions: [Subscription("a")]) {
            $0.protocolVersion = .v311
            $0.maximumPacketSize = 100_000
            $0.tls = TLSOptions(caFile: certificates["ca.pem"])
        }
        try await withLink(small) { _, recorder async throws in
            try await recorder.connected()
            try await withLink(
                try .test(url: url, id: "sender") { $0.tls = TLSOptions(caFile: certificates["ca.pem"]) }
            ) { sender, sent in
                try await sent.connected()
                let large = MQTTMessage(topic: "a", payload: Array(repeating: 7, count: 20 << 20))
                sender.publish([OutgoingMessage(token: 1, message: large), OutgoingMessage(2, "a", "after")])
                try await sent.settled(2)
            }
            #expect(try await recorder.received(1).map(\.text) == ["after"])
            #expect(recorder.skipped.map(\.topic) == ["a"])
            #expect(recorder.reasons.isEmpty)
        }
    }
}

/// What a process holds of memory of its own, in KiB; in a process of its own, where nothing else comes and goes.
@Suite(.oneProcessAtATime, .timeLimit(.minutes(60)))
struct MemoryTests {
    private static func memory() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
        return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }

    @Test func `a message of 200 MiB with 3-1-1 over TLS takes no memory`() async throws {
        await #expect(processExitsWith: .success) {
            let certificates = try TestCertificates()
            defer { certificates.remove() }
            let written = EventLog<Void>()
            let broker = try FakeBroker(tls: try FakeTLS(certificates)) { connection in
                let version = try connection.accept()
                let size = 200 << 20
                // The topic and the id count too: what is beyond the length is no packet.
                let begin: [UInt8] = [0, 1, 0x61, 0, 1]
                try connection.write([0x32] + FakeConnection.length(begin.count + size) + begin)
                let part = [UInt8](repeating: 7, count: 1 << 14)
                for _ in 0..<(size / part.count) {
                    try connection.write(part)
                    written.append(())
                }
                try connection.behave(version: version)
            }
            let configuration = try MQTTLinkConfiguration.test(url: broker.secureURL) {
                $0.keepAlive = .seconds(600)
                $0.protocolVersion = .v311
                $0.tls = TLSOptions(caFile: certificates["ca.pem"])
            }
            try await withLink(configuration) { _, recorder async throws in
                try await recorder.connected()
                let before = try Self.memory()
                let peak = Task.detached {
                    var peak = 0
                    while !Task.isCancelled {
                        peak = max(peak, try Self.memory())
                        try? await Task.sleep(for: .milliseconds(5))
                    }
                    return peak
                }
                try await recorder.log.wait(
                    for: "the report", within: .seconds(60), progress: { written.events.count }
                ) { events in
                    events.contains { if case .skipped = $0 { true } else { false } }
                }
                peak.cancel()
                let highest = try await peak.value
                #expect(highest < before + 50_000, "\(highest - before) KiB")
                #expect(recorder.reasons.isEmpty, "\(recorder.reasons)")
            }
            broker.end()
        }
    }

    @Test func `100 messages with 1 MiB of user properties each take the memory of a few`() async throws {
        await #expect(processExitsWith: .success) {
            let broker = try FakeBroker { connection in
                let version = try connection.accept()
                // Pairs of one byte each, the most that fit.
                let properties = (0..<140_000).flatMap { _ in [0x26, 0, 1, 0x61, 0, 1, 0x62] as [UInt8] }
                let body = FakeConnection.text("a") + FakeConnection.length(properties.count) + properties
                let packet = [0x30] + FakeConnection.length(body.count) + body
                for _ in 0..<100 { try connection.write(packet) }
                try connection.behave(version: version)
            }
            try await withLink(try .test(url: broker.url) { $0.protocolVersion = .v5 }) {
                _, recorder async throws in
                try await recorder.received(3)
                let before = try Self.memory()
                try await recorder.received(100)
                let after = try Self.memory()
                // The library has one at a time, as a list of its own.
                #expect(after < before + 64_000, "\(after - before) KiB")
                #expect(recorder.messages.allSatisfy { $0.properties.isEmpty })
            }
            broker.end()
        }
    }
}
