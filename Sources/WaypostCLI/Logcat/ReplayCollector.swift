import MQTTLink
import Waypost
import WaypostMessages

/// Gathers the events that agents publish again, until all are there that the agents said they would publish.
///
/// A replay comes level by level on as many topics, mixed with what happens meanwhile, and the reply that counts it
/// on yet another; so nothing of it is in order before all of it is there.
struct ReplayCollector: Sendable {
    /// What an agent said it publishes again.
    private struct Promise {
        var reply: Reply
        var count: Int
        /// The number of the last event; nil from an agent that does not say.
        var last: Int64?
    }

    /// The most events that are kept until all are there: those of 200 agents.
    static let maximumLines = 200 * Command.maximumReplay
    /// The most bytes that they may have.
    private let maximumBytes: Int

    let command: Command
    /// Events that were not kept.
    private(set) var dropped = 0
    private var count = 0
    private var bytes = 0
    private let sender: String
    private let topics: Topics
    /// Agents whose answer is waited for; nil for all that are online.
    private let expected: Set<String>?
    private var online: Set<String> = []
    private var promises: [String: Promise] = [:]
    private var lines: [String: [Int64: LogLine]] = [:]

    /// - Parameter agent: the agent that is asked; nil when all are.
    init(
        agent: String?, sender: String, topics: Topics, maximum: Int = Command.maximumReplay,
        maximumBytes: Int = 64 << 20
    ) {
        command = Command(sending: .replay(since: 0, maximum: maximum))
        expected = agent.map { [$0] }
        self.maximumBytes = maximumBytes
        self.sender = sender
        self.topics = topics
    }

    /// The command, ready to be published.
    var message: MQTTMessage {
        let audience = expected?.first.map(Audience.agent) ?? .all
        return .json(topics.command(to: audience, from: sender), command.encoded())
    }

    /// Whether any agent answered.
    var hasAnswers: Bool { !promises.isEmpty }

    /// Agents that did not answer so far.
    var silent: [String] { (expected ?? online).subtracting(promises.keys).sorted() }

    /// Whether all have answered and all is there that they announced.
    var isComplete: Bool {
        guard silent.isEmpty else { return false }
        return promises.allSatisfy { agent, promise in
            let found = lines[agent] ?? [:]
            guard let last = promise.last else { return found.count >= promise.count }
            return found.keys.count { $0 <= last } >= promise.count
        }
    }

    /// What agents refused: their names and their words.
    var refusals: [(agent: String, reply: Reply)] {
        promises.filter { $0.value.reply.status != .ok }.map { ($0.key, $0.value.reply) }
            .sorted { $0.agent < $1.agent }
    }

    /// Takes note of a message; false when it has nothing to do with events and replays.
    mutating func saw(_ message: MQTTMessage) -> Bool {
        guard let (agent, content) = topics.outbound(message.topic) else { return false }
        switch content {
        case .log:
            for line in LogLine.events(message.payload, from: agent) { saw(line) }
            return true
        case .reply(to: sender):
            guard let reply = message.json.flatMap({ try? Reply($0) }), reply.id == command.id,
                reply.status != .accepted
            else { return false }
            promises[agent] = Promise(
                reply: reply, count: Int(clamping: reply.result["replayed"]?.intValue ?? 0),
                last: reply.result["last"]?.intValue)
            return true
        case .state:
            if let state = message.json.flatMap({ try? AgentState($0) }), state.isOnline {
                online.insert(agent)
            }
            return false
        case .reply, .applied, .failure, .health, .routes, .contract, .navigation:
            return false
        }
    }

    private mutating func saw(_ line: LogLine) {
        // Numbers begin anew with each start; what an earlier start numbered is no longer kept by the agent.
        if let known = lines[line.agent], known.first?.value.event.boot != line.event.boot {
            count -= known.count
            bytes -= known.values.reduce(0) { $0 + $1.source.count }
            lines[line.agent] = [:]
        }
        guard count < Self.maximumLines, bytes + line.source.count <= maximumBytes else {
            dropped += 1
            return
        }
        bytes += line.source.count
        if let before = lines[line.agent, default: [:]].updateValue(line, forKey: line.event.sequence) {
            bytes -= before.source.count
        } else {
            count += 1
        }
    }

    /// What was gathered of the last while, or all, in the order in which it happened.
    ///
    /// The while is counted back on each agent's own clock, from its reply: a wrong clock is nothing unusual.
    func events(since start: LogStart?) -> [LogLine] {
        lines.flatMap { agent, lines in
            lines.values.filter { $0.event.time >= moment(start, of: agent) }
        }.sorted { left, right in
            (left.event.time, left.agent, left.event.sequence)
                < (right.event.time, right.agent, right.event.sequence)
        }
    }

    /// The agents whose replay does not reach back so far, because it holds as much as one can.
    func cutShort(since start: LogStart) -> [String] {
        promises.filter { agent, promise in
            guard promise.count >= Command.maximumReplay, let oldest = lines[agent]?.keys.min(),
                let event = lines[agent]?[oldest]?.event
            else { return false }
            return event.time > moment(start, of: agent)
        }.keys.sorted()
    }

    private func moment(_ start: LogStart?, of agent: String) -> Int64 {
        switch start {
        case nil: .min
        case .time(let time): time
        case .span(let span): promises[agent].map { $0.reply.at - span.milliseconds } ?? .min
        }
    }
}
