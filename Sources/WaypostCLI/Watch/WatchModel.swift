import MQTTLink
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

/// What is known while watching: who is there, what failed, what was said; each kept to a bound.
struct WatchModel: Sendable {
    /// Enough to look back at some minutes.
    static let maximumLines = 2_000
    static let maximumFailures = 100
    /// The longest text of a line, more than a terminal is wide; an agent cuts its own at 2 KiB.
    static let maximumScalars = 2_048
    /// A few batches of events.
    static let maximumReordering = 250

    let topics: Topics
    let filter: LogFilter
    private(set) var roster: Roster
    private(set) var lines: [AgentEvent] = []
    private(set) var failures: [AgentEvent] = []
    /// The failure reports that came since the start, and those of before that agents reported.
    private(set) var failureCount = 0
    private(set) var pastFailures = 0
    /// The ids of the failures, so that none stands there twice.
    private var failureIDs: Set<String> = []
    /// The id of the command that asked for past failures.
    private var question: String?
    /// Whether an agent has reported its past failures, or none was asked.
    private(set) var isAnswered = true
    /// Why the failures of before are not on the screen; nil when they were asked for.
    var unaskedPast: String?
    /// The id of the command that asks an agent how it is.
    private var ping: String?
    /// Where we are connected, or why not.
    var link = ""
    var isConnected = true
    /// Messages that are not on the screen.
    var loss = MessageLoss()
    private var deduplicator = EventDeduplicator()

    init(topics: Topics, filter: LogFilter) {
        self.topics = topics
        self.filter = filter
        roster = Roster(topics: topics)
    }

    /// What the broker keeps was read, all of it unless there is a reason.
    mutating func read(cutOff: String?) { roster.cutOff = cutOff }

    mutating func saw(_ message: MQTTMessage, now: Int64 = WallClock.now()) {
        guard let (agent, content) = topics.outbound(message.topic) else { return }
        switch content {
        case .log:
            let found = AgentEvent.Lines(events: message.payload, from: agent)
            loss.unread += found.unread
            for line in found.lines where deduplicator.note(line.event, from: agent) {
                add(line.corrected(by: roster.clockError(of: agent, now: now), now: now))
            }
        case .failure:
            let found = AgentEvent.Lines(failure: message.payload, from: agent)
            loss.unread += found.unread
            if let line = found.lines.first,
                add(failure: line.corrected(by: roster.clockError(of: agent, now: now), now: now))
            {
                failureCount += 1
            }
        case .state:
            let before = roster.members[agent]?.isOnline
            roster.saw(message, now: now)
            if !message.retain, let line = presence(of: agent, before: before, now: now) { add(line) }
        case .health, .applied: roster.saw(message, now: now)
        case .reply:
            guard let json = message.json, let reply = try? Reply(json) else { return }
            if reply.id == ping, reply.code == .ok { roster.answered(agent, reply.result) }
            guard reply.id == question else { return }
            isAnswered = true
            let error = ClockOffset.error(of: reply, now: now)
            for report in (reply.result["failures"]?.arrayValue ?? []).prefix(Command.maximumFailures) {
                guard let line = AgentEvent.failure(report.serialized(), from: agent),
                    add(failure: line.corrected(by: error))
                else { continue }
                pastFailures += 1
            }
        case .routes, .contract, .navigation: break
        }
    }

    /// The answers to this command have failures of the past.
    mutating func asked(_ id: String) { (question, isAnswered) = (id, false) }

    /// The answer to this command has the health of an agent.
    mutating func asked(health id: String) { ping = id }

    /// The connection ended: agents that were lost with it, because the broker ended, are one line.
    mutating func connectionLost(_ reason: String, now: Int64 = WallClock.now()) {
        (link, isConnected) = (reason, false)
        let agents = roster.connectionLost(at: now)
        guard let first = agents.first else { return }
        let gone = Set(agents)
        // Theirs are among the last.
        for place in lines.indices.suffix(2 * gone.count + Self.maximumReordering).reversed()
        where gone.contains(lines[place].agent) && lines[place].isLoss(since: now - Roster.brokersEnd) {
            lines.remove(at: place)
        }
        add(
            AgentEvent(
                agent: first,
                event: Self.news(
                    "the broker ended, and with it the connections of \(agents.named): how they are is not known",
                    .warning, at: now), source: []))
    }

    fileprivate static let presenceTag = "Presence"

    private static func news(_ text: String, _ level: LogLevel, at now: Int64) -> LogEvent {
        LogEvent(
            time: now, level: level, tag: presenceTag, boot: "", sequence: 0, process: 0, thread: 0,
            message: text)
    }

    /// The line that says that an agent came or went; nil when it did neither.
    private func presence(of agent: String, before: Bool?, now: Int64) -> AgentEvent? {
        guard let member = roster.members[agent], let isOnline = member.isOnline, isOnline != before else {
            return nil
        }
        let how = isOnline ? "online" : member.isStopped ? "shut down" : "lost: its connection ended"
        let last = isOnline ? nil : member.state?.last?.text
        let event = Self.news(
            "\(agent) is \(how)\(last.map { "; \($0)" } ?? "")",
            isOnline || member.isStopped ? .info : .warning, at: now)
        return AgentEvent(agent: agent, event: event, source: [])
    }

    /// The newest lines first for which the query holds.
    func lines(of query: LogQuery?, now: Int64 = WallClock.now()) -> some Sequence<AgentEvent> {
        lines.reversed().lazy.filter { query?.holds(for: $0, now: now) ?? true }
    }

    /// For how many lines the query holds.
    func count(of query: LogQuery?) -> Int { lines(of: query).reduce(0) { count, _ in count + 1 } }

    /// Puts a failure in its place; false when it stands there already, or is too old.
    private mutating func add(failure line: AgentEvent) -> Bool {
        if let id = line.reportID, !failureIDs.insert("\(line.agent) \(id)".cut(to: 256)).inserted {
            return false
        }
        let place = failures.lastIndex { $0.event.time <= line.event.time }.map { $0 + 1 } ?? 0
        failures.insert(line.cut, at: place)
        if failures.count > Self.maximumFailures {
            let old = failures.removeFirst()
            if let id = old.reportID { failureIDs.remove("\(old.agent) \(id)".cut(to: 256)) }
        }
        return true
    }

    private mutating func add(_ line: AgentEvent) {
        guard filter.shows(line) else { return }
        // An agent publishes what gathered level by level; here it is put in order again, as far back as it matters.
        var place = lines.endIndex
        while place > lines.startIndex, lines.endIndex - place < Self.maximumReordering {
            let before = lines[place - 1]
            guard before.agent == line.agent, before.event.sequence > line.event.sequence,
                before.event.boot == line.event.boot
            else { break }
            place -= 1
        }
        lines.insert(line.cut, at: place)
        if lines.count > Self.maximumLines { lines.removeFirst() }
    }
}

extension AgentEvent {
    /// Whether it says that its agent was lost, and not before that time.
    fileprivate func isLoss(since time: Int64) -> Bool {
        event.tag == WatchModel.presenceTag && event.boot.isEmpty && event.level == .warning
            && event.time >= time
    }

    /// The line as a screen needs it: without its source, and not longer than a screen is wide.
    fileprivate var cut: AgentEvent {
        var line = self
        line.source = []
        // By scalars: a single character can be as long as a message.
        line.event.url = event.url.map { String($0.unicodeScalars.prefix(WatchModel.maximumScalars)) }
        line.event.message = String(event.message.unicodeScalars.prefix(WatchModel.maximumScalars))
        line.event.tag = String(event.tag.unicodeScalars.prefix(WatchModel.maximumScalars))
        return line
    }
}
