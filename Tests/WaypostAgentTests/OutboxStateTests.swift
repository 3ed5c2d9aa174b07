import MQTTLink
import TestSupport
import Testing

@testable import WaypostAgent

@Suite struct `Outbox order and window` {
    private func item(
        _ name: String, _ kind: OutboxItem.Kind = .reply, _ origin: OutboxItem.Origin = .volatile,
        bytes: Int = 0
    ) -> OutboxItem {
        OutboxItem(
            origin: origin, kind: kind,
            message: MQTTMessage(
                topic: name, payload: [UInt8](repeating: 0, count: bytes), qos: .atLeastOnce))
    }

    private func outbox(
        window: Int = 10, online: Bool = true, memoryBytes: Int = .max, volatileBytes: Int = .max,
        _ items: OutboxItem...
    ) -> OutboxState {
        var outbox = OutboxState(window: window, memoryBytes: memoryBytes, volatileBytes: volatileBytes)
        if online { outbox.connected(receiveMaximum: 65_535) }
        for item in items { _ = outbox.enqueued(item) }
        return outbox
    }

    @Test func `nothing is handed to the link while the broker is away`() {
        var outbox = outbox(online: false, item("a"))
        let found1 = outbox.messagesToSend().isEmpty
        #expect(found1)
        outbox.connected(receiveMaximum: 10)
        let found2 = outbox.messagesToSend().map(\.message.topic)
        #expect(found2 == ["a"])
    }

    @Test func `no more than the broker's receive maximum is under way`() {
        var outbox = outbox(item("a"), item("b"), item("c"))
        outbox.connected(receiveMaximum: 2)
        let first = outbox.messagesToSend()
        #expect(first.map(\.message.topic) == ["a", "b"])
        let found3 = outbox.messagesToSend().isEmpty
        #expect(found3)
        let found4 = outbox.settle(first[0], .acknowledged)
        #expect(found4 == "delivered a")
        let found5 = outbox.messagesToSend().map(\.message.topic)
        #expect(found5 == ["c"])
    }

    @Test func `documents go before replies, replies before failures, failures before logs`() {
        var outbox = outbox(item("log", .log), item("fail", .failure), item("reply", .reply))
        outbox.published(.retained("state", []), version: 1)
        let found6 = outbox.messagesToSend().map(\.message.topic)
        #expect(found6 == ["state", "reply", "fail", "log"])
    }

    // It was left on disk, and the acknowledgement of the first delivery was taken for its own.
    @Test
    func
        `a reply that is sent again while it is under way goes out, though no more stored ones fit in memory`()
    {
        var outbox = outbox(
            memoryBytes: 300, item("a", .reply, .reply(sequence: 1), bytes: 200),
            item("b", .reply, .reply(sequence: 2), bytes: 200))
        let sent = outbox.messagesToSend()
        #expect(sent.map(\.message.topic) == ["a"])
        let first = item("a again", .reply, .reply(sequence: 1), bytes: 200)
        let again = OutboxItem(origin: first.origin, kind: .reply, message: first.message, isRepeat: true)
        let isTaken = outbox.enqueued(again)
        let repeated = outbox.messagesToSend()
        #expect(isTaken && repeated.map(\.message.topic) == ["a again"])
        // Only the end of the last one ends the row, since the agent may be killed between them.
        let ends = (sent + repeated).map { message in
            switch outbox.settled(PublishReceipt(token: message.token, result: .acknowledged), at: 0) {
            case .delivered(let item): item.origin
            default: OutboxItem.Origin.stored(sequence: 0)
            }
        }
        #expect(ends == [.volatile, .reply(sequence: 1)])
        let read = outbox.lineToRead()
        #expect(read?.line == .replies(on: "b"))
    }

    @Test func `what was under way when the connection went is sent again in its old order`() {
        var outbox = outbox(window: 3, item("a"), item("b"), item("c"), item("d"))
        let sent = outbox.messagesToSend()
        let found7 = outbox.settle(sent[1], .acknowledged)
        #expect(found7 == "delivered b")
        let found8 = outbox.settle(sent[2], .lost)
        #expect(found8 == nil)
        outbox.disconnected()
        let found9 = outbox.messagesToSend().isEmpty
        #expect(found9)
        outbox.connected(receiveMaximum: 10)
        let found10 = outbox.messagesToSend().map(\.message.topic)
        #expect(found10 == ["a", "c", "d"])
        #expect(outbox.count == 3)
    }

    // What was under way is kept without an order, and twenty messages come out of that in theirs only by it.
    @Test(arguments: [true, false])
    func `what was under way when the connection went keeps its order, also when nothing else waits`(
        isLost: Bool
    ) {
        let names = (10..<30).map { "m\($0)" }
        var outbox = outbox(window: 20)
        for name in names { _ = outbox.enqueued(item(name, .failure)) }
        let sent = outbox.messagesToSend()
        #expect(sent.count == 20)
        if isLost { for message in sent.shuffled() { _ = outbox.settle(message, .lost) } }
        outbox.disconnected()
        outbox.connected(receiveMaximum: 20)
        let again = outbox.messagesToSend().map(\.message.topic)
        #expect(again == names)
    }

    @Test func `documents under way count as messages, and those that a connection lost are sent again`() {
        var outbox = outbox(window: 2, item("a"), item("b"))
        outbox.published(.retained("state", [1]), version: 1)
        let sent = outbox.messagesToSend().map(\.message.topic)
        #expect(sent == ["state", "a"])
        let more = outbox.messagesToSend().map(\.message.topic)
        #expect(more == [])
        outbox.disconnected()
        outbox.connected(receiveMaximum: 20)
        let again = outbox.messagesToSend().map(\.message.topic)
        #expect(again == ["state", "a"])
    }

    @Test func `a document that was refused for a reason that may pass is tried again`() {
        var outbox = outbox()
        outbox.published(.retained("state", [1]), version: 1)
        let sent = outbox.messagesToSend()
        let refused = outbox.settle(sent[0], .refused(.quotaExceeded))
        #expect(refused == "retried")
        let none = outbox.messagesToSend().isEmpty
        #expect(none)
        outbox.retry(at: .max)
        let again = outbox.messagesToSend().map(\.message.topic)
        #expect(again == ["state"])
    }

    // MARK: Retained documents

    @Test func `a newer document takes the place of one that waits`() {
        var outbox = outbox()
        outbox.published(.retained("state", [1]), version: 1)
        outbox.published(.retained("health", [2]), version: 2)
        outbox.published(.retained("state", [3]), version: 3)
        let found11 = outbox.messagesToSend().map(\.message.payload)
        #expect(found11 == [[3], [2]])
    }

    @Test func `a document that was made before the newest one is not sent`() {
        var outbox = outbox()
        outbox.published(.retained("applied", [3]), version: 2)
        outbox.published(.retained("applied", [2]), version: 1)
        let found12 = outbox.messagesToSend().map(\.message.payload)
        #expect(found12 == [[3]])
        outbox.published(.retained("applied", [2]), version: 1)
        let found13 = outbox.messagesToSend().isEmpty
        #expect(found13)
    }

    // Both would be under way; one that was lost went again after the newer one, and the broker kept the old one.
    @Test(arguments: [true, false])
    func `one version of a document is under way at a time, and the newest goes last`(isLost: Bool) {
        var outbox = outbox()
        outbox.published(.retained("applied", [2]), version: 1)
        let old = outbox.messagesToSend()
        outbox.published(.retained("applied", [3]), version: 2)
        let found14 = outbox.messagesToSend().isEmpty
        #expect(found14)
        _ = outbox.settle(old[0], isLost ? .lost : .acknowledged)
        let found15 = outbox.messagesToSend().map(\.message.payload)
        #expect(found15 == [[3]])
    }

    // MARK: Refusals

    @Test(arguments: [0x80, 0x83, 0x97] as [UInt8])
    func `what is refused for a reason that may pass is tried again`(code: UInt8) {
        var outbox = outbox(item("a", .reply, .reply(sequence: 1)), item("log", .log))
        let sent = outbox.messagesToSend()
        for message in sent {
            let found16 = outbox.settle(message, .refused(ReasonCode(rawValue: code)))
            #expect(found16 == "retried")
        }
        let found17 = outbox.messagesToSend().isEmpty
        #expect(found17)
        #expect(!outbox.isEmpty)
        #expect(outbox.retryDue == 1_000)
        outbox.retry(at: 999)
        let tooEarly = outbox.messagesToSend()
        #expect(tooEarly.isEmpty)
        outbox.retry(at: 1_000)
        let found18 = outbox.messagesToSend().map(\.message.topic)
        #expect(found18 == ["a", "log"])
    }

    @Test func `what is stored and refused for good waits for the next connection; the rest is dropped`() {
        var outbox = outbox(
            item("fail", .failure, .stored(sequence: 1)), item("reply", .reply, .reply(sequence: 2)),
            item("log", .log))
        let results = outbox.messagesToSend().map { outbox.settle($0, .refused(.notAuthorized)) }
        #expect(results == ["kept reply", "kept fail", "dropped log"])
        #expect(outbox.refusedAndKept == 2)
        // This connection can deliver nothing more.
        #expect(outbox.isEmpty)
        outbox.disconnected()
        outbox.connected(receiveMaximum: 10)
        let found19 = outbox.messagesToSend().map(\.message.topic)
        #expect(found19 == ["reply", "fail"])
    }

    @Test func `a stored reply that is too large is handed back, for a smaller one`() {
        var outbox = outbox(item("reply", .reply, .reply(sequence: 2)))
        let sent = outbox.messagesToSend()
        let found20 = outbox.settle(sent[0], .rejected(.tooLarge))
        #expect(found20 == "too large reply")
        #expect(outbox.isEmpty)
    }

    // MARK: Limits

    @Test func `what is not stored is dropped beyond its limit`() {
        var outbox = outbox(volatileBytes: 3_000)
        var taken = 0
        for _ in 0..<100 where outbox.enqueued(item("log", .log, bytes: 800)) { taken += 1 }
        #expect(taken == 3)
        for message in outbox.messagesToSend() { _ = outbox.settle(message, .acknowledged) }
        let isTaken = outbox.enqueued(item("log", .log, bytes: 800))
        #expect(isTaken)
    }

    @Test func `what is stored is left on disk beyond its limit, and read when it is its turn`() {
        var outbox = outbox(memoryBytes: 2_000)
        let line = OutboxItem.Line.replies(on: "r")
        // 201 bytes each, with what is counted beside the payload.
        func reply(_ number: Int64) -> OutboxItem {
            item("r", .reply, .reply(sequence: number), bytes: 72)
        }
        for number in Int64(1)...20 {
            let isTaken = outbox.enqueued(reply(number))
            #expect(isTaken)
        }
        let first = outbox.messagesToSend()
        #expect(first.count == 9)
        // Those in flight are read behind, but for a quarter of the memory.
        for message in first.dropLast(2) {
            let isReadEarly = outbox.lineToRead() != nil
            #expect(!isReadEarly)
            _ = outbox.settle(message, .acknowledged)
        }
        let read = outbox.lineToRead()
        #expect(read?.line == line)
        #expect(read?.known == [8, 9])
        let isReadTwice = outbox.lineToRead() != nil
        #expect(!isReadTwice)
        // One more is stored while the disk is being read: it may or may not be among what was read.
        _ = outbox.enqueued(reply(21))
        outbox.read([reply(20)], of: line, isAll: true)
        let second = outbox.messagesToSend()
        #expect(second.count == 1)
        let isReadEarly = outbox.lineToRead() != nil
        #expect(!isReadEarly)
        _ = outbox.settle(first[7], .acknowledged)
        let next = outbox.lineToRead()
        #expect(next?.known == [9, 20])
        outbox.read([], of: line, isAll: true)
        let isReadAgain = outbox.lineToRead() != nil
        #expect(!isReadAgain)
    }

    @Test func `what the broker refused for good keeps nothing of its line on disk`() {
        var outbox = outbox(memoryBytes: 2_000)
        for number in Int64(1)...4 {
            _ = outbox.enqueued(item("r", .reply, .reply(sequence: number), bytes: 800))
        }
        for message in outbox.messagesToSend() {
            let found = outbox.settle(message, .refused(.notAuthorized))
            #expect(found == "kept r")
        }
        let read = outbox.lineToRead()
        #expect(read?.known == [1, 2])
    }

    // MARK: Pauses

    // Each delivery of another message began the pause anew: 41 times in 40 seconds.
    @Test func `a message that is refused is sent six times in forty seconds, whatever else arrives`() {
        var outbox = outbox(item("fail", .failure, .stored(sequence: 1)))
        var sent = 0
        for now in stride(from: Int64(0), to: 40_000, by: 100) {
            if let due = outbox.retryDue, due <= now { outbox.retry(at: now) }
            if now % 500 == 0 { _ = outbox.enqueued(item("other")) }
            for message in outbox.messagesToSend() {
                let isOurs = message.message.topic == "fail"
                sent += isOurs ? 1 : 0
                _ = outbox.settle(message, isOurs ? .refused(.quotaExceeded) : .acknowledged, at: now)
            }
        }
        #expect(sent == 6)
    }

    @Test func `a document that is refused has its pause, however often it is made anew`() {
        var outbox = outbox()
        var sent: [[UInt8]] = []
        for (version, now) in stride(from: Int64(0), to: 40_000, by: 100).enumerated() {
            if let due = outbox.retryDue, due <= now { outbox.retry(at: now) }
            outbox.published(.retained("health", [UInt8(version % 256)]), version: UInt64(version + 1))
            for message in outbox.messagesToSend() {
                sent.append(message.message.payload)
                _ = outbox.settle(message, .refused(.quotaExceeded), at: now)
            }
        }
        #expect(sent.count == 6)
        // What was the newest when the pause was over.
        let newest: [[UInt8]] = [[0], [10], [30], [70], [150], [54]]
        #expect(sent == newest)
        // Taken at last, it has a short pause again.
        outbox.retry(at: 100_000)
        for message in outbox.messagesToSend() { _ = outbox.settle(message, .acknowledged, at: 100_000) }
        outbox.published(.retained("health", [1]), version: 1_000)
        for message in outbox.messagesToSend() {
            _ = outbox.settle(message, .refused(.quotaExceeded), at: 100_000)
        }
        #expect(outbox.retryDue == 101_000)
    }

    @Test func `a new connection tries at once what was refused`() {
        var outbox = outbox(item("a", .reply, .reply(sequence: 1)))
        let sent = outbox.messagesToSend()
        _ = outbox.settle(sent[0], .refused(.quotaExceeded))
        outbox.disconnected()
        outbox.connected(receiveMaximum: 10)
        let again = outbox.messagesToSend()
        #expect(again.map(\.message.topic) == ["a"])
        #expect(outbox.retryDue == nil)
    }
}

extension OutboxState {
    /// What the broker's answer does, as text.
    fileprivate mutating func settle(
        _ message: OutgoingMessage, _ result: PublishReceipt.Result, at now: Int64 = 0
    ) -> String? {
        switch settled(PublishReceipt(token: message.token, result: result), at: now) {
        case nil: nil
        case .delivered(let item): "delivered \(item.message.topic)"
        case .tooLarge(let item): "too large \(item.message.topic)"
        case .kept(let item): "kept \(item.message.topic)"
        case .dropped(let item): "dropped \(item.message.topic)"
        case .retried: "retried"
        }
    }
}
