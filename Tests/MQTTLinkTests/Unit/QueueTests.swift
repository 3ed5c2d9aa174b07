import Testing

@testable import MQTTLink

struct QueueTests {
    private func messages(_ tokens: Range<UInt64>, bytes: Int = 1) -> [OutgoingMessage] {
        tokens.map {
            OutgoingMessage(
                token: $0, message: MQTTMessage(topic: "a", payload: Array(repeating: 0, count: bytes)))
        }
    }

    private func tokens(_ slice: ArraySlice<Mailbox.Waiting>) -> [UInt64] {
        slice.compactMap { if case .caller(let token) = $0.origin { token } else { nil } }
    }

    @Test func `messages are taken in order, as many as are asked for`() {
        let mailbox = Mailbox(limit: 10_000, byteLimit: .max)
        mailbox.publish(messages(0..<5_000))
        var taken: [UInt64] = []
        while !mailbox.isEmpty {
            taken += tokens(mailbox.take(700))
            if taken.count == 1_400 { mailbox.publish(messages(5_000..<6_000)) }
        }
        #expect(taken == Array(0..<6_000))
        #expect(mailbox.take(10).isEmpty)
        #expect(mailbox.take(-1).isEmpty)
    }

    @Test func `beyond the limit of messages they are turned away, the first ones stay`() {
        let mailbox = Mailbox(limit: 10, byteLimit: .max)
        mailbox.publish(messages(0..<15))
        #expect(mailbox.takeOrders().overflowed == Array(10..<15))
        #expect(tokens(mailbox.take(.max)) == Array(0..<10))
        mailbox.publish(messages(20..<21))
        #expect(mailbox.takeOrders().overflowed.isEmpty)
    }

    @Test func `the limit of bytes counts what waits, and lets a single large one through`() {
        let mailbox = Mailbox(limit: 100, byteLimit: 1_000)
        mailbox.publish(messages(0..<1, bytes: 5_000))
        mailbox.publish(messages(1..<2, bytes: 1))
        #expect(mailbox.takeOrders().overflowed == [1])
        #expect(tokens(mailbox.take(.max)) == [0])
        // Each has eight bytes more than its payload: the whole packet counts.
        mailbox.publish(messages(2..<13, bytes: 92))
        #expect(mailbox.takeOrders().overflowed == [12])
    }

    @Test func `the limit of bytes counts properties, too`() {
        let mailbox = Mailbox(limit: 100, byteLimit: 10_000)
        var message = MQTTMessage(topic: "a", payload: [])
        message.properties.user = [MQTTProperties.User("name", String(repeating: "x", count: 4_000))]
        mailbox.publish((0..<4).map { OutgoingMessage(token: $0, message: message) })
        #expect(mailbox.takeOrders().overflowed == [2, 3])
    }

    @Test func `nothing comes behind the goodbyes`() {
        let mailbox = Mailbox(limit: 1, byteLimit: .max)
        mailbox.publish(messages(0..<1))
        mailbox.append(goodbyes: [MQTTMessage(topic: "state", payload: [])])
        mailbox.publish(messages(1..<2))
        #expect(mailbox.takeOrders().late == [1])
        let waiting = mailbox.take(.max)
        #expect(waiting.map(\.origin) == [.caller(token: 0), .goodbye])
    }

    @Test func `a closed mailbox takes nothing and says so`() {
        let mailbox = Mailbox(limit: 10, byteLimit: .max)
        #expect(mailbox.post(.abandon))
        #expect(mailbox.close().commands.count == 1)
        #expect(!mailbox.post(.abandon))
    }

    @Test func `what is in flight is settled by id and lost in order`() {
        let now = ContinuousClock.now
        var inFlight = InFlight()
        for token in 0..<100 as Range<UInt64> {
            inFlight.sent(
                UInt16(1_000 - token), .caller(token: token), token % 2 == 0 ? .atLeastOnce : .atMostOnce)
        }
        inFlight.sent(5, .goodbye, .atLeastOnce)
        #expect(inFlight.unacknowledged == 51)
        #expect(inFlight.unwritten == 50)
        #expect(inFlight.goodbyes == 1)
        // Only a message at least once is acknowledged.
        #expect(inFlight.awaits(1_000) == true)
        #expect(inFlight.awaits(999) == false)
        #expect(inFlight.settled(1_000, at: now) == .caller(token: 0))
        #expect(inFlight.awaits(1_000) == false)
        #expect(inFlight.settled(1_000, at: now) == nil)
        let lost = inFlight.lostAll()
        #expect(lost == (1..<100).map { .caller(token: $0) } + [.goodbye])
        #expect(inFlight.isEmpty)
        #expect(inFlight.unacknowledged == 0)
    }

    @Test func `after half a keepalive the broker is asked, and after the other half it is gone`() {
        var clock = ManualClock()
        var keepAlive = KeepAliveClock(interval: .seconds(30), at: clock.now)
        clock.turn(.seconds(14))
        #expect(keepAlive.step(isBlocked: false, at: clock.now) == nil)
        clock.turn(.seconds(1))
        #expect(keepAlive.step(isBlocked: false, at: clock.now) == .ping)
        #expect(keepAlive.step(isBlocked: false, at: clock.now) == nil)
        clock.turn(.seconds(14))
        keepAlive.heard(at: clock.now)
        clock.turn(.seconds(1))
        // The ping counts as written, so 15 s after it the next one is due.
        #expect(keepAlive.step(isBlocked: false, at: clock.now) == .ping)
        clock.turn(.seconds(28))
        #expect(keepAlive.step(isBlocked: false, at: clock.now) == nil)
        clock.turn(.seconds(1))
        #expect(keepAlive.step(isBlocked: false, at: clock.now) == .broken)
    }

    @Test func `behind a large message a ping has another keepalive, and after a long sleep half of one`() {
        var clock = ManualClock()
        var keepAlive = KeepAliveClock(interval: .seconds(30), at: clock.now)
        clock.turn(.seconds(15))
        #expect(keepAlive.step(isBlocked: true, at: clock.now) == .ping)
        for _ in 0..<2 {
            clock.turn(.seconds(15))
            #expect(keepAlive.step(isBlocked: true, at: clock.now) == nil)
        }
        clock.turn(.seconds(15))
        #expect(keepAlive.step(isBlocked: true, at: clock.now) == .broken)
        keepAlive = KeepAliveClock(interval: .seconds(30), at: clock.now)
        clock.turn(.seconds(3_600))
        #expect(keepAlive.step(isBlocked: false, at: clock.now) == .ping)
        clock.turn(.seconds(14))
        #expect(keepAlive.step(isBlocked: false, at: clock.now) == nil)
    }

    @Test func `refused subscriptions are tried again later and later, until they are granted`() throws {
        var clock = ManualClock()
        var refused = RefusedSubscriptions(backoff: Backoff(first: .seconds(30), longest: .seconds(600)))
        let (no, yes) = (Subscription("no"), Subscription("yes"))
        let answers = [
            SubscriptionResult(subscription: no, answer: .refused(.notAuthorized)),
            SubscriptionResult(subscription: yes, answer: .granted),
        ]
        var ceiling = Duration.seconds(30)
        for _ in 0..<8 {
            refused.answered(answers, at: clock.now)
            let delay = clock.now.duration(to: try #require(refused.due))
            #expect(delay >= ceiling / 2 && delay <= ceiling)
            #expect(refused.take(at: clock.now).isEmpty)
            clock.turn(delay)
            #expect(refused.take(at: clock.now) == [no])
            // An answer is awaited.
            #expect(refused.due == nil)
            ceiling = min(ceiling * 2, .seconds(600))
        }
        refused.answered([answers[1]], at: clock.now)
        #expect(refused.due == nil)
    }

    @Test(arguments: [
        (UInt8(0), QoS.atMostOnce, SubscriptionResult.Answer.granted), (1, .atLeastOnce, .granted),
        (0, .atLeastOnce, .lowered(to: .atMostOnce)), (2, .atLeastOnce, .refused(ReasonCode(rawValue: 2))),
        (0x80, .atLeastOnce, .refused(ReasonCode(rawValue: 0x80))),
        (0x87, .atMostOnce, .refused(.notAuthorized)),
    ])
    func `a SUBACK's code becomes an answer`(code: UInt8, wanted: QoS, answer: SubscriptionResult.Answer) {
        #expect(SubscribeRound.answer(code, wanted: wanted) == answer)
    }
}
