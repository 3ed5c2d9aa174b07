package import Waypost
package import WaypostMessages

/// The agents at a broker, from their retained states and health documents.
package struct Roster: Sendable {
    /// One agent, with its documents.
    @dynamicMemberLookup
    package struct Member: Sendable {
        fileprivate var known = FleetAgent()
        /// As it came: a tree takes ten times as much.
        private var stateText: [UInt8] = []
        /// Without what only a page of this agent shows, see ``wholeHealth``: of ten thousand that would be most of the memory.
        package fileprivate(set) var health: Health?
        /// The map in force, from `map/applied`.
        package fileprivate(set) var map: AppliedMap?
        private var healthText: [UInt8] = []
        private var mapText: [UInt8] = []
        /// When it gave its health to us; nil when it is what the broker kept.
        package fileprivate(set) var askedAt: Int64?
        /// How far its clock is behind ours, in milliseconds, from health that came as it was written.
        fileprivate(set) var healthLag: Int64?
        /// What the documents weigh, see ``JSONValue/weight``.
        fileprivate var weights = (state: 0, health: 0, map: 0)

        package subscript<Value>(dynamicMember path: KeyPath<FleetAgent, Value>) -> Value {
            known[keyPath: path]
        }

        /// What it says of itself on the connection that it has; nil when that is not known: what was true before it went is
        /// true no more.
        package var currentHealth: Health? {
            guard self.isOnline == true, let health else { return nil }
            // One that does not say on which connection it was written is taken for new.
            return (health.epoch ?? .max) < self.state?.epoch ?? .min ? nil : health
        }
        /// The map in force, as far as it said so.
        package var mapSummary: MapSummary? { map.map { MapSummary($0) } ?? health?.map }
        /// The layers in force; from health alone they have no digest and no time.
        package var layers: [AppliedMap.Layer] { map?.layers ?? health?.map.layers ?? [] }

        /// Whether it is in that group, as far as it said so.
        package func isIn(_ group: String) -> Bool { known.isIn(group) }

        fileprivate var weight: Int { weights.state + weights.health + weights.map }
        /// With the checks that are well, and the counters.
        package var wholeHealth: Health? { Self.json(healthText).map { Health($0) } }
        fileprivate var stateJSON: JSONValue? { Self.json(stateText) }
        fileprivate var mapJSON: JSONValue? { Self.json(mapText) }

        private static func json(_ text: [UInt8]) -> JSONValue? {
            text.isEmpty ? nil : try? JSONValue(parsing: text, limits: .shown)
        }

        fileprivate mutating func forgetTexts() {
            (stateText, healthText, mapText) = ([], [], [])
        }

        fileprivate mutating func take(
            _ content: OutboundTopic, _ message: SeenMessage, _ shared: inout SharedParts, now: Int64
        ) {
            switch known.take(content, message, at: now) {
            case .state?:
                (stateText, weights.state) = (message.payload, message.payload.count)
            case .health(let new?)?:
                let age = new.at.map { now.subtracting(clamping: $0) }
                if age.map({ $0.magnitude <= Roster.longestSilence }) ?? false { known.spoke() }
                let json = shared.share(new.withoutDetails.json)
                (health, healthLag, askedAt) = (Health(json), message.isRetained ? nil : age, nil)
                (healthText, weights.health) = (message.payload, message.payload.count + json.weight)
            case .applied(let applied, let json)?:
                // The text, and what was read of it.
                (map, mapText, weights.map) = (applied, message.payload, message.payload.count + json.weight)
            case .health(nil)?, .unreadable?, nil: break
            }
        }

        /// It was not lost: its state is again the one before.
        fileprivate mutating func takeBackState(of before: Member) {
            known.takeBackState(of: before.known)
            (stateText, weights.state) = (before.stateText, before.weights.state)
        }
    }

    package let topics: Topics
    /// Whether there are more agents than are kept.
    private var isFull = false
    /// Why a part of what the broker keeps did not come; nil when all came, or is not known yet.
    package var cutOff: String?
    /// Why there may be agents that are not among these.
    ///
    /// While it is not nil, nothing is said of an agent, a group or a number because it is not here.
    package var gap: String? {
        isFull ? "more than \(members.count) agents, or longer documents than theirs, are not kept" : cutOff
    }
    package private(set) var members: [String: Member] = [:]
    private let keepsTexts: Bool
    private let maximumMembers: Int
    private let maximumBytes: Int
    private var bytes = 0
    private var shared = SharedParts()
    /// What those were that were lost a moment ago: perhaps it is the broker that ends.
    private var beforeWills: [String: Member] = [:]
    /// When the last of them was lost.
    private var lastWill: Int64 = .min

    /// A broker that ends sends the wills of all agents, and is gone itself within this time, in milliseconds.
    package static let brokersEnd: Int64 = 1_000
    /// Of more agents that are lost at once none is taken back.
    private static let maximumWills = 10_000

    /// - Parameters:
    ///   - keepsTexts: whether the documents are wanted as JSON, and all of an agent's health.
    ///   - maximumMembers: further agents are not kept; more than one broker serves.
    ///   - maximumBytes: the most that the documents may take together as they are held; those of an agent take some
    ///     10 KiB.
    package init(
        topics: Topics, keepsTexts: Bool = true, maximumMembers: Int = 100_000, maximumBytes: Int = 2 << 30
    ) {
        self.keepsTexts = keepsTexts
        self.topics = topics
        self.maximumMembers = maximumMembers
        self.maximumBytes = maximumBytes
    }

    /// How old retained health may be from which it follows that an agent is there: three that it publishes.
    fileprivate static let longestSilence: Int64 = 90_000

    /// Takes note of a message that may be about presence.
    package mutating func saw(_ message: SeenMessage, now: Int64) {
        guard let (agent, content) = topics.outbound(message.topic) else { return }
        guard !message.payload.isEmpty else {
            // Someone removed it, see ``RetiredAgent``; one that is there comes back with what it says next.
            if content == .state { bytes -= members.removeValue(forKey: agent)?.weight ?? 0 }
            return
        }
        let before = members[agent]
        guard before != nil || content.isOfFleetAgent else { return }
        var member = before ?? Member()
        member.take(content, message, &shared, now: now)
        if !keepsTexts { member.forgetTexts() }
        let more = member.weight - (before?.weight ?? 0)
        guard before != nil || members.count < maximumMembers, more <= 0 || bytes + more <= maximumBytes
        else {
            isFull = true
            return
        }
        bytes += more
        members[agent] = member
        if let before, before.isOnline == true, member.isOnline == false, member.state?.reason == .will,
            !message.isRetained
        {
            noteWill(of: agent, before, now: now)
        }
    }

    private mutating func noteWill(of agent: String, _ before: Member, now: Int64) {
        if now.subtracting(clamping: lastWill).magnitude > Self.brokersEnd { beforeWills = [:] }
        lastWill = now
        guard beforeWills.count < Self.maximumWills else { return }
        beforeWills[agent] = beforeWills[agent] ?? before
    }

    /// Our own connection ended.
    ///
    /// Where several agents were lost in that very moment, it is the broker that has gone, and of
    /// none of them is it known whether it has: they are again what they were.
    ///
    /// - Returns: their names, in order.
    package mutating func connectionLost(at now: Int64) -> [String] {
        defer { beforeWills = [:] }
        guard beforeWills.count > 1, now.subtracting(clamping: lastWill).magnitude <= Self.brokersEnd else {
            return []
        }
        return beforeWills.keys.sorted().filter { agent in
            guard let before = beforeWills[agent], let member = members[agent], member.isOnline == false
            else {
                return false
            }
            members[agent]?.takeBackState(of: before)
            bytes += (members[agent]?.weight ?? 0) - member.weight
            return true
        }
    }

    /// Takes the health with which an agent has answered a ping.
    package mutating func answered(_ agent: String, _ health: JSONValue, now: Int64) {
        saw(
            SeenMessage(
                topic: topics.health(of: agent), payload: health.serialized(), isRetained: false), now: now)
        members[agent]?.askedAt = now
    }

    /// How far the clock of an agent is ahead, in milliseconds, where it is known to be wrong; else 0.
    package func clockError(of agent: String, now: Int64) -> Int64 {
        members[agent]?.clockError(at: now) ?? 0
    }

    /// The groups that the agents say they are in.
    package var groups: Set<String> {
        members.values.reduce(into: ["all"]) { $0.formUnion($1.groups ?? []) }
    }

    /// What is known of one agent alone.
    package func only(_ agent: String) -> Roster {
        var roster = self
        roster.members = members.filter { $0.key == agent }
        return roster
    }

    /// One JSON object an agent, by name.
    package func json(now: Int64) -> [JSONValue] {
        members.keys.sorted().map { json(of: $0, now: now) }
    }

    /// The JSON object of one agent; null when there is no such agent.
    ///
    /// The documents in it have the times of the agent's clock; where that is known to be wrong, `clockAheadMs` says how
    /// far it is ahead.
    package func json(of agent: String, now: Int64) -> JSONValue {
        guard let member = members[agent] else { return .null }
        var object: [String: JSONValue] = [
            "agent": .string(agent), "online": member.isOnline.map(JSONValue.bool) ?? .null,
            "state": member.stateJSON ?? .null,
            "health": member.wholeHealth?.json ?? .null, "map": member.mapJSON ?? .null,
        ]
        let error = clockError(of: agent, now: now)
        if error != 0 { object["clockAheadMs"] = .int(error) }
        return .object(object)
    }

    /// What to say of an agent, without times; nil when there is no such agent.
    package func news(of agent: String, now: Int64) -> AgentStatus? {
        members[agent].map { member in
            var summary = AgentStatus(agent, member, now: now)
            (summary.since, summary.asOf, summary.started) = (nil, nil, nil)
            // Each measurement differs by some milliseconds.
            (summary.clockLag, summary.isSinceAtLeast) = (summary.clockLag?.signum(), false)
            return summary
        }
    }

    /// All agents, those that need attention first.
    package func summaries(now: Int64) -> [AgentStatus] {
        members.map { AgentStatus($0, $1, now: now) }.sorted {
            ($0.condition, $0.name) < ($1.condition, $1.name)
        }
    }
}

extension Roster.Member {
    package var condition: AgentStatus.Condition {
        switch (self.isOnline, self.state?.reason) {
        case (true?, _):
            let health = currentHealth
            if health?.status == "red" { return .failing }
            if mapSummary?.refusal != nil { return .mapRefused }
            // What is not known is not good.
            return health?.isGreen == true && self.unreadable.isEmpty ? .healthy : .unclear
        case (false?, .shutdown?): return .stopped
        case (false?, _): return .lost
        case (nil, _): return .unknown
        }
    }
}

extension JSONValue {
    /// About how many bytes of memory the value holds: small objects take fifty times as many as their text has.
    var weight: Int {
        switch self {
        case .null, .bool, .int, .double: Self.slot
        case .string(let text): Self.slot + Self.weight(of: text)
        case .array(let elements): elements.reduce(2 * Self.slot) { $0 + $1.weight }
        case .object(let members):
            members.reduce(Self.table) { $0 + Self.slot + Self.weight(of: $1.key) + $1.value.weight }
        }
    }

    /// A place in an array or a table, of which up to half are empty.
    private static let slot = 48
    /// An object beside its members.
    private static let table = 160

    private static func weight(of text: String) -> Int {
        // Up to 15 bytes stand in the place itself.
        text.utf8.count > 15 ? text.utf8.count + 32 : 0
    }
}
