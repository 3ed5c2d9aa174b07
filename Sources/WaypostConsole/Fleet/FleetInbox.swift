import MQTTLink
import Waypost
import WaypostBackend
import WaypostMessages

/// Reads what comes, message after message, for ``FleetState``, which all share: whatever takes long, and its sender chose,
/// is done here, by the one who reads.
struct FleetInbox: Sendable {
    /// The most lines that are taken note of at once; others go on in between.
    static let linesAtOnce = 64

    private let topics: Topics
    private var shares = ReadingShares()
    private(set) var roster: Roster
    private var deduplicator = EventDeduplicator()
    private var reports = SeenReports()

    init(topics: Topics) {
        self.topics = topics
        roster = Roster(topics: topics)
    }

    /// What a message tells, each part to be taken note of by itself.
    mutating func read(_ message: MQTTMessage, now: Int64) -> [FleetNews] {
        guard let (agent, content) = topics.outbound(message.topic) else {
            if case .groups(let agent)? = topics.inbound(message.topic) {
                return groups(message, of: agent, now: now)
            }
            return SeenRollouts.Document(message, topics).map { [.rollout($0)] } ?? []
        }
        switch shares.take(message.payload.count, content, of: agent, at: now) {
        case .passOver: return []
        case .sayAndPassOver: return [.flood(agent: agent)]
        case .read: break
        }
        let news = news(message, of: agent, content, now: now)
        // A will is the broker's word.
        let isOwnWord = !message.retain && !(content == .state && message.json?["why"] == "will")
        return (news.isEmpty ? [.spoke] : news).map { .agent(agent, isOwnWord: isOwnWord, $0) }
    }

    /// What another than the agent writes; it costs as much of the agent's share as its health.
    private mutating func groups(_ message: MQTTMessage, of agent: String, now: Int64) -> [FleetNews] {
        guard case .read = shares.take(message.payload.count, .health, of: agent, at: now) else { return [] }
        return [.agent(agent, isOwnWord: false, .groups(KeptGroups(message.payload, of: agent)))]
    }

    /// What the broker keeps was read, all of it unless there is a reason.
    mutating func read(cutOff: String?) { roster.cutOff = cutOff }

    /// Why there may be agents of which the console does not know.
    var gap: String? { roster.gap }

    /// The connection ended: what that tells of agents that were lost just before.
    mutating func connectionLost(at now: Int64) -> [FleetNews] {
        let agents = roster.connectionLost(at: now)
        return agents.compactMap { agent in
            presence(of: agent, now: now).map {
                .agent(agent, isOwnWord: false, .lostWithBroker($0, others: agents.count - 1))
            }
        }
    }

    private func presence(of agent: String, now: Int64) -> AgentPresence? {
        roster.members[agent].map {
            AgentPresence(member: $0, summary: AgentStatus(agent, $0, now: now).shortened)
        }
    }

    private mutating func news(
        _ message: MQTTMessage, of agent: String, _ content: OutboundTopic, now: Int64
    ) -> [AgentNews] {
        switch content {
        case .state, .health, .applied:
            roster.saw(message, now: now)
            return [.presence(presence(of: agent, now: now), isHealth: content == .health)]
        case .log: return news(AgentEvent.Lines(events: message.payload, from: agent), now: now)
        case .failure:
            let found = AgentEvent.Lines(failure: message.payload, from: agent)
            return unread(found) + found.lines.compactMap { failure($0, message, now: now) }
        case .reply: return message.json.flatMap { ending($0, of: agent, now: now) }.map { [$0] } ?? []
        case .routes, .contract, .navigation: return []
        }
    }

    private func unread(_ found: AgentEvent.Lines) -> [AgentNews] {
        found.unread == 0 ? [] : [.unread(found.unread)]
    }

    private mutating func news(_ found: AgentEvent.Lines, now: Int64) -> [AgentNews] {
        let lines = found.lines.filter { deduplicator.note($0.event, from: $0.agent) }
            .map { corrected($0, now: now) }
        let parts = stride(from: 0, to: lines.count, by: Self.linesAtOnce).map {
            AgentNews.lines(Array(lines[$0..<min($0 + Self.linesAtOnce, lines.count)]))
        }
        return unread(found) + parts
    }

    private func corrected(_ line: AgentEvent, now: Int64) -> AgentEvent {
        line.shortened.corrected(by: roster.clockError(of: line.agent, now: now), now: now)
    }

    private mutating func failure(_ line: AgentEvent, _ message: MQTTMessage, now: Int64) -> AgentNews? {
        guard var report = message.json.flatMap({ try? FailureReport($0) })?.shortened else { return nil }
        let news = reports.news(of: report, line.agent)
        guard news.count > 0 else { return nil }
        report.count = news.count
        // It tells of the time since it was told last.
        func moment(_ time: Int64) -> Int64 { self.moment(time, of: line.agent, now: now) }
        let last = moment(report.last)
        var line = corrected(line, now: now)
        line.event.tag = report.origin.rawValue.prefix(1).uppercased() + report.origin.rawValue.dropFirst()
        return .failure(
            report, from: min(moment(news.after ?? report.first), last), through: last, line.shortened)
    }

    /// The time that a message speaks of, by a correct clock, and never of what is still to come; now where it says none.
    private func moment(_ time: Int64, of agent: String, now: Int64) -> Int64 {
        time == 0 ? now : min(time.subtracting(clamping: roster.clockError(of: agent, now: now)), now)
    }

    private func ending(_ reply: JSONValue, of agent: String, now: Int64) -> AgentNews? {
        guard let id = reply["id"]?.stringValue, Name.isValid(id), let status = reply["status"]?.stringValue
        else { return nil }
        guard status != "accepted" else {
            guard let accepted = try? Reply(reply) else { return nil }
            return .accepted(
                id: id, progress: accepted.progress?.words.cut(to: SeenText.detail),
                due: accepted.due.map { $0.subtracting(clamping: roster.clockError(of: agent, now: now)) })
        }
        let code = reply["code"]?.boundedInt.map {
            Code(
                number: Int(clamping: $0), name: reply["name"]?.stringValue?.cut(to: SeenText.name) ?? "?")
        }
        return .ended(
            id: id, code, detail: reply["detail"]?.stringValue?.cut(to: SeenText.detail),
            at: moment(reply["at"]?.time ?? 0, of: agent, now: now))
    }
}
