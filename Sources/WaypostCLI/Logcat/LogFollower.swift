import MQTTLink
import Waypost
import WaypostMessages

/// Follows the events, failures and presence of one or all agents, over lost connections, until it is cancelled.
struct LogFollower {
    var settings: BrokerSettings
    var sender: String
    /// Nil for all agents.
    var agent: String?
    var filter: LogFilter
    var format: LogFormat
    var onlyFailures: Bool
    /// What to begin with; nil to begin with what comes next.
    var past: LogPast?
    /// Whether to end behind the past.
    var isDump = false
    /// After so many lines it ends; nil for never.
    var maximum: Int?
    var style: Style
    /// For the notices on standard error.
    var noticeStyle: Style

    private var gaps = GapDetector()
    private var deduplicator = EventDeduplicator()
    private var states: [String: AgentState] = [:]
    private var agentWidth = 8
    private var pause = ReconnectPause()
    private var window = ReorderWindow()
    /// Of this connection; those that were reported already.
    private var loss = MessageLoss()

    /// The most other messages, such as failures and presence, that wait until the replays are shown.
    private static let maximumOthers = 10_000
    /// The most bytes that they may have.
    private static let maximumOtherBytes = 32 << 20
    /// The most agents whose state is remembered; beyond, the states are shown as news again.
    private static let maximumAgents = 100_000
    /// The longest time in which agents may publish again what they have.
    private static let patience = Duration.seconds(3)

    init(
        settings: BrokerSettings, sender: String, agent: String?, filter: LogFilter, format: LogFormat,
        onlyFailures: Bool, past: LogPast?, style: Style, noticeStyle: Style
    ) {
        self.settings = settings
        self.sender = sender
        self.agent = agent
        self.filter = filter
        self.format = format
        self.onlyFailures = onlyFailures
        self.past = past
        self.style = style
        self.noticeStyle = noticeStyle
    }

    /// As ``run()``, for a command that ends with its reader, and well on SIGTERM.
    mutating func runAsCommand() async throws {
        ClosedOutputMonitor.begin()
        do {
            try await run()
        } catch is CancellationError where Signals.exit == .terminated {
            // SIGTERM is its ordinary end, for it has no other.
        }
    }

    /// Returns when the output is closed.
    ///
    /// - Throws: ``CommandError`` 4 when there is no broker at the start, `CancellationError` on a signal.
    mutating func run() async throws {
        var session = try await connect()
        pause.connectionMade()
        do {
            let early = if let agent { try await lookFor(agent, session) } else { [MQTTMessage]() }
            if let past {
                guard try await lookBack(over: past, session, early), !isDump else {
                    return await session.close()
                }
            } else {
                guard early.allSatisfy({ show($0) }) else { return await session.close() }
            }
            guard showWindow() else { return await session.close() }
        } catch {
            await session.close()
            throw error
        }
        while true {
            do {
                while true {
                    guard case .message(let message) = try await session.next() else {
                        guard showWindow() else { return await session.close() }
                        continue
                    }
                    reportLoss(session)
                    let wasEmpty = window.isEmpty
                    guard show(message) else { return await session.close() }
                    if wasEmpty, !window.isEmpty { session.alarm(after: ReorderWindow.length) }
                }
            } catch let error as CommandError where error.exit == .noBroker {
                guard showWindow() else { return await session.close() }
                notice("\(error.description); reconnecting")
                await session.close()
                session = try await comeBack()
                loss = MessageLoss()
                gaps.cameBack()
                notice("connected to \(session.connection.broker) again")
            } catch {
                _ = showWindow()
                await session.close()
                throw error
            }
        }
    }

    /// Reports an agent of which the broker knows nothing; what else came meanwhile is still to be shown.
    private mutating func lookFor(_ agent: String, _ session: OperatorSession) async throws -> [MQTTMessage] {
        var messages: [MQTTMessage] = []
        try await session.readUpToFence { messages.append($0) }
        let isKnown = messages.contains { message in
            settings.topics.outbound(message.topic).map { $0.agent == agent && $0.content == .state } ?? false
                && message.json.flatMap { try? AgentState($0) } != nil
        }
        guard !isKnown else { return messages }
        let unknown = "there is no agent \(agent) at this broker; see: waypost agents"
        if isDump { throw CommandError(.noReply, unknown) }
        notice(unknown)
        return messages
    }

    private func connect() async throws -> OperatorSession {
        let name = agent ?? "+"
        let topics = settings.topics
        var filters = [topics.failures(of: name), topics.state(of: name)]
        if !onlyFailures, let lowest = filter.lowest {
            filters  // Whether a replay is complete can be seen only when all levels come.
            +=
                lowest == .verbose || past != nil
                ? [topics.logs(of: name)]
                : LogLevel.allCases.filter { $0 >= lowest }.map { topics.log(of: name, level: $0) }
        }
        if past != nil { filters.append(topics.reply(of: name, to: sender)) }
        return try await OperatorSession.connect(
            settings, as: sender, required: [filters.removeFirst()], useful: filters)
    }

    /// Shows what the agents still have, in order, and what comes meanwhile; false when the output is closed.
    ///
    /// - Parameter early: what came before.
    private mutating func lookBack(
        over past: LogPast, _ session: OperatorSession, _ early: [MQTTMessage]
    ) async throws -> Bool {
        var replay = ReplayCollector(
            agent: agent, sender: sender, topics: settings.topics, filter: filter, past: past)
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
        try await session.read(&replay, first: Self.patience, further: Self.patience, wait)
        for text in MessageLoss(dropped: missed + replay.dropped).notices { notice(text) }
        for message in others { guard show(message) else { return false } }
        guard showWindow() else { return false }
        for (agent, reply) in replay.refusals {
            notice(
                "\(agent) does not publish its recent events: \(reply.code.name): \(reply.detail ?? "no detail given")"
            )
        }
        for agent in replay.silent { notice("\(agent) does not answer; its recent events are not shown") }
        for gap in replay.gaps { notice(gap) }
        for line in replay.wanted { guard show(line) else { return false } }
        return true
    }

    private mutating func comeBack() async throws -> OperatorSession {
        while true {
            try await Task.sleep(for: pause.next())
            if pause.isHintDue { notice(ReconnectPause.hint) }
            do {
                let session = try await connect()
                pause.connectionMade()
                return session
            } catch let error as CommandError where error.exit == .noBroker {
                continue
            }
        }
    }

    /// Prints what a message holds; false when the output is closed.
    private mutating func show(_ message: MQTTMessage) -> Bool {
        guard let (agent, content) = settings.topics.outbound(message.topic) else { return true }
        switch content {
        case .log:
            for line in LogLine.events(message.payload, from: agent) { window.add(line) }
            return !window.isFull || showWindow()
        case .failure:
            if let line = LogLine.failure(message.payload, from: agent) { window.add(line) }
            return !window.isFull || showWindow()
        case .state:
            if let state = message.json.flatMap({ try? AgentState($0) }) { show(state, of: agent) }
            return true
        case .reply, .applied, .health, .routes, .contract, .navigation:
            return true
        }
    }

    /// Prints what waited for what comes before it; false when the output is closed.
    private mutating func showWindow() -> Bool {
        let lines = window.take()
        let failures = lines.filter { $0.code != nil && !$0.isReport && filter.shows($0) }
        // One line for each failure: the event knows the process and the thread, the report does not.
        return lines.allSatisfy { line in
            line.isReport && failures.contains { $0.tells(of: line) } || show(line)
        }
    }

    private mutating func show(_ line: LogLine) -> Bool {
        // A failure report has no number.
        guard !line.isReport else { return output(line) }
        guard deduplicator.isNew(line.event, from: line.agent) else { return true }
        if let missing = gaps.saw(line.event, from: line.agent) { notice(missing) }
        return output(line)
    }

    private mutating func output(_ line: LogLine) -> Bool {
        guard filter.shows(line) else { return true }
        agentWidth = max(agentWidth, line.agent.count)
        let isOpen = line.show(format, style, agentWidth: agent == nil ? agentWidth : nil)
        guard let maximum else { return isOpen }
        self.maximum = maximum - 1
        return isOpen && maximum > 1
    }

    private mutating func show(_ state: AgentState, of agent: String) {
        guard state.isNews(after: states[agent]) else { return }
        if states.count >= Self.maximumAgents { states.removeAll() }
        guard states.updateValue(state, forKey: agent)?.state != state.state else { return }
        let how =
            switch state.reason {
            case .birth: "version \(state.version), MQTT \(state.mqttVersion)"
            case .will: "its connection was lost"
            case .shutdown: "shut down"
            default: state.reason.rawValue
            }
        notice("\(agent) is \(state.state): \(how)")
    }

    private mutating func reportLoss(_ session: OperatorSession) {
        let new = session.loss - loss
        loss = loss + new
        for text in new.notices { notice(text) }
    }

    private func notice(_ text: String) {
        Terminal.note(noticeStyle.dim("--- \(text)"))
    }
}
