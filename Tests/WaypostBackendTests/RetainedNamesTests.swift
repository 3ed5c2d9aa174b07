import MQTTLink
import Testing
import WaypostMessages

@testable import WaypostBackend

/// Whether all agents came that a broker keeps, which drops what is not read in time.
@Suite struct RetainedNamesTests {
    private let topics = Topics.standard

    /// The states of some agents and the health of the first, with which a reading begins.
    private func began(states: ClosedRange<Int>) -> RetainedNames {
        var names = RetainedNames(topics)
        for number in states { names.saw(topics.state(of: "k\(number)")) }
        names.saw(topics.health(of: "k1"))
        return names
    }

    @Test func `so few that any broker holds them are all`() {
        #expect(!began(states: 1...50).mayBeMore)
        #expect(began(states: 1...90).mayBeMore)
    }

    @Test func `a round has its end when what is asked for behind the states came`() {
        var names = began(states: 1...100)
        let first = names.nextRound()
        #expect(first.count == 100)
        #expect(names.last == [topics.health(of: "k1")])
        for number in 1...100 { names.saw(topics.state(of: "k\(number)")) }
        #expect(!names.hasLast)
        names.saw(topics.health(of: "k1"))
        #expect(names.hasLast)
        #expect(names.nextRound() == first)
        #expect(!names.hasLast)
    }

    @Test func `a state that is asked for behind the states comes twice`() {
        var names = RetainedNames(topics)
        for number in 1...100 { names.saw(topics.state(of: "k\(number)")) }
        _ = names.nextRound()
        #expect(names.last.count == 3)
        for topic in names.last { names.saw(topic) }
        #expect(!names.hasLast)
        for topic in names.last { names.saw(topic) }
        #expect(names.hasLast)
    }

    @Test func `what one lacks that others have is missing`() {
        #expect(began(states: 1...3).missing == [topics.health(of: "k2"), topics.health(of: "k3")])
    }
}

/// When a broker has sent all that it keeps, in times of milliseconds since the reading began.
@Suite struct RetainedSilenceTests {
    private let start = ContinuousClock.now
    private var silence: RetainedSilence

    init() { silence = RetainedSilence(within: .seconds(30), until: start + .seconds(120), at: start) }

    private func at(_ time: Int) -> ContinuousClock.Instant { start + .milliseconds(time) }

    private mutating func saw(_ topic: String, at time: Int, isRetained: Bool = true) {
        silence.saw(MQTTMessage(topic: topic, payload: [], retain: isRetained), at: at(time))
    }

    @Test mutating func `it is all when nothing new came for a round trip behind the answer, or 200 ms`() {
        saw("a", at: 50)
        let isAsked = silence.asksAgain(behindAnswerAfter: .milliseconds(100), at: at(100))
        #expect(!isAsked)
        #expect(silence.reading(at: at(100)) == .open(until: at(250)))
        saw("b", at: 200)
        #expect(silence.reading(at: at(399)) == .open(until: at(400)))
        #expect(silence.reading(at: at(400)) == .whole)
    }

    @Test mutating func `what comes again and what is not kept is nothing new`() {
        saw("a", at: 50)
        saw("a", at: 200)
        saw("b", at: 200, isRetained: false)
        _ = silence.asksAgain(behindAnswerAfter: .milliseconds(10), at: at(60))
        #expect(silence.reading(at: at(250)) == .whole)
    }

    @Test
    mutating func `a late answer is no measure: the broker is asked once more, and three times as long`() {
        saw("a", at: 28_000)
        let isAsked = silence.asksAgain(behindAnswerAfter: .seconds(28), at: at(28_000))
        #expect(isAsked)
        #expect(silence.reading(at: at(60_000)) == .open(until: at(112_000)))
        let isAskedAgain = silence.asksAgain(behindAnswerAfter: .seconds(5), at: at(33_000))
        #expect(!isAskedAgain)
        #expect(silence.reading(at: at(33_000)) == .whole)
    }

    @Test func `a broker that sends nothing and answers nothing is late after the limit`() {
        #expect(silence.reading(at: at(29_999)) == .open(until: at(30_000)))
        #expect(silence.reading(at: at(30_000)) == .late)
    }

    @Test mutating func `one that sends new things all the time has four limits and no more`() {
        for time in stride(from: 0, through: 110_000, by: 10_000) { saw("\(time)", at: time) }
        #expect(silence.reading(at: at(119_999)) == .open(until: at(120_000)))
        #expect(silence.reading(at: at(120_000)) == .late)
    }
}
