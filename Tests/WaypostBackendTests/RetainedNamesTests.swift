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
