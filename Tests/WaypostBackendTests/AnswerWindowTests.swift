import Testing

@testable import WaypostBackend

/// How long `agents --ask` and the plan of a roll-out wait for the agents.
@Suite struct AnswerWindowTests {
    @Test func `the first answer may take as long as was asked for, behind the spread`() {
        let window = AnswerWindow(asked: 1_000, spread: 2_000, wait: 60_000)
        #expect(window.end == 63_000)
        #expect(!window.isCutShort)
    }

    @Test func `after a quick answer 3 s of silence behind the spread are the end`() {
        var window = AnswerWindow(asked: 0, spread: 2_000, wait: 60_000)
        window.answered(at: 40)
        #expect(window.end == 5_000)
        window.answered(at: 4_900)
        #expect(window.end == 7_900)
        #expect(!window.isCutShort)
    }

    @Test func `after a late one the others may be as late`() {
        var window = AnswerWindow(asked: 0, spread: 2_000, wait: 60_000)
        window.answered(at: 20_000)
        #expect(window.end == 40_000)
        window.answered(at: 30_000)
        #expect(window.end == 50_000)
    }

    @Test func `after one that took more than a minute a minute of silence is the end, and they were all`() {
        var window = AnswerWindow(asked: 0, spread: 2_000, wait: 300_000)
        window.answered(at: 100_000)
        #expect(window.end == 160_000)
        #expect(!window.isCutShort)
    }

    @Test func `answers that never end have a minute from the first on, and were not all`() {
        var window = AnswerWindow(asked: 0, spread: 0, wait: 600_000)
        for time in stride(from: 100_000, through: 200_000, by: 1_000) as StrideThrough<Int64> {
            window.answered(at: time)
        }
        #expect(window.end == 160_000)
        #expect(window.isCutShort)
    }
}
