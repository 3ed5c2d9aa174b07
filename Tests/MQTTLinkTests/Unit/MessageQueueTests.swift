import Testing

@testable import MQTTLink

@Suite(.timeLimit(.minutes(60)))
struct MessageQueueTests {
    private func messages(_ numbers: Range<Int>, bytes: Int = 1) -> [MQTTMessage] {
        numbers.map {
            MQTTMessage(topic: "\($0)", payload: Array(repeating: 0, count: bytes), qos: .atMostOnce)
        }
    }

    /// All that is there, until the end: topics, and `!` for an alarm.
    private func rest(of queue: MessageQueue) async -> [String] {
        queue.finish()
        var found: [String] = []
        while let event = await queue.next() {
            switch event {
            case .message(let message): found.append(message.topic)
            case .alarm: found.append("!")
            }
        }
        return found
    }

    @Test func `beyond the limit of messages the oldest are dropped and counted`() async {
        let queue = MessageQueue(limit: 3, byteLimit: .max)
        queue.append(messages(0..<2))
        #expect(queue.dropped == 0)
        queue.append(messages(2..<10))
        #expect(queue.dropped == 7)
        #expect(await rest(of: queue) == ["7", "8", "9"])
    }

    @Test func `beyond the limit of bytes the oldest are dropped, but never the newest`() async {
        let queue = MessageQueue(limit: 100, byteLimit: 1_000)
        queue.append(messages(0..<5, bytes: 300))
        #expect(queue.dropped == 2)
        queue.append(messages(5..<6, bytes: 5_000))
        #expect(queue.dropped == 5)
        #expect(await rest(of: queue) == ["5"])
    }

    @Test func `a flood costs no more than the limit, and each message is read or counted`() async {
        let queue = MessageQueue(limit: 1_000, byteLimit: .max)
        var read = 0
        for start in stride(from: 0, to: 100_000, by: 100) {
            queue.append(messages(start..<(start + 100)))
            if start % 300 == 0, await queue.next() != nil { read += 1 }
        }
        let left = await rest(of: queue)
        #expect(left.count <= 1_000)
        #expect(left.last == "99999")
        #expect(read + left.count + queue.dropped == 100_000)
    }

    @Test func `an alarm comes after the messages before it, also when some of these are dropped`() async {
        let queue = MessageQueue(limit: 3, byteLimit: .max)
        queue.append(messages(0..<2))
        queue.alarm()
        queue.append(messages(2..<4))
        queue.alarm()
        #expect(await rest(of: queue) == ["1", "!", "2", "3", "!"])
        let flooded = MessageQueue(limit: 2, byteLimit: .max)
        flooded.append(messages(0..<2))
        flooded.alarm()
        flooded.append(messages(2..<9))
        #expect(await rest(of: flooded) == ["!", "7", "8"])
    }

    // Left by one reader, it ended what the next one waited for: `rollout watch` ended at once, with status 0.
    @Test func `an alarm that is called off comes to nobody, before and after it was due`() async {
        let queue = MessageQueue(limit: 3, byteLimit: .max)
        let (due, late, kept) = (queue.arm(), queue.arm(), queue.arm())
        queue.alarm(due)
        queue.append(messages(0..<1))
        queue.alarm(kept)
        queue.callOff(due)
        queue.callOff(late)
        queue.alarm(late)
        #expect(await rest(of: queue) == ["0", "!"])
    }

    @Test func `a reader that waits gets what comes, and ends with the queue or with its task`() async {
        let queue = MessageQueue(limit: 3, byteLimit: .max)
        let reader = Task { () -> String? in
            guard case .message(let message)? = await queue.next() else { return nil }
            return message.topic
        }
        queue.append(messages(7..<8))
        #expect(await reader.value == "7")
        let cancelled = Task { await queue.next() == nil }
        cancelled.cancel()
        #expect(await cancelled.value)
        let last = Task { await queue.next() == nil }
        queue.finish()
        #expect(await last.value)
        queue.append(messages(8..<9))
        #expect(await queue.next() == nil)
    }
}
