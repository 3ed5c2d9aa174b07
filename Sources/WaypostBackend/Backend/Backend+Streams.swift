import MQTTLink
import Threading
import Waypost
public import WaypostFleet
import WaypostMessages

extension Backend {
    /// All agents that the broker knows, those that need attention first.
    ///
    /// - Throws: ``BackendError`` when the broker does not show them, or has not sent all in time.
    public func agents(within limit: Duration = .seconds(10)) async throws -> [AgentStatus] {
        try await PublicCall.run { [settings] in
            let roster = try await settings.roster(within: limit)
            if let gap = roster.gap { throw BackendError(.noReply, "not all agents are known: \(gap)") }
            return roster.summaries()
        }
    }

    /// The state of each agent, then each change of one.
    public func agentChanges(buffer: Int = 1_000) -> BackendStream<AgentStatus> {
        BackendStream(buffer: buffer) { [settings] element in
            var roster = Roster(topics: settings.topics)
            var pause = ReconnectPause()
            while true {
                do {
                    pause.connectionMade()
                    try await settings.follow(&roster) { roster, agent in
                        roster.members[agent].map { element(AgentStatus(agent, $0)) } ?? true
                    }
                    return
                } catch let error as BackendError where error.kind == .noBroker {
                    try await MonotonicTime.sleep(for: pause.next())
                }
            }
        }
    }

    /// What agents log from now on.
    ///
    /// - Parameters:
    ///   - agent: Only this agent; nil for all.
    ///   - query: Terms such as `tag:Router level:W -message:demo`, as `waypost logcat --query` has them.
    /// - Throws: ``BackendError`` of kind `invalid` when the query can't be read.
    public func log(
        of agent: String? = nil, _ query: String? = nil, buffer: Int = 1_000
    ) throws(BackendError) -> BackendStream<AgentEvent> {
        var request = LogRequest()
        request.agents = AgentSelection(names: [agent].compactMap(\.self))
        request.filter = try LogFilter(query: query)
        return BackendStream(buffer: buffer) { [settings, request] element in
            var pause = ReconnectPause()
            while true {
                // It reconnects by itself, but for the first time.
                var follower = LogFollower(settings, request) { entry in
                    guard case .line(let line) = entry, !line.isReport else { return true }
                    return element(line)
                }
                do {
                    return try await follower.run()
                } catch let error as BackendError where error.kind == .noBroker {
                    try await MonotonicTime.sleep(for: pause.next())
                }
            }
        }
    }

    /// Follows the log, its past too, until the reader wants no more; over lost connections, after which what was missed
    /// is fetched.
    ///
    ///     var request = LogRequest()
    ///     request.agents = AgentSelection(group: "lobby")
    ///     request.filter = try LogFilter(level: .warning)
    ///     request.past = LogRequest.Past(start: .ago(.seconds(600)))
    ///     try await backend.followLog(request) { entry in
    ///         print(entry)
    ///         return true
    ///     }
    ///
    /// - Parameter entry: Takes each line and notice, in order; false when it wants no more. What comes waits for it, up to
    ///   32 MiB; how many messages were dropped beyond that is a notice.
    /// - Throws: ``BackendError``; of kind `noBroker` when there is none at first, of kind `unknownReceiver` when it ends
    ///   with the past and no such agent is known.
    public func followLog(
        _ request: LogRequest, _ entry: @escaping @Sendable (LogEntry) -> Bool
    ) async throws {
        try await PublicCall.run { [settings] in
            var follower = LogFollower(settings, request, output: entry)
            try await follower.run()
        }
    }

    /// What fails at agents from now on.
    public func failures(of agent: String? = nil, buffer: Int = 1_000) -> BackendStream<AgentFailure> {
        BackendStream(buffer: buffer) { [settings] element in
            var pause = ReconnectPause()
            while true {
                do {
                    pause.connectionMade()
                    return try await BackendSession.with(
                        settings, required: [settings.topics.failures(of: agent ?? "+")]
                    ) { session in
                        try await Self.readFailures(session, element)
                    }
                } catch let error as BackendError where error.kind == .noBroker {
                    try await MonotonicTime.sleep(for: pause.next())
                }
            }
        }
    }

    /// Keeps maps in force at a broker that forgets what it should retain, as long as what it says is read.
    ///
    ///     for try await news in backend.keep([map]) { print(news) }
    ///
    /// Whenever an agent has an older map, or none, or got none from the broker, the wanted one is published again, at most
    /// 100 documents a second. A newer map is left alone. Several backends that keep the same do not repeat each other.
    ///
    /// It throws ``BackendError`` when there is no broker at first, or when that does not allow it.
    public func keep(_ maps: [WantedMap], buffer: Int = 1_000) -> BackendStream<KeeperNews> {
        BackendStream(buffer: buffer) { [settings] element in
            try await KeeperRun(settings, maps).run { _ = element($0) }
        }
    }

    /// Hands over failures until the reader wants no more.
    private static func readFailures(
        _ session: BackendSession, _ element: (AgentFailure) -> Bool
    ) async throws {
        while case .message(let message) = try await session.next() {
            guard case (let agent, .failure)? = session.topics.outbound(message.topic),
                let json = message.json,
                let failure = AgentFailure(json, of: agent)
            else { continue }
            guard element(failure) else { return }
        }
    }
}
