import MQTTLink
import Waypost
import WaypostBackend
import WaypostMessages

/// The backend of the demo: sends, shows what comes, and keeps count.
final class DemoBackend {
    /// What was seen so far.
    struct Seen {
        var replies: [String: Reply] = [:]
        var isOnline = false
        var result: RelocationAnswer?
        var failures: [FailureReport] = []
        var events = 0
        /// The commands that the log has spoken of.
        var refs: Set<String> = []
        /// How often the log has spoken of maps.
        var mapEvents = 0
    }

    /// Generous, for a loaded machine; nothing takes that long when all is well.
    private static let patience = Duration.seconds(15)

    private(set) var seen = Seen()
    private let session: BackendSession
    private let topics: Topics
    private let output: DemoOutput
    private var matcher: RelocationAnswerMatcher?

    init(_ session: BackendSession, _ output: DemoOutput) {
        self.session = session
        self.topics = session.topics
        self.output = output
    }

    /// What the backend listens to.
    static func filters(_ topics: Topics) -> [String] {
        let agent = DemoAgent.name
        return [
            topics.reply(of: agent, to: "+"), "\(topics.root)/\(agent)/log/+", topics.failures(of: agent),
            topics.state(of: agent), topics.applied(of: agent),
        ]
    }

    func send(_ command: Command) async throws { try await send(command.encoded()) }

    func send(_ payload: [UInt8]) async throws {
        let audience = Audience.agent(DemoAgent.name)
        try await session.publish(.json(topics.command(to: audience, from: session.sender), payload))
    }

    func send(_ relocation: Relocation) async throws {
        let audience = Audience.agent(DemoAgent.name)
        matcher = RelocationAnswerMatcher(relocation, for: audience, topics: topics)
        seen.result = nil
        try await session.publish(relocation.message(to: audience, topics))
    }

    /// Shows what comes until `isDone`; false when that does not happen in time.
    func listen(within limit: Duration = patience, until isDone: (Seen) -> Bool) async throws -> Bool {
        if isDone(seen) { return true }
        let alarm = session.alarm(after: limit)
        defer { alarm.cancel() }
        while case .message(let message) = try await session.next() {
            take(message)
            if isDone(seen) { return true }
        }
        return false
    }

    private func take(_ message: MQTTMessage) {
        guard let (agent, content) = topics.outbound(message.topic) else { return }
        let payload = message.json ?? .null
        switch content {
        case .reply:
            guard let reply = try? Reply(payload) else { return }
            if reply.status != .accepted { seen.replies[reply.id] = reply }
            output.reply(reply)
        case .log:
            for line in AgentEvent.events(message.payload, from: agent) {
                seen.events += 1
                if let ref = line.event.ref { seen.refs.insert(ref) }
                if line.event.tag == "Map" { seen.mapEvents += 1 }
                output.log(line)
            }
        case .failure:
            guard let report = try? FailureReport(payload) else { return }
            seen.failures.append(report)
            if let line = AgentEvent.failure(message.payload, from: agent) { output.failure(line) }
        case .state:
            guard let state = try? AgentState(payload) else { return }
            seen.isOnline = state.isOnline
            output.state(state)
        case .applied:
            guard let result = matcher?.answer(in: message) else { return }
            // Said once; the agent repeats itself when it comes back.
            matcher = nil
            seen.result = result
            output.result(result)
        case .health, .routes, .contract, .navigation:
            break
        }
    }
}
