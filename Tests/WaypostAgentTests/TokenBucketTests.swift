import Testing

@testable import WaypostAgent

@Suite struct `A bucket of tokens` {
    private func taken(_ bucket: inout TokenBucket, at now: Int64) -> Int {
        var count = 0
        while count < 100, bucket.take(at: now) { count += 1 }
        return count
    }

    @Test func `gives a whole burst at once, then one when its time is over, and never more than a burst`() {
        var bucket = TokenBucket(rate: 2, burst: 3, at: 0)
        let found = [0, 499, 500, 999, 1_000, 86_400_000].map { taken(&bucket, at: $0) }
        #expect(found == [3, 0, 1, 0, 1, 3])
    }

    @Test func `takes back what was taken for nothing, and no more than fits`() {
        var bucket = TokenBucket(rate: 1, burst: 2, at: 0)
        for _ in 0..<5 { bucket.refund() }
        let full = taken(&bucket, at: 0)
        bucket.refund()
        let again = taken(&bucket, at: 0)
        #expect([full, again] == [2, 1])
    }
}
