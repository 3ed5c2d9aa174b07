import TestSupport
import Testing

@testable import Threading

@Suite struct `Jobs of several owners` {
    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func `run in order for each, all of them, and never more of one than its share`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let share = Int.random(in: 1...4, using: &random)
        var queue = FairQueue<(owner: String?, number: Int)>(share: share)
        var running: [String?] = []
        var taken: [String: Int] = [:]
        var added: [String: Int] = [:]
        for step in 1...5_000 {
            let owner = ["a", "b", "c", nil].randomElement(using: &random) ?? nil
            switch Int.random(in: 0...3, using: &random) {
            case 0 where step < 4_000:
                let number = added[owner ?? "", default: 0]
                added[owner ?? ""] = number + 1
                queue.append((owner, number), of: owner)
            case 1 where step < 4_000 && queue.hasSpace(for: owner):
                // As a borrowed thread does.
                queue.began(owner)
                running.append(owner)
            case 2:
                guard let index = running.indices.randomElement(using: &random) else { continue }
                queue.ended(running.remove(at: index))
            default:
                let (wasEmpty, count) = (queue.isEmpty, queue.count)
                guard let job = queue.popFirst() else {
                    #expect(wasEmpty && count == 0, "seed \(seed)")
                    continue
                }
                #expect(!wasEmpty && count > 0, "seed \(seed)")
                #expect(job.number == taken[job.owner ?? "", default: 0], "seed \(seed)")
                taken[job.owner ?? "", default: 0] += 1
                running.append(job.owner)
            }
            for owner in ["a", "b", "c"] {
                #expect(running.count { $0 == owner } <= share, "seed \(seed)")
            }
        }
        while !running.isEmpty || !queue.isEmpty {
            while let job = queue.popFirst() {
                taken[job.owner ?? "", default: 0] += 1
                running.append(job.owner)
            }
            for owner in running { queue.ended(owner) }
            running = []
        }
        #expect(taken == added, "seed \(seed)")
    }

    @Test func `have their turn one after the other, and those that wait without progress are named`() {
        var queue = FairQueue<String>(share: 2)
        for number in 1...4 { queue.append("a\(number)", of: "a") }
        queue.append("b1", of: "b")
        #expect((1...3).map { _ in queue.popFirst() } == ["a1", "b1", "a2"])
        #expect(queue.isEmpty && queue.popFirst() == nil)
        #expect(queue.look() == (true, []))
        #expect(queue.look() == (true, ["a"]))
        queue.ended("a")
        #expect(queue.popFirst() == "a3")
        #expect(queue.look() == (true, []))
    }
}
