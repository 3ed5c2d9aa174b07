package import Waypost
package import WaypostMessages

/// The agents at a broker, from their retained states and health documents.
package struct Roster: Sendable {
    /// One agent.
    package struct Member: Sendable {
        package var state: AgentState?
        package var stateJSON: JSONValue?
        package var health: Health?
        /// The map in force, from `map/applied`.
        package var map: AppliedMap?
        package var mapJSON: JSONValue?
        /// When we saw that it came or went, by our clock; nil when it was so already.
        package fileprivate(set) var seenAt: Int64?
        /// When it gave its health to us; nil when it is what the broker kept.
        package fileprivate(set) var askedAt: Int64?
        /// How far its clock is behind ours, in milliseconds, from health that came as it was written.
        package fileprivate(set) var healthLag: Int64?
        /// What the documents weigh, see ``JSONValue/weight``.
        fileprivate var stateBytes = 0
        fileprivate var healthBytes = 0
        fileprivate var mapBytes = 0

        /// The map in force, as far as it said so.
        package var mapSummary: MapSummary? { map.map { MapSummary($0) } ?? health?.map }
        /// The layers in force; from health alone they have no digest and no time.
        package var layers: [AppliedMap.Layer] { map?.layers ?? health?.map.layers ?? [] }

        /// The documents of which the newest can't be read, each by the end of its topic: what came before it counts.
        package fileprivate(set) var unreadable: Set<String> = []

        /// Whether it has spoken of late: it is there, though the broker keeps no state of it.
        fileprivate var hasSpoken = false

        /// Whether it is there; nil when that is not known.
        ///
        /// Its state says so. Where somebody removed that, or it expired, who speaks is there.
        package var isOnline: Bool? {
            state?.isOnline(withHealthOf: health?.epoch) ?? (hasSpoken ? true : nil)
        }
        /// What changes when it comes or goes: an agent that comes again begins anew.
        fileprivate var comingAndGoing: [String] {
            guard let state else { return [] }
            return state.isOnline
                ? [state.state, state.boot, "\(state.epoch)"] : [state.state, state.reason.rawValue]
        }
        /// Whether it went by itself.
        package var isStopped: Bool { isOnline == false && state?.reason == .shutdown }

        /// Whether it is in that group, as far as it said so.
        package func isIn(_ group: String) -> Bool {
            Audience.group(group) == .all || health?.groups.contains(group) ?? false
        }
    }

    package let topics: Topics
    /// Whether there are more agents than are kept.
    package private(set) var isFull = false
    package private(set) var members: [String: Member] = [:]
    private let maximumMembers: Int
    private let maximumBytes: Int
    private var bytes = 0
    /// What those were that were lost a moment ago: perhaps it is the broker that ends.
    private var beforeWills: [String: Member] = [:]
    /// When the last of them was lost.
    private var lastWill: Int64 = .min

    /// A broker that ends sends the wills of all agents, and is gone itself within this time, in milliseconds.
    package static let brokersEnd: Int64 = 1_000
    /// Of more agents that are lost at once none is taken back.
    private static let maximumWills = 10_000

    /// - Parameters:
    ///   - maximumMembers: further agents are not kept; more than one broker serves.
    ///   - maximumBytes: the most that the documents may take together as they are held; those of an agent take some
    ///     20 KiB.
    package init(topics: Topics, maximumMembers: Int = 100_000, maximumBytes: Int = 2 << 30) {
        self.topics = topics
        self.maximumMembers = maximumMembers
        self.maximumBytes = maximumBytes
    }

    /// How old retained health may be from which it follows that an agent is there: three that it publishes.
    private static let longestSilence: Int64 = 90_000

    /// Takes note of a message that may be about presence.
    package mutating func saw(_ message: SeenMessage, now: Int64) {
        if message.payload.isEmpty, case (let agent, .state)? = topics.outbound(message.topic) {
            // Someone removed it, see ``RetiredAgent``; one that is there comes back with what it says next.
            if let member = members.removeValue(forKey: agent) {
                bytes -= member.stateBytes + member.healthBytes + member.mapBytes
            }
        }
        guard let (agent, content) = topics.outbound(message.topic), !message.payload.isEmpty else { return }
        let json = message.json
        let size = json?.weight ?? 0
        guard members[agent] != nil || members.count < maximumMembers, bytes + size <= maximumBytes
        else {
            isFull = true
            return
        }
        note(content, json, size, of: agent, message, now: now)
        if !message.isRetained, content != .state { members[agent]?.hasSpoken = true }
    }

    private mutating func note(
        _ content: OutboundTopic, _ json: JSONValue?, _ size: Int, of agent: String, _ message: SeenMessage,
        now: Int64
    ) {
        switch content {
        case .state:
            let state = json.flatMap { try? AgentState($0) }
            guard mark("state", isReadable: state != nil, of: agent), let state,
                state.isNews(after: members[agent]?.state)
            else { return }
            let before = members[agent]
            if !message.isRetained, state.reason == .will { noteWill(of: agent, now: now) }
            members[agent]?.state = state
            members[agent]?.hasSpoken = state.isOnline
            // Each connection that fails leaves a will, and changes nothing of since when the agent is lost.
            if before?.comingAndGoing ?? [] != members[agent]?.comingAndGoing {
                members[agent]?.seenAt = message.isRetained ? nil : now
            }
            members[agent]?.stateJSON = json
            bytes += size - (members[agent]?.stateBytes ?? 0)
            members[agent]?.stateBytes = size
        case .health:
            guard mark("health", isReadable: json?.objectValue != nil, of: agent), let json else { return }
            let health = Health(json)
            members[agent]?.health = health
            let age = health.at.map { now.subtracting(clamping: $0).magnitude }
            if age.map({ $0 <= Self.longestSilence }) ?? false { members[agent]?.hasSpoken = true }
            members[agent]?.healthLag =
                message.isRetained ? nil : health.at.map { now.subtracting(clamping: $0) }
            members[agent]?.askedAt = nil
            bytes += size - (members[agent]?.healthBytes ?? 0)
            members[agent]?.healthBytes = size
        case .applied:
            let map = json.flatMap { try? AppliedMap($0) }
            guard mark("map/applied", isReadable: map != nil, of: agent) else { return }
            members[agent]?.map = map
            members[agent]?.mapJSON = json
            bytes += size - (members[agent]?.mapBytes ?? 0)
            members[agent]?.mapBytes = size
        case .reply, .log, .failure, .routes, .contract, .navigation:
            break
        }
    }

    private mutating func noteWill(of agent: String, now: Int64) {
        if now.subtracting(clamping: lastWill).magnitude > Self.brokersEnd { beforeWills = [:] }
        lastWill = now
        guard let member = members[agent], member.isOnline == true, beforeWills.count < Self.maximumWills
        else { return }
        beforeWills[agent] = beforeWills[agent] ?? member
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
            bytes += before.stateBytes - member.stateBytes
            members[agent]?.state = before.state
            members[agent]?.stateJSON = before.stateJSON
            members[agent]?.stateBytes = before.stateBytes
            members[agent]?.seenAt = before.seenAt
            members[agent]?.hasSpoken = before.hasSpoken
            return true
        }
    }

    /// Notes whether a document can be read, and returns that.
    private mutating func mark(_ document: String, isReadable: Bool, of agent: String) -> Bool {
        if isReadable {
            members[agent, default: Member()].unreadable.remove(document)
        } else {
            members[agent, default: Member()].unreadable.insert(document)
        }
        return isReadable
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
        members.values.reduce(into: ["all"]) { $0.formUnion($1.health?.groups ?? []) }
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
            "health": member.health?.json ?? .null, "map": member.mapJSON ?? .null,
        ]
        let error = clockError(of: agent, now: now)
        if error != 0 { object["clockAheadMs"] = .int(error) }
        return .object(object)
    }

    /// What to say of an agent, without times; nil when there is no such agent.
    package func news(of agent: String, now: Int64) -> AgentSummary? {
        members[agent].map { member in
            var summary = AgentSummary(agent, member, now: now)
            (summary.since, summary.asOf, summary.started) = (nil, nil, nil)
            // Each measurement differs by some milliseconds.
            (summary.clockLag, summary.isSinceAtLeast) = (summary.clockLag?.signum(), false)
            return summary
        }
    }

    /// All agents, those that need attention first.
    package func summaries(now: Int64) -> [AgentSummary] {
        members.map { AgentSummary($0, $1, now: now) }.sorted {
            ($0.condition, $0.agent) < ($1.condition, $1.agent)
        }
    }
}

extension Roster {
    /// What an agent is like, by how soon someone should look.
    package enum Condition: Int, Sendable, Comparable {
        case lost, failing, mapRefused
        /// Online, and a check of its health was not made.
        case unclear
        case unknown, stopped, healthy

        package static func < (one: Condition, other: Condition) -> Bool { one.rawValue < other.rawValue }

        /// Whether someone should look.
        package var isTrouble: Bool { self < .unknown }
    }
}

extension Roster.Member {
    package var condition: Roster.Condition {
        switch (isOnline, state?.reason) {
        case (true?, _):
            if health?.status == "red" { return .failing }
            return mapSummary?.refusal != nil ? .mapRefused : health?.isGreen == false ? .unclear : .healthy
        case (false?, .shutdown?): return .stopped
        case (false?, _): return .lost
        case (nil, _): return .unknown
        }
    }
}

extension JSONValue {
    /// About how many bytes of memory the value holds: small objects take fifty times as many as their text has.
    package var weight: Int {
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
