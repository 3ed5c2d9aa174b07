import TestSupport
import Testing

@testable import MQTTLink

struct WrittenOrderTests {
    @Test func `a message counts from when it was written, and the oldest counts`() {
        let start = ContinuousClock.now
        var order = WrittenOrder()
        #expect(order.oldest == nil && !order.hasUnwritten)
        order.published(order: 1)
        order.published(order: 2)
        #expect(order.oldest == nil && order.hasUnwritten)
        order.wrote(at: start)
        order.published(order: 3)
        order.wrote(at: start + .seconds(1))
        #expect(order.oldest == start && !order.hasUnwritten)
        // Others are acknowledged, and it is not.
        order.answered(order: 2, at: start + .seconds(2))
        order.answered(order: 3, at: start + .seconds(3))
        #expect(order.oldest == start)
        order.answered(order: 1, at: start + .seconds(4))
        #expect(order.oldest == nil)
    }

    @Test func `what comes behind an acknowledged message may still wait to be written`() {
        let start = ContinuousClock.now
        var order = WrittenOrder()
        for number in UInt64(1)...4 { order.published(order: number) }
        // Of a slow connection the socket is never empty; the broker has what is in front of this.
        order.answered(order: 2, at: start)
        #expect(order.oldest == start && order.hasUnwritten)
        order.answered(order: 1, at: start + .seconds(1))
        #expect(order.oldest == nil && order.hasUnwritten)
    }

    @Test(arguments: 0..<10)
    func `the oldest is that of a plain list`(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let start = ContinuousClock.now
        var order = WrittenOrder()
        var list: [(order: UInt64, written: ContinuousClock.Instant?)] = []
        var last: UInt64 = 0
        for step in 0..<2_000 {
            let now = start + .milliseconds(step)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                last += UInt64.random(in: 1...3, using: &random)
                order.published(order: last)
                list.append((last, nil))
            case 5:
                order.wrote(at: now)
                for index in list.indices where list[index].written == nil { list[index].written = now }
            default:
                guard let index = list.indices.randomElement(using: &random) else { continue }
                let answered = list.remove(at: index)
                order.answered(order: answered.order, at: now)
                for index in list.indices
                where list[index].written == nil && list[index].order < answered.order {
                    list[index].written = now
                }
            }
            #expect(order.oldest == list.first?.written, "seed \(seed), step \(step)")
            #expect(order.hasUnwritten == list.contains { $0.written == nil }, "seed \(seed), step \(step)")
        }
    }
}
