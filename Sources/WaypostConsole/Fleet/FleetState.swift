import MQTTLink
import Waypost
import WaypostBackend
import WaypostMessages

/// What the console knows of the fleet: it takes news after news, and decides nothing else.
///
/// All share it under one lock, so each takes a time that no sender chooses: ``FleetInbox`` has read it before.
struct FleetState: Sendable {
    /// What is shown of an agent in the list, made when something of it came.
    struct Row: Sendable {
        var summary: AgentStatus
        /// When the last message of it came, in milliseconds since 1970; nil when there is only what the broker kept.
        var heard: Int64?
    }

    /// The agents' documents, by name.
    private(set) var members: [String: Roster.Member] = [:]
    private(set) var rows: [String: Row] = [:]
    /// The documents of their groups that the broker keeps, of agents that are known.
    private(set) var groups: [String: KeptGroups] = [:]
    private var groupsMarks: [String: Int] = [:]
    private(set) var lines: LineRing
    private(set) var failures = FailureBook()
    private(set) var commands = SeenCommands()
    private(set) var rollouts = SeenRollouts()
    private var timelines = AgentTimelines()
    /// Rises with each change of what the list of agents shows.
    private(set) var revision: Int64 = 0
    /// Rises with each change of one agent.
    private(set) var revisions: [String: Int64] = [:]
    /// More are not on one broker; beyond, a page of an agent looks once more at what it has.
    private static let maximumRevisions = 100_000
    /// How many agents someone should look at.
    private(set) var problems = 0
    /// How many events and failure reports came and can't be read.
    private(set) var unread: Int64 = 0
    /// Since when the console watches.
    let began: Int64
    private var gaps = WatchGaps()

    init(began: Int64, lines: LineRing = LineRing()) {
        self.began = began
        self.lines = lines
    }

    mutating func connectionLost(at now: Int64) { gaps.begin(at: now) }

    mutating func connectionMade(at now: Int64) { gaps.end(at: now) }

    /// Counts of the last minutes; null for one in which nothing was counted and nothing could be seen.
    func json(ofMinutes counts: [Int64], at now: Int64) -> JSONValue {
        let newest = now / 60_000
        return .array(
            counts.enumerated().map { index, count in
                let minute = newest - Int64(counts.count - 1 - index)
                let isUnseen = minute < began / 60_000 || gaps.contains(minute, now: now)
                return count == 0 && isUnseen ? .null : .int(count)
            })
    }

    func timeline(of agent: String) -> [TimelineEvent] { timelines[agent] }

    /// How far the clock of an agent is ahead, in milliseconds, where it is known to be wrong; else 0.
    func clockError(of agent: String, now: Int64) -> Int64 { members[agent]?.clockError(at: now) ?? 0 }

    /// Takes note of what a message told.
    mutating func take(_ news: FleetNews, now: Int64) {
        switch news {
        case .rollout(let document): rollouts.take(document)
        case .flood(let agent):
            note(
                agent,
                TimelineEvent(
                    time: now, kind: .state, title: "too many messages",
                    detail: "it sends more than is read of one agent", tone: .bad))
        case .agent(let agent, let isOwnWord, let told):
            if isOwnWord { rows[agent]?.heard = now }
            take(told, of: agent, heard: isOwnWord ? now : nil, now: now)
        }
    }

    private mutating func take(_ news: AgentNews, of agent: String, heard: Int64?, now: Int64) {
        switch news {
        case .spoke: break
        case .presence(let presence, let isHealth):
            take(presence, of: agent, isHealth: isHealth, heard: heard, now: now)
        case .lostWithBroker(let presence, let others):
            timelines.withdraw(
                TimelineEvent(
                    time: now, kind: .state, title: "not known",
                    detail:
                        "the broker ended, and with it the connections of \(others.counted("other agent"))",
                    tone: .warn), inPlaceOf: AgentStatus.Condition.lost.word, of: agent)
            show(presence, of: agent, heard: nil)
        case .lines(let lines): for line in lines { take(event: line, now: now) }
        case .failure(let report, let first, let last, let line):
            failures.add(report, of: agent, from: first, through: last)
            take(report, line, last: last, now: now)
        case .accepted(let id, let progress, let due):
            guard commands.command(id, of: agent) != nil else { return }
            commands.note(id, of: agent, at: now) {
                ($0.progress, $0.due) = (progress ?? $0.progress, due ?? $0.due)
            }
        case .ended(let id, let code, let detail, let time):
            ended(id, of: agent, code, detail, at: time, now: now)
        case .unread(let count): unread.add(clamping: Int64(count))
        case .groups(let kept):
            guard members[agent] != nil else { return }
            groups[agent] = kept
            set(revision: (revisions[agent] ?? 0) + 1, of: agent)
        }
    }

    // MARK: Presence

    private mutating func take(
        _ presence: AgentPresence?, of agent: String, isHealth: Bool, heard: Int64?, now: Int64
    ) {
        guard let presence else {
            (members[agent], groups[agent], groupsMarks[agent]) = (nil, nil, nil)
            if let row = rows.removeValue(forKey: agent) {
                if row.summary.condition.isTrouble { problems -= 1 }
                changed(agent)
            }
            return
        }
        let summary = presence.summary
        guard let before = show(presence, of: agent, heard: heard) else { return }
        // What the message tells of is not of when it came: it may have waited, at the agent or at the broker.
        let time = min(isHealth ? summary.asOf ?? now : summary.since ?? now, now)
        if let event = Self.event(from: before, to: summary, isHealth: isHealth, at: time) {
            note(agent, event)
        }
        if before.version != summary.version {
            note(
                agent,
                TimelineEvent(
                    time: time, kind: .state, title: "version",
                    detail: "\(before.version) → \(summary.version)"))
        }
        if before.map != summary.map, before.map != "?" {
            note(
                agent,
                TimelineEvent(
                    time: min(presence.mapTime ?? now, now), kind: .map, title: "map",
                    detail: "\(before.map) → \(summary.map)"))
        }
    }

    /// What the time line says of how an agent is; nil when that is as before.
    private static func event(
        from before: AgentStatus, to status: AgentStatus, isHealth: Bool, at time: Int64
    ) -> TimelineEvent? {
        // Who has just come says next how it is, and that all is well is no news then.
        if status.hasNoHealth || before.hasNoHealth && status.condition == .healthy {
            return before.state == status.state
                ? nil : TimelineEvent(time: time, kind: .state, title: status.state)
        }
        if before.condition != status.condition || before.state != status.state {
            let tone: TimelineEvent.Tone =
                switch status.condition {
                case .healthy: .ok
                case .lost, .failing, .mapRefused: .bad
                case .unclear, .unknown, .stopped: .warn
                }
            return TimelineEvent(
                time: time, kind: isHealth ? .health : .state, title: status.condition.word,
                detail: status.problem, tone: tone)
        }
        guard before.problem != status.problem else { return nil }
        let isOver = status.problem.isEmpty
        return TimelineEvent(
            time: time, kind: .health, title: isOver ? "problem is over" : "problem",
            detail: isOver ? before.problem : status.problem, tone: isOver ? .ok : .warn)
    }

    /// Puts what is known of an agent into the list; returns what was there when it said something else.
    @discardableResult
    private mutating func show(_ presence: AgentPresence, of agent: String, heard: Int64?) -> AgentStatus? {
        let (before, summary) = (rows[agent]?.summary, presence.summary)
        members[agent] = presence.member
        if groupsMarks.updateValue(presence.groupsMark, forKey: agent) != presence.groupsMark {
            set(revision: (revisions[agent] ?? 0) + 1, of: agent)
        }
        rows[agent] = Row(summary: summary, heard: heard ?? rows[agent]?.heard)
        problems += (summary.condition.isTrouble ? 1 : 0) - (before?.condition.isTrouble == true ? 1 : 0)
        guard before.map({ !$0.saysTheSame(as: summary) }) ?? true else { return nil }
        changed(agent)
        return before
    }

    private mutating func changed(_ agent: String) {
        revision += 1
        // What is noted of one agent alone may have come further.
        set(revision: max(revision, (revisions[agent] ?? 0) + 1), of: agent)
    }

    private mutating func note(_ agent: String, _ event: TimelineEvent) {
        timelines.add(event, of: agent)
        set(revision: (revisions[agent] ?? 0) + 1, of: agent)
    }

    private mutating func set(revision: Int64, of agent: String) {
        if revisions[agent] == nil, revisions.count >= Self.maximumRevisions { revisions.removeAll() }
        revisions[agent] = revision
    }

    // MARK: Log

    private mutating func take(event line: AgentEvent, now: Int64) {
        // A failure is one line, whichever of its report and its event comes first.
        if line.code == nil || !recent.contains(where: { line.tells(of: $0.line) }) {
            lines.append(line, at: now)
        }
        guard let ref = line.event.ref else { return }
        commands.note(ref, of: line.agent, at: now) { command in
            command.subject = command.subject ?? line.event.url.map { RouteURL.withoutValues($0) }
        }
    }

    private mutating func take(_ report: FailureReport, _ line: AgentEvent, last: Int64, now: Int64) {
        let title = "\(report.code.number) \(report.code.name)"
        note(
            line.agent,
            TimelineEvent(
                time: last, kind: .failure, title: title, detail: report.detail, tone: .bad, ref: report.ref,
                code: report.code.number, url: report.url, count: report.count))
        if let ref = report.ref {
            commands.note(ref, of: line.agent, at: now) { command in
                (command.code, command.detail) = (report.code, report.detail)
                command.subject = command.subject ?? report.url
            }
        }
        if !recent.contains(where: { $0.line.tells(of: line) }) { lines.append(line, at: now) }
    }

    /// The lines among which the other half of a failure is looked for.
    private var recent: some Sequence<NumberedLine> { lines.lines(before: lines.next).prefix(256) }

    // MARK: Commands

    private mutating func ended(
        _ id: String, of agent: String, _ code: Code?, _ detail: String?, at time: Int64, now: Int64
    ) {
        // Not a question of the console's own: it did nothing there.
        guard commands.command(id, of: agent) != nil else { return }
        commands.note(id, of: agent, at: now) { command in
            (command.ended, command.code, command.detail) = (time, code, detail)
        }
    }

    /// Takes note of a command that the console sends itself.
    mutating func sends(
        _ id: String, to agent: String, _ type: String, _ subject: String?, as sender: String, now: Int64
    ) {
        commands.note(id, of: agent, at: now) { command in
            (command.type, command.subject, command.sent) = (type, subject, now)
            command.sender = sender
        }
    }
}

extension AgentStatus {
    /// Whether a list shows the same, whatever the times are.
    fileprivate func saysTheSame(as other: AgentStatus) -> Bool {
        var (one, two) = (self, other)
        (one.since, one.asOf, one.started, one.isSinceAtLeast) = (nil, nil, nil, false)
        (two.since, two.asOf, two.started, two.isSinceAtLeast) = (nil, nil, nil, false)
        (one.clockLag, two.clockLag) = (one.clockLag?.signum(), two.clockLag?.signum())
        return one == two
    }
}

extension AgentStatus.Condition {
    /// The word in the page's interface.
    var word: String {
        switch self {
        case .lost: "lost"
        case .failing: "failing"
        case .mapRefused: "map refused"
        case .unclear: "unclear"
        case .unknown: "unknown"
        case .stopped: "shut down"
        case .healthy: "healthy"
        }
    }

    /// The key in JSON.
    var key: String { self == .mapRefused ? "mapRefused" : self == .stopped ? "stopped" : word }

    static let all: [AgentStatus.Condition] = [
        .lost, .failing, .mapRefused, .unclear, .unknown, .stopped, .healthy,
    ]
}
