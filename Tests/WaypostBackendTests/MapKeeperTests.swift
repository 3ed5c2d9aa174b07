import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend

/// Maps that are kept in force at brokers that forget.
@Suite struct MapKeeperTests {
    private let topics = Topics.standard
    private var chance = SeededGenerator(seed: 5)

    private func wanted(_ audience: Audience, _ revision: Int64) throws -> WantedMap {
        let map = MapDocument.map(id: "m", revision: revision, entries: [])
        return try WantedMap(file: map, for: audience.description, name: "map.json")
    }

    private func applied(_ agent: String, _ layers: [(String, Int64)], isWanted: Bool = false) -> MQTTMessage
    {
        var applied = AppliedMap()
        applied.layers = layers.map { .init(name: $0, revision: $1, digest: "sha256:x", at: 0) }
        applied.isWanted = isWanted
        return .json(topics.applied(of: agent), applied.encoded(), retain: true)
    }

    private func health(_ agent: String, _ groups: [String]) -> MQTTMessage {
        let json: JSONValue = ["groups": .array(groups.map(JSONValue.string))]
        return .json(topics.health(of: agent), json.serialized(), retain: true)
    }

    @Test mutating func `an older map, and none, have the wanted one published again`() throws {
        var keeper = MapKeeper(
            [try wanted(.agent("k1"), 7), try wanted(.group("lobby"), 42)], topics: topics)
        keeper.saw(applied("k1", [("agent", 6)]), at: 0, using: &chance)
        #expect(keeper.takeDue(at: 0).isEmpty)
        #expect(keeper.takeDue(at: 2_000).map(\.topic) == ["waypost/v1/k1/map"])
        keeper.saw(applied("k1", [("agent", 7)]), at: 3_000, using: &chance)
        #expect(keeper.takeDue(at: 90_000).isEmpty)
        // Which group it is in comes with its health.
        keeper.saw(applied("k2", [], isWanted: true), at: 90_000, using: &chance)
        #expect(keeper.takeDue(at: 99_000).isEmpty)
        keeper.saw(health("k2", ["lobby"]), at: 99_000, using: &chance)
        let messages = keeper.takeDue(at: 102_000)
        #expect(messages.map(\.topic) == ["waypost/v1/@lobby/map"] && messages[0].retain)
    }

    @Test mutating func `a map for no one is named once`() throws {
        var keeper = MapKeeper(
            try [
                .agent("k1"), .agent("k9"), .group("lobby"), .group("shop"), .all,
            ].map { try wanted($0, 7) }, topics: topics)
        #expect(keeper.takeUnheard(at: 0).isEmpty)
        keeper.saw(applied("k1", []), at: 0, using: &chance)
        keeper.saw(health("k2", ["lobby"]), at: 0, using: &chance)
        #expect(keeper.takeUnheard(at: 9_999).isEmpty)
        #expect(keeper.takeUnheard(at: 10_000) == [.group("shop"), .agent("k9")])
        #expect(keeper.takeUnheard(at: 30_000).isEmpty)
    }

    @Test mutating func `one publish serves all agents of a group`() throws {
        var keeper = MapKeeper([try wanted(.group("lobby"), 42)], topics: topics)
        for number in 1...500 {
            keeper.saw(health("k\(number)", ["lobby"]), at: 0, using: &chance)
            keeper.saw(applied("k\(number)", [("@lobby", 41)]), at: 0, using: &chance)
        }
        #expect(keeper.takeDue(at: 2_000).count == 1)
        keeper.saw(applied("k1", [("@lobby", 41)]), at: 2_100, using: &chance)
        #expect(keeper.takeDue(at: 6_900).isEmpty)
        #expect(keeper.takeDue(at: 7_100).count == 1)
    }

    @Test mutating func `at most a hundred a second are published`() throws {
        var keeper = MapKeeper(
            try (1...250).map { try wanted(.agent("k\($0)"), 7) }, topics: topics)
        for number in 1...250 { keeper.saw(applied("k\(number)", []), at: 0, using: &chance) }
        #expect(keeper.takeDue(at: 5_000).count == 100)
        #expect(keeper.takeDue(at: 5_900).isEmpty)
        #expect(keeper.takeDue(at: 6_000).count == 100)
        #expect(keeper.takeDue(at: 7_000).count == 50)
    }

    @Test mutating func `what an agent has refused is not sent for ever, nor a newer map replaced`() throws {
        let map = try wanted(.agent("k1"), 7)
        var keeper = MapKeeper([map], topics: topics)
        var applied = AppliedMap()
        applied.refused = .init(
            layer: "agent", revision: 7, digest: map.digest, code: .cycle, detail: "a → a", at: 0)
        keeper.saw(.json(topics.applied(of: "k1"), applied.encoded()), at: 0, using: &chance)
        keeper.saw(self.applied("k1", [("agent", 8)]), at: 0, using: &chance)
        #expect(keeper.takeDue(at: 90_000).isEmpty)
    }

    @Test mutating func `an agent that got no map from its broker has it published, whatever it has`() throws
    {
        let map = try wanted(.group("lobby"), 42)
        var keeper = MapKeeper([map], topics: topics)
        keeper.saw(health("k1", ["lobby"]), at: 0, using: &chance)
        keeper.saw(applied("k1", [("@lobby", 42)]), at: 0, using: &chance)
        #expect(keeper.takeDue(at: 10_000).isEmpty)
        keeper.saw(applied("k1", [("@lobby", 42)], isWanted: true), at: 10_000, using: &chance)
        #expect(keeper.takeDue(at: 13_000).map(\.topic) == ["waypost/v1/@lobby/map"])
    }

    @Test(arguments: ["at an agent", "at the broker"])
    mutating func `a newer map than the wanted one is left alone, and said once`(_ place: String) throws {
        var keeper = MapKeeper([try wanted(.group("lobby"), 41)], topics: topics)
        keeper.saw(health("k1", ["lobby"]), at: 0, using: &chance)
        keeper.saw(health("k2", ["lobby"]), at: 0, using: &chance)
        // A new agent, which has none yet.
        keeper.saw(applied("k2", []), at: 0, using: &chance)
        if place == "at an agent" {
            keeper.saw(applied("k1", [("@lobby", 45)]), at: 0, using: &chance)
        } else {
            let map = MapDocument.map(id: "m", revision: 45, entries: [])
            keeper.saw(.json("waypost/v1/@lobby/map", map, retain: true), at: 0, using: &chance)
        }
        keeper.saw(applied("k2", []), at: 1_000, using: &chance)
        #expect(keeper.takeDue(at: 10_000).isEmpty)
        #expect(keeper.takeOvertaken().map { [$0.revision, $0.wanted] } == [[45, 41]])
        #expect(keeper.takeOvertaken().isEmpty)
    }

    @Test
    mutating func `what one of a group says of its map neither ends the keeper's work nor makes more of it`()
        throws
    {
        var keeper = MapKeeper([try wanted(.group("lobby"), 41)], topics: topics)
        for number in 1...6 { keeper.saw(health("k\(number)", ["lobby"]), at: 0, using: &chance) }
        // The liar is heard first.
        keeper.saw(applied("k6", [("@lobby", Fields.largestInteger)]), at: 0, using: &chance)
        for number in 1...5 { keeper.saw(applied("k\(number)", []), at: 0, using: &chance) }
        #expect(keeper.takeDue(at: 3_000).map(\.topic) == ["waypost/v1/@lobby/map"])
        #expect(keeper.takeOvertaken().isEmpty)
        for number in 1...5 {
            keeper.saw(applied("k\(number)", [("@lobby", 41)]), at: 4_000, using: &chance)
        }
        // It says that it has none, ten times a second for half an hour.
        var published = 0
        for step in 0..<18_000 as Range<Int64> {
            let now = 10_000 + step * 100
            keeper.saw(applied("k6", [], isWanted: true), at: now, using: &chance)
            published += keeper.takeDue(at: now).count
        }
        #expect((1...10).contains(published), "\(published)")
    }

    @Test mutating func `a candidate that a roll-out tries is not newer than what is wanted`() throws {
        var keeper = MapKeeper([try wanted(.group("lobby"), 41)], topics: topics)
        keeper.saw(health("k1", ["lobby"]), at: 0, using: &chance)
        var trying = AppliedMap()
        trying.layers = [.init(name: "@lobby", revision: 42, digest: "sha256:x", at: 0)]
        trying.rollouts = [
            .init(layer: "@lobby", id: "r-1", epoch: 1, sequence: 1, place: .next, reason: .chosen)
        ]
        keeper.saw(.json(topics.applied(of: "k1"), trying.encoded()), at: 0, using: &chance)
        #expect(keeper.takeOvertaken().isEmpty)
        keeper.saw(health("k2", ["lobby"]), at: 0, using: &chance)
        keeper.saw(applied("k2", []), at: 0, using: &chance)
        #expect(keeper.takeDue(at: 3_000).count == 1)
    }

    @Test mutating func `what another keeper has just published is not published again`() throws {
        let map = try wanted(.group("lobby"), 41)
        var keeper = MapKeeper([map], topics: topics)
        keeper.saw(health("k1", ["lobby"]), at: 0, using: &chance)
        keeper.saw(applied("k1", []), at: 0, using: &chance)
        keeper.saw(.json("waypost/v1/@lobby/map", map.payload), at: 10, using: &chance)
        #expect(keeper.takeDue(at: 4_000).isEmpty)
    }

    @Test func `a file that is no map, or for another one, is refused`() throws {
        for text in ["[]", #"{"type":"patch","entries":[]}"#, "{"] {
            #expect(throws: BackendError.self) {
                try WantedMap(file: Array(text.utf8), for: "k1", name: "k1.json")
            }
        }
        #expect(throws: BackendError.self) {
            try WantedMap(
                file: Array(#"{"type":"map","rev":1,"aud":"k2","entries":[]}"#.utf8), for: "k1",
                name: "k1.json")
        }
        #expect(throws: BackendError.self) {
            try WantedMap(file: wanted(.all, 1).payload, for: "#lobby", name: "#lobby.json")
        }
    }
}
