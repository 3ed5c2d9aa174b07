package import MQTTLink
import Waypost
package import WaypostMessages

/// The agents of a group as a roll-out sees them: who is there, and which map is in force where.
package struct RolloutFleet: Sendable {
    /// One agent of the group.
    package struct Agent: Sendable {
        /// Its number, by which it is chosen.
        package var number: UInt64
        package var isOnline = false
        fileprivate var epoch: Int64 = 0
        package var boot = ""
        package var version = ""
        /// When it was lost, in milliseconds on our monotonic clock; nil when it is online, or was shut down.
        package var lost: Int64?
        package var isRed = false
        /// What it says of the roll-out.
        package var report: RolloutReport?
        /// The map in force of the group's layer.
        package var map: RolloutControl.MapID?
        /// The entries of the layer that have no effect, by their places.
        package var inactive: Set<Int> = []
        /// Whether the candidate was refused.
        package var hasRefused = false
    }

    /// What a message was news of.
    package enum News: Sendable {
        case came
        case lost
        case applied(before: RolloutReport?)
        case failed(FailureReport)
        /// It has no map, and its session is a new one.
        case wants
    }

    /// A document without its health: that it failed stands at one place.
    private static let red = Array(#""status":"red""#.utf8)

    package let group: String
    package let salt: String
    private let topics: Topics
    /// By name; only members of the group.
    package private(set) var agents: [String: Agent] = [:]
    /// What came of agents of which it is not known yet whether they are members.
    private var others: [String: Other] = [:]

    private struct Other {
        var agent: Agent
        /// Nil until its health says it.
        var isMember: Bool?
    }

    package init(group: String, salt: String, topics: Topics) {
        (self.group, self.salt, self.topics) = (group, salt, topics)
    }

    /// What must be subscribed to.
    package static func filters(_ topics: Topics) -> [String] {
        [topics.state(of: "+"), topics.health(of: "+"), topics.applied(of: "+"), topics.failures(of: "+")]
    }

    private var layer: String { "@\(group)" }

    /// Takes note of a message; what is new about a member of the group.
    package mutating func saw(
        _ message: MQTTMessage, of id: String?, at now: Int64
    ) -> (agent: String, news: News)? {
        guard let (name, content) = topics.outbound(message.topic) else { return nil }
        switch content {
        case .state, .health, .applied, .failure: break
        default: return nil
        }
        guard !message.payload.isEmpty else {
            if case .state = content { forget(name) }
            return nil
        }
        guard isMember(name, content, message) else {
            // Its health may come later than what else it published.
            if var other = others[name], other.isMember == nil {
                note(content, message, of: id, at: now, &other.agent)
                others[name] = other
            }
            return nil
        }
        var agent = agents[name] ?? others.removeValue(forKey: name)?.agent ?? new(name)
        let news = note(content, message, of: id, at: now, &agent)
        agents[name] = agent
        return news.map { (name, $0) }
    }

    private func new(_ name: String) -> Agent {
        Agent(number: RolloutHash.value(salt: salt, agent: name))
    }

    private mutating func forget(_ name: String) {
        agents[name] = nil
        others[name] = nil
    }

    /// Whether it is in the group, as far as it has said so; one of which that is not known is remembered.
    private mutating func isMember(
        _ name: String, _ content: OutboundTopic, _ message: MQTTMessage
    ) -> Bool {
        if group == "all" || agents[name] != nil { return true }
        if others[name] == nil { others[name] = Other(agent: new(name), isMember: nil) }
        guard others[name]?.isMember == nil, case .health = content, let json = message.json else {
            return false
        }
        let isMember = Health(json).groups.contains(group)
        others[name]?.isMember = isMember
        return isMember
    }

    @discardableResult
    private func note(
        _ content: OutboundTopic, _ message: MQTTMessage, of id: String?, at now: Int64, _ agent: inout Agent
    ) -> News? {
        switch content {
        case .health:
            // Every agent publishes it twice a minute: what is looked for stands in its bytes.
            agent.isRed = message.payload.contains(Self.red)
            return nil
        case .state: return note(message, at: now, &agent)
        case .applied:
            guard let json = message.json, let applied = try? AppliedMap(json) else { return nil }
            return note(applied, of: id, &agent)
        case .failure:
            guard let json = message.json, let report = try? FailureReport(json) else { return nil }
            return .failed(report)
        default: return nil
        }
    }

    private func note(_ message: MQTTMessage, at now: Int64, _ agent: inout Agent) -> News? {
        guard let json = message.json, let state = try? AgentState(json) else { return nil }
        // The will of an earlier connection may come after the birth of a later one.
        guard state.isOnline || !agent.isOnline || state.epoch >= agent.epoch else { return nil }
        let was = agent.isOnline
        agent.epoch = state.epoch
        agent.version = state.version
        agent.isOnline = state.isOnline
        if state.isOnline {
            agent.boot = state.boot
            agent.lost = nil
            return was ? nil : .came
        }
        guard was, state.reason == .will, !message.retain else { return nil }
        agent.lost = now
        return .lost
    }

    private func note(_ applied: AppliedMap, of id: String?, _ agent: inout Agent) -> News {
        let before = agent.report
        let ours = applied.rollouts.first { $0.layer == layer && (id == nil || $0.id == id) }
        agent.report = ours
        agent.map = applied.layers.first { $0.name == layer }.map {
            RolloutControl.MapID(revision: $0.revision, digest: $0.digest)
        }
        agent.inactive = Set(applied.inactive.filter { $0.layer == layer }.map(\.index))
        agent.hasRefused = applied.refused?.layer == layer
        return applied.isWanted ? .wants : .applied(before: before)
    }

    /// Forgets what was said of other roll-outs: before this one was known, any counted.
    package mutating func keepReports(of id: String?) {
        for (name, agent) in agents where agent.report != nil && agent.report?.id != id {
            agents[name]?.report = nil
        }
    }

    // MARK: Who is there

    package var online: [String: Agent] { agents.filter { $0.value.isOnline } }

    /// The numbers of the agents that are online and may be chosen.
    package func numbers(without excluded: [String]) -> [UInt64] {
        agents.compactMap { $0.value.isOnline && !excluded.contains($0.key) ? $0.value.number : nil }
    }
}

extension RolloutControl {
    /// Whether it chooses an agent, by the number that was found before.
    func chooses(_ name: String, _ number: UInt64) -> Bool {
        !exclude.contains(name) && (number < below || include.contains(name))
    }
}

extension Array<UInt8> {
    /// Whether the bytes occur in it.
    fileprivate func contains(_ needle: [UInt8]) -> Bool {
        guard let first = needle.first, count >= needle.count else { return false }
        return withUnsafeBufferPointer { bytes in
            needle.withUnsafeBufferPointer { needle in
                var place = 0
                let last = bytes.count - needle.count
                while place <= last {
                    if bytes[place] == first,
                        (1..<needle.count).allSatisfy({ bytes[place + $0] == needle[$0] })
                    {
                        return true
                    }
                    place += 1
                }
                return false
            }
        }
    }
}
