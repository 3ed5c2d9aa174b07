import TestSupport
import Testing

@testable import MQTTLink

struct FrameGuardTests {
    private func packet(_ type: UInt8, _ length: Int) -> [UInt8] {
        [type << 4] + FakeConnection.length(length) + Array(repeating: 0, count: length)
    }

    /// A guard that may be changed inside an expectation.
    private final class Frames {
        private var frames: FrameGuard

        init(limit: Int) { frames = FrameGuard(limit: limit) }

        var mustLook: Bool { frames.next == nil }
        var next: FrameGuard.Packet? { frames.next }
        var isReading: Bool { frames.isReading }
        func saw(_ bytes: [UInt8]) -> FrameGuard.Finding { bytes.withUnsafeBytes { frames.saw($0) } }
        func beganHeader(_ bytes: [UInt8]) { bytes.withUnsafeBytes { frames.beganHeader($0) } }
        func hold(_ bytes: [UInt8]) { bytes.withUnsafeBytes { frames.hold($0) } }
        func takeHeld() -> [UInt8] { frames.takeHeld() }
        func read(reported: Int) -> Int { frames.read(reported: reported) }
        func removeNext() { frames.removeNext() }
    }

    @Test func `whole packets are let through, one at a time`() {
        let frames = Frames(limit: 1_000)
        #expect(frames.saw(packet(2, 3) + packet(3, 200) + packet(9, 4)) == .admitted)
        for size in [5, 203, 6] {
            #expect(!frames.mustLook)
            #expect(frames.read(reported: 1) == size)
        }
        #expect(frames.mustLook)
    }

    @Test func `a packet that is there in part is let through, and read in steps`() {
        let frames = Frames(limit: 1_000)
        #expect(frames.saw(Array(packet(3, 500).prefix(10))) == .admitted)
        #expect(frames.read(reported: 0) == 0)
        #expect(frames.isReading)
        #expect(!frames.mustLook)
        #expect(frames.read(reported: 1) == 503)
        #expect(!frames.isReading)
        #expect(frames.mustLook)
    }

    @Test(arguments: 1...3)
    func `a header that is there in part waits`(count: Int) {
        let frames = Frames(limit: 1 << 28)
        let bytes = Array(([0x30] + FakeConnection.length(20_000_000)).prefix(count))
        #expect(frames.saw(bytes) == .incomplete(count))
        #expect(frames.mustLook)
    }

    @Test func `a part of a header behind a packet does not hold that packet back`() {
        let frames = Frames(limit: 1_000)
        #expect(frames.saw(packet(3, 5) + [0x30, 0x80]) == .admitted)
        #expect(frames.read(reported: 1) > 0)
        #expect(frames.mustLook)
    }

    @Test(arguments: [(998, true), (997, false)])
    func `the limit is for the whole packet, header included`(length: Int, isTooLarge: Bool) {
        let frames = Frames(limit: 1_000)
        let finding = frames.saw([0x30] + FakeConnection.length(length))
        #expect(finding == (isTooLarge ? .tooLarge(1_001) : .admitted))
    }

    @Test func `a bad packet behind good ones is found when those are read`() {
        let frames = Frames(limit: 1_000)
        let bad = [0x30] + FakeConnection.length(5_000)
        #expect(frames.saw(packet(3, 5) + bad) == .admitted)
        #expect(frames.read(reported: 1) > 0)
        #expect(frames.saw(bad) == .tooLarge(5_003))
    }

    @Test func `a length of five bytes is no length`() {
        let frames = Frames(limit: 1 << 28)
        #expect(
            frames.saw([0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]) == .malformed("a length of more than four bytes")
        )
    }

    @Test(arguments: [UInt8(0), 1, 5, 6, 7, 8, 10, 12, 15])
    func `a packet that a broker has no reason to send is refused`(type: UInt8) {
        let frames = Frames(limit: 1_000)
        #expect(frames.saw(packet(type, 2)) == .malformed("a packet of type \(type)"))
    }

    @Test(arguments: [UInt8(4), 6, 0x0D])
    func `a message at QoS 2 or 3 is refused: it was not requested`(flags: UInt8) {
        let finding = Frames(limit: 1_000).saw([0x30 | flags] + packet(3, 9).dropFirst())
        #expect(finding == .malformed("a message at QoS \(flags >> 1 & 3), which was not requested"))
    }

    @Test func `the answer to a ping and the id of an acknowledgement are seen`() {
        let frames = Frames(limit: 1_000)
        #expect(frames.saw([0xD0, 0, 0x40, 2, 1, 2] + packet(3, 9)) == .admitted)
        #expect(frames.next?.type == FrameGuard.pingResponse)
        frames.removeNext()
        #expect(frames.next?.acknowledges == 0x102)
        #expect(frames.read(reported: 1) == 4)
        #expect(frames.next?.size == 11)
        // Without its id an acknowledgement is not there in full.
        #expect(Frames(limit: 1_000).saw([0x40, 2, 1]) == .incomplete(3))
        #expect(Frames(limit: 1_000).saw([0x40, 1, 1]) == .malformed("an acknowledgement without an id"))
    }

    @Test(arguments: 1...3)
    func `a header that the library has begun is continued where the next look begins`(cut: Int) {
        let frames = Frames(limit: 1_000_000)
        let bytes = packet(3, 200_000)
        #expect(frames.saw(Array(bytes[..<cut])) == .incomplete(cut))
        frames.beganHeader(Array(bytes[..<cut]))
        #expect(frames.saw(Array(bytes[cut..<100])) == .admitted)
        #expect(frames.isReading)
        #expect(frames.read(reported: 1) == bytes.count)
        #expect(frames.saw(packet(3, 5)) == .admitted)
        #expect(!frames.isReading)
    }

    @Test(arguments: 1...3)
    func `a header that is held is continued, and given out once`(cut: Int) {
        let frames = Frames(limit: 1_000_000)
        let bytes = packet(3, 200_000)
        for byte in bytes[..<cut] {
            #expect(frames.saw([byte]) == .incomplete(1))
            frames.hold([byte])
        }
        #expect(frames.saw(Array(bytes[cut..<100])) == .admitted)
        #expect(frames.takeHeld() == Array(bytes[..<cut]) && frames.takeHeld().isEmpty)
        #expect(!frames.isReading && frames.next?.size == bytes.count)
        #expect(frames.read(reported: 1) == bytes.count)
        #expect(frames.saw(packet(3, 5)) == .admitted)
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func `any cut of a stream into looks and reads keeps the beginning of packets`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var stream: [UInt8] = []
        var packets: [(start: Int, type: UInt8)] = []
        for _ in 0..<200 {
            let types: [UInt8] = [3, 4, 9, 13]
            let type = types[Int(random.next() % 4)]
            packets.append((stream.count, type))
            stream += packet(type, type == 13 ? 0 : 2 + Int(random.next() % 300))
        }
        let frames = Frames(limit: 1_000)
        var (position, present, read) = (0, 0, 0)
        while position < stream.count {
            present = min(stream.count, present + 1 + Int(random.next() % 400))
            while position < present {
                if frames.mustLook {
                    #expect(packets[read].start == position, "seed \(seed)")
                    if case .incomplete = frames.saw(Array(stream[position..<present])) { break }
                }
                #expect(frames.next?.type == packets[read].type, "seed \(seed)")
                // What the library would do: read the packet at hand, as far as it is there.
                let end = read + 1 < packets.count ? packets[read + 1].start : stream.count
                position = min(end, present)
                guard end <= present else {
                    #expect(frames.read(reported: 0) == 0)
                    break
                }
                #expect(frames.read(reported: 1) == end - packets[read].start)
                read += 1
            }
        }
        #expect(position == stream.count)
    }
}

struct SkippedPacketTests {
    /// Reads bytes in pieces as the loop does: never more than are wanted.
    private func content(of bytes: [UInt8], pieces: Int = .max, rest: Int = 0) -> SkippedPacket.Content {
        var packet = SkippedPacket()
        var position = 0
        while packet.wanted > 0, position < bytes.count {
            let end = min(position + min(packet.wanted, pieces), bytes.count)
            bytes[position..<end].withUnsafeBytes { packet.read($0) }
            position = end
        }
        #expect(packet.wanted == 0)
        #expect(position == bytes.count - rest)
        return packet.content
    }

    @Test(arguments: [1, 2, 7, 70_000, .max])
    func `of a message the topic, the id and the size are kept`(pieces: Int) {
        let bytes = FakeConnection.publish("a/ü", Array(repeating: 7, count: 100_000), id: 515, version: 4)
        #expect(
            content(of: bytes, pieces: pieces) == .message(topic: "a/ü", id: 515, bytes: bytes.count))
        #expect(
            content(of: bytes + [0xD0, 0], pieces: pieces, rest: 2)
                == .message(topic: "a/ü", id: 515, bytes: bytes.count))
    }

    @Test func `a message at most once has no id, and a topic may be no text`() {
        #expect(content(of: [0x30, 5, 0, 2, 0xFF, 0x61, 9]) == .message(topic: "\u{FFFD}a", id: 0, bytes: 7))
    }

    @Test func `the longest topic is kept`() {
        let topic = String(repeating: "x", count: 65_535)
        let bytes = FakeConnection.publish(topic, Array(repeating: 7, count: 10), id: 9, version: 4)
        #expect(content(of: bytes) == .message(topic: topic, id: 9, bytes: bytes.count))
    }

    @Test(arguments: [
        [0x32, 1, 0] as [UInt8], [0x32, 4, 0, 9, 1, 2], [0x32, 3, 0, 1, 0x61], [0x32, 5, 0, 1, 0x61, 0, 0],
    ])
    func `a message with a false topic or id is malformed`(bytes: [UInt8]) {
        guard case .malformed = content(of: bytes) else {
            Issue.record("\(bytes)")
            return
        }
    }

    @Test func `an acknowledgement has its id and its reason, and the answer to a ping nothing`() {
        #expect(content(of: [0x40, 2, 1, 2]) == .acknowledgement(id: 0x102, reason: 0))
        #expect(content(of: [0x40, 4, 1, 2, 0x97, 0]) == .acknowledgement(id: 0x102, reason: 0x97))
        #expect(content(of: [0xD0, 0]) == .pingResponse)
    }
}
