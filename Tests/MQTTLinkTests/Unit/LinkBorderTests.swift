import TestSupport
import Testing

@testable import MQTTLink

/// What a link decides without a socket, each at its border and beside it.
struct LinkBorderTests {
    private let broker = BrokerURL(host: "one", port: 1883)

    @Test func `behind a large message the next look is later, and not at once again`() {
        var clock = ManualClock()
        var keepAlive = KeepAliveClock(interval: .seconds(30), at: clock.now)
        clock.turn(.seconds(15))
        _ = keepAlive.step(isBlocked: true, at: clock.now)
        clock.turn(.seconds(15))
        #expect(keepAlive.step(isBlocked: true, at: clock.now) == nil && keepAlive.due > clock.now)
    }

    @Test func `the same cause is news again after ten minutes, another one at once`() {
        let now = ContinuousClock.now
        var memory = LinkState.BrokerMemory()
        #expect(memory.isNews(.timedOut, at: now))
        (memory.reported, memory.conflictReported) = ((.timedOut, now), now)
        for (time, isOver) in [(Duration.milliseconds(599_999), false), (.seconds(600), true)] {
            #expect(memory.isNews(.timedOut, at: now + time) == isOver)
            #expect(memory.isConflictKnown(at: now + time) == !isOver)
            #expect(memory.isNews(.closedByBroker, at: now + time))
        }
    }

    @Test(arguments: [(0, 0), (1, 1)]) func `a queue holds so many bytes, and none more`(
        _ less: Int, _ dropped: Int
    ) throws {
        let message = MQTTMessage(topic: "t", payload: [1, 2, 3], qos: .atMostOnce)
        let size = try #require(message.packetSize(.v5))
        let queue = MessageQueue(limit: 10, byteLimit: 3 * size - less)
        queue.append([message, message, message])
        #expect(queue.dropped == dropped)
    }

    // The header of such a packet has five bytes, the most that there are.
    @Test func `of a skipped message with the longest topic its id is kept`() {
        let topic = String(repeating: "t", count: 65_535)
        let bytes = FakeConnection.publish(topic, Array(repeating: 7, count: 2_100_000), id: 515, version: 4)
        var packet = SkippedPacket()
        var place = 0
        while packet.wanted > 0, place < bytes.count {
            let end = min(place + packet.wanted, bytes.count)
            bytes[place..<end].withUnsafeBytes { packet.read($0) }
            place = end
        }
        #expect(packet.content == .message(topic: topic, id: 515, bytes: bytes.count))
    }

    @Test func `more than was wanted is granted`() {
        #expect(SubscribeRound.answer(1, wanted: .atMostOnce) == .granted)
    }

    @Test func `nobody goes back to the first broker as long as that asks to stay away`() throws {
        var settings = LinkState.Settings(brokers: [broker, BrokerURL(host: "two", port: 1883)])
        (settings.prefersFirst, settings.returnAfter) = (true, .seconds(1))
        settings.stayAway = (.seconds(100), .seconds(100))
        var (state, clock) = (LinkState(settings, random: SeededGenerator(seed: 1)), ManualClock())
        func goOnline() {
            _ = state.accepted(at: clock.now)
            _ = state.subscribed(at: clock.now)
        }
        _ = state.started(at: clock.now)
        goOnline()
        let left = clock.now
        _ = state.ended(.serverDisconnect(.serverMoved), at: clock.now)
        clock.turn(clock.now.duration(to: try #require(state.deadline)))
        _ = state.timePassed(at: clock.now)
        goOnline()
        // It is looked for, and is there each time.
        var isBack = false
        while !isBack {
            clock.turn(clock.now.duration(to: try #require(state.deadline)))
            #expect(state.timePassed(at: clock.now) == [.probe(broker: 0)])
            isBack = !state.probed(isThere: true, at: clock.now).isEmpty
        }
        #expect(clock.now >= left + .seconds(100) && clock.now < left + .seconds(102))
    }
}
