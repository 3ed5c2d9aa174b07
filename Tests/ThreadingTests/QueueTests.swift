import TestSupport
import Testing
import Threading

@Suite struct `A queue` {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func `gives back what came, in order, whatever comes meanwhile`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queue = Queue<Int>()
        var expected: [Int] = []
        for number in 0..<5_000 {
            if Int.random(in: 0..<100, using: &random) < 60 {
                queue.append(number)
                expected.append(number)
            } else {
                #expect(queue.popFirst() == (expected.isEmpty ? nil : expected.removeFirst()), "seed \(seed)")
            }
            if number % 500 == 0 {
                queue.removeAll { $0 % 7 == 0 }
                expected.removeAll { $0 % 7 == 0 }
            }
            #expect(queue.count == expected.count, "seed \(seed)")
        }
        #expect(Array(queue) == expected, "seed \(seed)")
    }
}
