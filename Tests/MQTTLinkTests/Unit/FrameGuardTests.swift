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

        var mustLook: Bool { frames.mustLook }
        func saw(_ bytes: [UInt8]) -> FrameGuard.Finding { bytes.withUnsafeBytes { frames.saw($0) } }
        func read(reported: Int) -> Bool { frames.read(reported: reported) }
    }

    @Test func `whole packets are let through, one at a time`() {
        let frames = Frames(limit: 1_000)
        #expect(frames.saw(packet(2, 3) + packet(3, 200) + packet(9, 4)) == .admitted)
        for _ in 0..<3 {
            #expect(!frames.mustLook)
            #expect(frames.read(reported: 1))
        }
        #expect(frames.mustLook)
    }

    @Test func `a packet that is there in part is let through, and read in steps`() {
        let frames = Frames(limit: 1_000)
        #expect(frames.saw(Array(packet(3, 500).prefix(10))) == .admitted)
        #expect(!frames.read(reported: 0))
        #expect(!frames.mustLook)
        #expect(frames.read(reported: 1))
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
        #expect(frames.read(reported: 1))
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
        #expect(frames.read(reported: 1))
        #expect(frames.saw(bad) == .tooLarge(5_003))
    }

    @Test func `a length of five bytes is no length`() {
        let frames = Frames(limit: 1 << 28)
        #expect(
            frames.saw([0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]) == .malformed("a length of more than four bytes")
        )
    }

    @Test(arguments: [UInt8(0), 1, 5, 6, 7, 8, 10, 11, 12, 15])
    func `a packet that a broker has no reason to send is refused`(type: UInt8) {
        let frames = Frames(limit: 1_000)
        #expect(frames.saw(packet(type, 2)) == .malformed("a packet of type \(type)"))
    }

    @Test func `a ping's answer goes by in silence`() {
        let frames = Frames(limit: 1_000)
        #expect(frames.saw(packet(13, 0) + packet(3, 9)) == .admitted)
        // It alone was read.
        #expect(frames.read(reported: 0))
        #expect(!frames.mustLook)
        #expect(frames.read(reported: 1))
        // Both at once.
        #expect(frames.saw(packet(13, 0) + packet(3, 9)) == .admitted)
        #expect(frames.read(reported: 1))
        #expect(frames.mustLook)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `any cut of a stream into looks and reads keeps the beginning of packets`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var stream: [UInt8] = []
        var starts: Set<Int> = []
        for _ in 0..<200 {
            starts.insert(stream.count)
            let types: [UInt8] = [3, 4, 9, 13]
            let type = types[Int(random.next() % 4)]
            stream += packet(type, type == 13 ? 0 : Int(random.next() % 300))
        }
        let frames = Frames(limit: 1_000)
        var position = 0
        var present = 0
        let ends = starts.sorted().dropFirst() + [stream.count]
        while position < stream.count {
            present = min(stream.count, present + 1 + Int(random.next() % 400))
            while position < present {
                if frames.mustLook {
                    #expect(starts.contains(position), "seed \(seed)")
                    if case .incomplete = frames.saw(Array(stream[position..<present])) { break }
                }
                // What the library would do: read the packet at hand, as far as it is there.
                let start = starts.filter { $0 <= position }.max() ?? 0
                let end = ends.filter { $0 > start }.min() ?? stream.count
                let isWhole = end <= present
                let isSilent = stream[start] >> 4 == 13
                position = min(end, present)
                if !frames.read(reported: isWhole && !isSilent ? 1 : 0) { break }
            }
        }
        #expect(position == stream.count)
    }
}
