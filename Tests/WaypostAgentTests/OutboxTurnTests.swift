import MQTTLink
import TestSupport
import Testing

@testable import WaypostAgent

/// Replies in turn by sender: no one waits for another's long queue.
struct OutboxTurnTests {
    private static let bytes = 1_000_000

    private func reply(_ sender: String, _ number: Int64, bytes: Int, isStored: Bool = true) -> OutboxItem {
        OutboxItem(
            origin: isStored ? .reply(sequence: number) : .volatile, kind: .reply,
            message: MQTTMessage(
                topic: "reply/\(sender)",
                payload: Array("\(number) ".utf8) + [UInt8](repeating: 0, count: bytes), qos: .atLeastOnce))
    }

    private func outbox(memoryBytes: Int = .max, share: Int = 25) -> OutboxState {
        var outbox = OutboxState(window: 200, bytes: Self.bytes, memoryBytes: memoryBytes, share: share)
        outbox.connected(receiveMaximum: 65_535)
        return outbox
    }

    private func acknowledge(_ message: OutgoingMessage, in outbox: inout OutboxState) {
        _ = outbox.settled(PublishReceipt(token: message.token, result: .acknowledged), at: 0)
    }

    // Sixty of 825 KB over 1 MB/s: the other's ping was answered after 54 s.
    @Test func `a small reply of another goes behind one large message`() {
        var outbox = outbox()
        for number in Int64(0)..<60 { _ = outbox.enqueued(reply("large", number, bytes: 825_000)) }
        let first = outbox.messagesToSend()
        #expect(first.map(\.message.topic) == ["reply/large"])
        _ = outbox.enqueued(reply("small", 100, bytes: 100))
        let second = outbox.messagesToSend()
        #expect(second.map(\.message.topic) == ["reply/small"])
    }

    @Test func `one sender's small replies have the whole window, and many senders' large ones take turns`() {
        var outbox = outbox()
        for number in Int64(0)..<300 { _ = outbox.enqueued(reply("a", number, bytes: 100)) }
        let small = outbox.messagesToSend()
        #expect(small.count == 200)
        for message in small { acknowledge(message, in: &outbox) }
        for number in Int64(300)..<303 {
            for sender in ["b", "c", "d"] { _ = outbox.enqueued(reply(sender, number, bytes: 900_000)) }
        }
        var order: [String] = []
        while case let sent = outbox.messagesToSend(), !sent.isEmpty {
            for message in sent {
                if message.message.payload.count > 1_000 { order.append(message.message.topic) }
                acknowledge(message, in: &outbox)
            }
        }
        #expect(order == ["b", "c", "d", "b", "c", "d", "b", "c", "d"].map { "reply/\($0)" })
    }

    @Test func `a large message is not passed by small ones for ever`() {
        var outbox = outbox(share: 60)
        _ = outbox.enqueued(reply("a", 1, bytes: 500_000))
        let first = outbox.messagesToSend()
        _ = outbox.enqueued(reply("large", 2, bytes: 900_000))
        for number in Int64(3)..<100 { _ = outbox.enqueued(reply("b", number, bytes: 100)) }
        let while1 = outbox.messagesToSend()
        #expect(while1.isEmpty)
        acknowledge(first[0], in: &outbox)
        let then = outbox.messagesToSend()
        #expect(then.first?.message.topic == "reply/large")
        #expect(then.count == 98)
    }

    @Test func `a sender's stored replies leave space in memory for another's`() {
        var outbox = outbox(memoryBytes: 4_000_000)
        for number in Int64(0)..<60 { _ = outbox.enqueued(reply("large", number, bytes: 825_000)) }
        _ = outbox.enqueued(reply("small", 100, bytes: 100))
        let sent = outbox.messagesToSend()
        #expect(sent.map(\.message.topic) == ["reply/large", "reply/small"])
        // Of the small one nothing is left to the disk.
        for message in sent { acknowledge(message, in: &outbox) }
        let read = outbox.lineToRead()
        #expect(read?.line == .replies(on: "reply/large"))
        let isReadTwice = outbox.lineToRead() != nil
        #expect(!isReadTwice)
    }

    // What was read of it took the room, and the other's waited on disk until the broker had a large one.
    @Test func `a sender's replies that are read from disk do so too`() {
        var outbox = outbox(memoryBytes: 2 << 20)
        for number in Int64(0)..<4 { _ = outbox.enqueued(reply("large", number, bytes: 825_000)) }
        let first = outbox.messagesToSend()
        #expect(first.map(\.message.topic) == ["reply/large"])
        let isReadEarly = outbox.lineToRead() != nil
        #expect(!isReadEarly)
        _ = outbox.enqueued(reply("small", 100, bytes: 100))
        #expect(outbox.messagesToSend().map(\.message.topic) == ["reply/small"])
        for message in first { acknowledge(message, in: &outbox) }
        let read = outbox.lineToRead()
        #expect(read?.line == .replies(on: "reply/large"))
    }

    @Test func `lines on disk are read in turn`() {
        var outbox = outbox(memoryBytes: 2_000_000)
        let lines = ["a", "b", "c"].map { OutboxItem.Line.replies(on: "reply/\($0)") }
        for line in lines { outbox.storedEarlier(line) }
        var read: [OutboxItem.Line] = []
        var sequence = Int64(0)
        for round in 0..<6 {
            guard let next = outbox.lineToRead() else { break }
            read.append(next.line)
            sequence += 1
            let sender = String(next.line.topic.dropFirst("reply/".count))
            outbox.read([reply(sender, sequence, bytes: 100)], of: next.line, isAll: round > 2)
            for message in outbox.messagesToSend() { acknowledge(message, in: &outbox) }
        }
        #expect(read == lines + lines)
        #expect(outbox.isEmpty)
    }

    // MARK: Chance

    /// Random senders, sizes, losses, refusals and disconnections; what the broker has in the end is checked.
    @Test(arguments: 0..<8)
    func `nothing is lost, and each sender's order is kept`(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var outbox = outbox()
        var next: [String: Int64] = [:]
        var delivered: [String: [Int64]] = [:]
        var underWay: [OutgoingMessage] = []
        let senders = (0..<8).map { "s\($0)" }

        func answer(_ result: PublishReceipt.Result) {
            guard !underWay.isEmpty else { return }
            let message = underWay.removeFirst()
            _ = outbox.settled(PublishReceipt(token: message.token, result: result), at: 0)
            guard result == .acknowledged else { return }
            let text = String(decoding: message.message.payload.prefix { $0 != 32 }, as: UTF8.self)
            delivered[message.message.topic, default: []].append(Int64(text) ?? -1)
        }
        func checkBounds() {
            let largest = underWay.map(\.message.payload.count).max() ?? 0
            let all = underWay.reduce(0) { $0 + $1.message.payload.count }
            #expect(all <= max(Self.bytes, largest), "seed \(seed)")
            for sender in senders {
                let own = underWay.filter { $0.message.topic == "reply/\(sender)" }.map(
                    \.message.payload.count)
                #expect(own.count < 2 || own.reduce(0, +) <= Self.bytes / 4, "seed \(seed)")
            }
        }

        for _ in 0..<3_000 {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<45:
                let sender = senders[Int.random(in: 0..<senders.count, using: &random)]
                next[sender, default: 0] += 1
                let isLarge = Int.random(in: 0..<10, using: &random) == 0
                let bytes = Int.random(in: isLarge ? 100_000..<2_000_000 : 0..<2_000, using: &random)
                _ = outbox.enqueued(reply(sender, next[sender] ?? 0, bytes: bytes))
            case 45..<97: answer(.acknowledged)
            case 97..<98:
                // The connection goes: what was under way is lost.
                for message in underWay {
                    _ = outbox.settled(PublishReceipt(token: message.token, result: .lost), at: 0)
                }
                underWay = []
                outbox.disconnected()
                let sent = outbox.messagesToSend()
                #expect(sent.isEmpty)
                outbox.connected(receiveMaximum: 65_535)
            default: outbox.retry(at: .max)
            }
            underWay += outbox.messagesToSend()
            checkBounds()
        }
        while !underWay.isEmpty {
            answer(.acknowledged)
            underWay += outbox.messagesToSend()
        }
        #expect(outbox.isEmpty)
        for sender in senders {
            #expect(
                delivered["reply/\(sender)"] ?? [] == Array(1..<(next[sender] ?? 0) + 1), "seed \(seed)")
        }
    }
}
