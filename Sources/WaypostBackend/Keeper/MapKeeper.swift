import MQTTLink
import Waypost
import WaypostFleet
import WaypostMessages

/// Keeps maps in force at brokers that forget: an agent that has an older map, or none, gets the wanted one again, and
/// so does a broker that has none for an agent.
///
/// A map that is newer than the wanted one is never replaced. Several keepers do not repeat each other.
///
/// A value without clock and socket.
struct MapKeeper: Sendable {
    /// How long a document waits, so that many agents that come at once are served by one.
    static let jitter: ClosedRange<Int64> = 50...2_000
    /// How often one document is published at most, in milliseconds.
    static let interval: Int64 = 5_000
    /// How many documents a second are published at most.
    static let rate = 100
    /// How long an agent may be silent, in milliseconds, before it is said that there is none.
    static let patience: Int64 = 10_000

    private let topics: Topics
    private let wanted: [Audience: WantedMap]
    private var agents: [String: FleetAgent] = [:]
    /// What agents said last, for those whose groups are not known yet.
    private var waiting: [String: AppliedMap] = [:]
    /// When a document is published.
    private var due: [Audience: Int64] = [:]
    private var published: [Audience: Int64] = [:]
    /// The highest revision that the broker had of each wanted map.
    private var seen: [Audience: Int64] = [:]
    /// The maps of which it was said that agents have a newer one.
    private var said: Set<Audience> = []
    /// Those that are newer than what is wanted, until they are taken.
    private var overtaken: [(audience: Audience, revision: Int64, wanted: Int64)] = []
    /// The agents and groups of which no agent spoke yet, until they are taken.
    private var unheard: Set<Audience>
    private var began: Int64?
    private var second: (start: Int64, count: Int) = (0, 0)
    /// How much of each agent is read, and when one is served again.
    private var shares = ReadingShares()
    private var wishes: [Audience: RepeatedWishes] = [:]
    /// Which revision agents say to have in force: one alone does not say what the others have.
    private var reported: [Audience: MembersNumbers] = [:]

    init(_ wanted: [WantedMap], topics: Topics) {
        self.topics = topics
        self.wanted = Dictionary(wanted.map { ($0.audience, $0) }) { $0.revision > $1.revision ? $0 : $1 }
        unheard = Set(self.wanted.keys)
    }

    /// What must be subscribed to.
    static func filters(_ topics: Topics) -> [String] {
        [topics.applied(of: "+"), topics.health(of: "+"), "\(topics.root)/+/map"]
    }

    /// Whether only what is wanted is published.
    private var isConsistent: Bool { due.keys.allSatisfy { wanted[$0] != nil } && second.count <= Self.rate }

    /// A message came.
    ///
    /// - Parameter chance: Spreads the documents over a while.
    mutating func saw(
        _ message: MQTTMessage, at now: Int64, using chance: inout some RandomNumberGenerator
    ) {
        defer { assert(isConsistent) }
        if case .map(let audience)? = topics.inbound(message.topic) {
            return sawMap(message, for: audience, at: now)
        }
        guard let (agent, content) = topics.outbound(message.topic),
            shares.take(message.payload.count, content, of: agent, at: now) == .read
        else { return }
        unheard.subtract([.agent(agent), .all])
        let news = agents[agent, default: FleetAgent()].take(content, message.seen, at: now)
        let groups = agents[agent]?.groups
        let member = (groups ?? []).map { Audience.group($0) }
        switch news {
        case .health?:
            unheard.subtract(member)
            if let applied = waiting.removeValue(forKey: agent) {
                check(applied, of: agent, member, at: now, using: &chance)
            }
        case .applied(let applied, _)?:
            check(applied, of: agent, [.agent(agent), .all] + member, at: now, using: &chance)
            if groups == nil { waiting[agent] = applied }
        case .state?, .unreadable?, nil: return
        }
    }

    /// The broker keeps a map, or one was sent.
    private mutating func sawMap(_ message: MQTTMessage, for audience: Audience, at now: Int64) {
        guard let map = wanted[audience], !message.payload.isEmpty else { return }
        let found = Relocation(document: message.payload, .map)
        saw(found.document?.revision ?? 0, of: map)
        guard found.digest == map.digest, !message.retain else { return }
        // Another keeper, or we ourselves.
        published[audience] = now
        due[audience] = nil
    }

    private mutating func saw(_ revision: Int64, of map: WantedMap) {
        guard revision > max(map.revision, seen[map.audience] ?? 0) else { return }
        seen[map.audience] = revision
        due[map.audience] = nil
        overtaken.append((map.audience, revision, map.revision))
    }

    /// Maps of which a newer one than the wanted was found since the last call: those are left alone.
    mutating func takeOvertaken() -> [(audience: Audience, revision: Int64, wanted: Int64)] {
        defer { assert(isConsistent) }
        defer { overtaken = [] }
        return overtaken
    }

    /// The agents and groups with a wanted map that no agent has spoken for in ten seconds; each once.
    mutating func takeUnheard(at now: Int64) -> [Audience] {
        defer { assert(isConsistent) }
        guard now - (began ?? now) >= Self.patience else {
            began = began ?? now
            return []
        }
        defer { unheard = [] }
        return unheard.sorted { $0.description < $1.description }
    }

    private mutating func check(
        _ applied: AppliedMap, of agent: String, _ audiences: [Audience], at now: Int64,
        using chance: inout some RandomNumberGenerator
    ) {
        for audience in audiences {
            guard let map = wanted[audience] else { continue }
            let layer = applied.layers.first { $0.name == map.layer }
            // A candidate of a roll-out may yet be taken back.
            let isTried = applied.rollouts.contains { $0.layer == map.layer && $0.place == .next }
            if !isTried { reported[audience, default: MembersNumbers()].claims[agent] = layer?.revision ?? 0 }
            guard seen[audience] == nil, applied.isWanted || lacks(map, applied, layer) else { continue }
            let earliest = (published[audience] ?? .min / 2) + Self.interval
            let granted = wishes[audience, default: RepeatedWishes()].time(of: agent, at: now)
            let time = max(earliest, granted, now + Int64.random(in: Self.jitter, using: &chance))
            due[audience] = min(due[audience] ?? .max, time)
        }
    }

    /// Whether an agent has an older map than the wanted one, or none, and has not refused it.
    private func lacks(_ map: WantedMap, _ applied: AppliedMap, _ layer: AppliedMap.Layer?) -> Bool {
        if let refused = applied.refused, refused.digest == map.digest { return false }
        return layer?.revision ?? 0 < map.revision
    }

    /// What is to be published now.
    mutating func takeDue(at now: Int64) -> [MQTTMessage] {
        defer { assert(isConsistent) }
        if now - second.start >= 1_000 { second = (now, 0) }
        var messages: [MQTTMessage] = []
        for (audience, time) in due.sorted(by: {
            ($0.value, $0.key.description) < ($1.value, $1.key.description)
        })
        where time <= now && second.count < Self.rate {
            due[audience] = nil
            guard let map = wanted[audience] else { continue }
            // Now all that the broker keeps of agents was read.
            if let revision = reported[audience]?.warning(above: map.revision) {
                if said.insert(audience).inserted { overtaken.append((audience, revision, map.revision)) }
                continue
            }
            published[audience] = now
            second.count += 1
            messages.append(.json(topics.map(of: audience), map.payload, retain: true))
        }
        return messages
    }
}
