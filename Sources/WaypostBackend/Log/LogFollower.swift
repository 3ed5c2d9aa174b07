import MQTTLink
import Threading
import Waypost
import WaypostFleet
import WaypostMessages

/// Follows the events, failures and presence of agents, over lost connections, until it is cancelled.
struct LogFollower {
    private let settings: BackendConfiguration
    private let request: LogRequest
    private let output: (LogEntry) -> Bool

    private var gaps = GapDetector()
    private var deduplicator = EventDeduplicator()
    private var clocks = ClockWatch()
    /// Who is there; and in which groups, where a group is followed.
    private var known: [String: FleetAgent] = [:]
    /// When the log began to be followed, and when something came the last time.
    private let began = MonotonicTime.instant
    private var heard = MonotonicTime.instant
    private var pause = ReconnectPause()
    private var window = ReorderWindow()
    /// What is to be said of agents that were lost in this moment: perhaps it is the broker that ends.
    private var lost: [String] = []
    /// Of this connection; those that were reported already.
    private var loss = MessageLoss()
    /// Events and reports that came and can't be read.
    private var unread = 0

    /// The most other messages, such as failures and presence, that wait until the replays are shown.
    private static let maximumOthers = 10_000
    /// The most bytes that they may have.
    private static let maximumOtherBytes = 32 << 20
    /// The most agents whose state is remembered; beyond, the states are shown as news again.
    private static let maximumAgents = 100_000
    /// The longest time in which agents may begin to send what they have.
    private static let patience = Duration.seconds(10)
    /// The longest time in which the broker may send what it keeps of them; it ends when that has come.
    private static let longestLook = Duration.seconds(30)
    /// The most agents that are said to be lost with a moment's delay.
    private static let maximumLost = 10_000
    /// After a lost connection, what is older than the last message by this is asked for too.
    private static let overlap = Duration.seconds(5)
    /// Of more agents than these all topics are subscribed to, and the others' messages left out.
    private static let maximumNames = 50

    /// - Parameter output: Takes each entry; false when it wants no more.
    init(
        _ settings: BackendConfiguration, _ request: LogRequest, output: @escaping (LogEntry) -> Bool
    ) {
        self.settings = settings
        self.request = request
        self.output = output
    }

    private var selection: AgentSelection { request.agents }
    private var filter: LogFilter { request.filter }

    /// Returns when the reader wants no more, or behind the past when that is all.
    ///
    /// - Throws: ``BackendError`` when there is no broker at the start, `CancellationError` when the task is cancelled.
    mutating func run() async throws {
        var session = try await connect()
        pause.connectionMade()
        var hasBegun = false
        while true {
            do {
                guard try await hasBegun ? catchUp(session) : begin(session), showWindow() else {
                    return await session.close()
                }
                hasBegun = true
                while true {
                    guard case .message(let message) = try await session.next() else {
                        guard showWindow() else { return await session.close() }
                        continue
                    }
                    reportLoss(session)
                    let wasIdle = isIdle
                    guard show(message) else { return await session.close() }
                    if wasIdle, !isIdle { session.alarm(after: ReorderWindow.length) }
                }
            } catch let error as BackendError where error.kind == .noBroker && !request.endsWithPast {
                let others = takeLost()
                guard showWindow() else { return await session.close() }
                notice("\(error)\(others); reconnecting")
                await session.close()
                session = try await comeBack()
                loss = MessageLoss()
                notice("reconnected to \(session.connection.broker)")
            } catch {
                _ = showWindow()
                await session.close()
                throw error
            }
        }
    }

    /// Shows what is wanted of the past; false when that is all, or the reader wants no more.
    private mutating func begin(_ session: BackendSession) async throws -> Bool {
        let (early, agents) = try await lookForAgents(session)
        if let past = request.past {
            return try await lookBack(over: past, at: agents, session, early) && !request.endsWithPast
        }
        return early.allSatisfy { show($0) }
    }

    /// The agents to ask for what they have, nil for all; and what came before that is known, which is still to be shown.
    ///
    /// Reports a name of which the broker knows nothing.
    private mutating func lookForAgents(
        _ session: BackendSession
    ) async throws -> (early: [MQTTMessage], agents: [String]?) {
        guard !selection.isAll else { return ([], nil) }
        var early: [MQTTMessage] = []
        var roster = Roster(topics: settings.topics)
        if selection.single == nil {
            let reading = try await session.readAsMuch(within: Self.longestLook) {
                early.append($0)
                roster.saw($0)
            }
            roster.cutOff = reading.fault
            if let gap = roster.gap { notice("agents may be missing: \(gap)") }
        } else {
            let isRead = try await session.readUpToFence {
                early.append($0)
                roster.saw($0)
            }
            if !isRead { roster.cutOff = "the broker does not answer" }
        }
        for message in early { learnGroups(message) }
        guard var fault = selection.fault(in: roster) else { return (early, selection.agents(in: roster)) }
        if selection.isByName {
            // Only their own topics were read: the right names are among the others.
            let all = try await settings.roster(within: Self.longestLook)
            fault = selection.fault(in: all) ?? fault
        }
        if request.endsWithPast { throw BackendError(.unknownReceiver, fault) }
        notice(settings.words(fault))
        return (early, selection.agents(in: roster))
    }

    /// Shows what was missed while there was no connection; false when the reader wants no more.
    private mutating func catchUp(_ session: BackendSession) async throws -> Bool {
        let start = max(heard - Self.overlap, began)
        guard !request.onlyFailures else {
            let missed = (MonotonicTime.instant - start).milliseconds
            notice("failures of the last \(missed / 1_000 + 1) s may be missing here; the agents keep them")
            return true
        }
        let (early, agents) = try await lookForAgents(session)
        do {
            return try await lookBack(
                over: LogRequest.Past(start: .instant(start)), at: agents, session, early, isAfterLoss: true)
        } catch let error as BackendError where error.kind == .denied {
            let heard = known.filter { $0.value.state != nil }.keys
            for agent in agents ?? Array(heard) { gaps.missed(of: agent) }
            notice("the missed events can't be fetched: \(error)")
            return true
        }
    }

    private func connect() async throws -> BackendSession {
        let topics = settings.topics
        let names =
            selection.isByName && selection.names.count <= Self.maximumNames
            ? selection.names.sorted() : ["+"]
        var filters = names.flatMap { name in
            var filters = [topics.failures(of: name), topics.state(of: name)]
            if !request.onlyFailures, let lowest = filter.lowest {
                filters  // Whether a replay is complete can be seen only when all levels come.
                +=
                    lowest == .verbose || request.past != nil
                    ? [topics.logs(of: name)]
                    : LogLevel.allCases.filter { $0 >= lowest }.map { topics.log(of: name, level: $0) }
            }
            return filters + [topics.reply(of: name, to: settings.name)]
        }
        if selection.group != nil { filters.append(topics.health(of: "+")) }
        return try await BackendSession.connect(
            settings, required: [filters.removeFirst()], useful: filters)
    }

    /// Shows what the agents still have, in order, and what comes meanwhile; false when the reader wants no more.
    ///
    /// - Parameters:
    ///   - agents: Those that are asked; nil for all.
    ///   - early: What came before.
    ///   - isAfterLoss: Whether it is shown what was missed, so that what is still missing then is a gap.
    private mutating func lookBack(
        over past: LogRequest.Past, at agents: [String]?, _ session: BackendSession,
        _ early: [MQTTMessage],
        isAfterLoss: Bool = false
    ) async throws -> Bool {
        var replay = ReplayCollector(
            agents: agents, sender: settings.name, topics: settings.topics, filter: filter, past: past)
        var others: [MQTTMessage] = []
        var (otherBytes, missed) = (0, 0)
        func wait(_ message: MQTTMessage) {
            otherBytes += message.payload.count
            if others.count < Self.maximumOthers, otherBytes <= Self.maximumOtherBytes {
                others.append(message)
            } else {
                missed += 1
            }
        }
        for message in early where !replay.saw(message) { wait(message) }
        try await session.read(&replay, first: Self.patience, wait)
        for text in MessageLoss(dropped: missed + replay.dropped, unread: replay.unread).notices {
            notice(text)
        }
        for message in others { guard show(message) else { return false } }
        if isAfterLoss {
            for agent in replay.silent + replay.refusals.map(\.agent) { gaps.missed(of: agent) }
        }
        for (agent, reply) in replay.refusals {
            notice(
                "\(agent) refuses to send its recent events: \(reply.code.name): \(reply.detail ?? "no detail given")"
            )
        }
        for agent in replay.silent { notice("\(agent) does not answer; its recent events are not shown") }
        for gap in replay.gaps { notice(gap) }
        for text in clocks.learnt(replay.wrongClocks) { notice(text) }
        // What came meanwhile happened later.
        for line in replay.wanted { guard show(clocks.corrected(line)) else { return false } }
        return showWindow()
    }

    private mutating func comeBack() async throws -> BackendSession {
        while true {
            try await MonotonicTime.sleep(for: pause.next())
            if pause.isHintDue { notice(ReconnectPause.hint) }
            do {
                let session = try await connect()
                pause.connectionMade()
                return session
            } catch let error as BackendError where error.kind == .noBroker {
                continue
            }
        }
    }

    /// Hands on what a message holds; false when the reader wants no more.
    private mutating func show(_ message: MQTTMessage) -> Bool {
        heard = MonotonicTime.instant
        guard let (agent, content) = settings.topics.outbound(message.topic) else { return true }
        learnGroups(message)
        guard selection.includes(agent, in: known[agent]?.groups) else { return true }
        switch content {
        case .log:
            return take(AgentEvent.Lines(events: message.payload, from: agent), from: agent)
        case .failure:
            return take(AgentEvent.Lines(failure: message.payload, from: agent), from: agent)
        case .state:
            show(state: message, of: agent)
            return true
        case .reply, .applied, .health, .routes, .contract, .navigation:
            return true
        }
    }

    private mutating func take(_ found: AgentEvent.Lines, from agent: String) -> Bool {
        for line in found.lines { window.add(line) }
        let before = unread
        unread += found.unread
        // An agent whose events can't be read has many of them: it is said for the 1st, 2nd, 4th, 8th…
        if before.leadingZeroBitCount != unread.leadingZeroBitCount {
            notice("\(unread.counted("event")) so far can't be read, the last of \(agent)")
        }
        return !window.isFull || showWindow()
    }

    /// Whether nothing waits.
    private var isIdle: Bool { window.isEmpty && lost.isEmpty }

    /// A broker that ends says of all agents that they are lost, and then is gone itself: one line for all of them.
    private mutating func takeLost() -> String {
        guard lost.count > 1 else { return "" }
        defer { lost = [] }
        return ", and so did the connections of \(lost.count.counted("agent")) that were lost just before"
    }

    /// Delivers the events that were held back for an earlier one; false when the reader stops.
    private mutating func showWindow() -> Bool {
        for text in lost { notice(text) }
        lost = []
        let now = WallClock.now()
        let lines = window.take().map { line in
            if let text = clocks.doubt(line, now: now) { notice(text) }
            return clocks.corrected(line, now: now)
        }
        let failures = lines.filter { $0.code != nil && !$0.isReport && filter.shows($0) }
        // One line for each failure: the event knows the process and the thread, the report does not.
        return lines.allSatisfy { line in
            line.isReport && failures.contains { $0.tells(of: line) } || show(line)
        }
    }

    private mutating func show(_ line: AgentEvent) -> Bool {
        // A failure report has no number.
        guard !line.isReport else { return emit(line) }
        guard deduplicator.note(line.event, from: line.agent) else { return true }
        if let missing = gaps.saw(line.event, from: line.agent) { notice(missing) }
        return emit(line)
    }

    private func emit(_ line: AgentEvent) -> Bool { !filter.shows(line) || output(.line(line)) }

    private mutating func take(
        _ content: OutboundTopic, _ message: MQTTMessage, of agent: String
    ) -> FleetAgent.News? {
        if known[agent] == nil, known.count >= Self.maximumAgents { known.removeAll() }
        return known[agent, default: FleetAgent()].take(content, message.seen, at: 0)
    }

    private mutating func learnGroups(_ message: MQTTMessage) {
        guard selection.group != nil, case (let agent, .health)? = settings.topics.outbound(message.topic)
        else { return }
        _ = take(.health, message, of: agent)
    }

    private mutating func show(state message: MQTTMessage, of agent: String) {
        let before = known[agent]?.state?.state
        guard case .state? = take(.state, message, of: agent), let state = known[agent]?.state,
            state.state != before
        else { return }
        let how =
            switch state.reason {
            case .birth: "version \(state.version), MQTT \(state.mqttVersion)"
            case .will: "its connection was lost"
            case .shutdown: "shut down"
            default: state.reason.rawValue
            }
        let text = "\(agent) is \(state.state): \(how)"
        guard state.reason == .will, lost.count < Self.maximumLost else { return notice(text) }
        lost.append(text)
    }

    private mutating func reportLoss(_ session: BackendSession) {
        let new = session.loss - loss
        loss = loss + new
        for text in new.notices { notice(text) }
    }

    private func notice(_ text: String) { _ = output(.notice(text)) }
}
