package import MQTTLink
import Waypost
package import WaypostFleet
package import WaypostMessages

/// Gathers the events that agents still have, page by page, until all are there that are wanted.
///
/// The pages are in the agents' replies. An agent of an older version publishes its newest events again in the place of
/// that, level by level on as many topics, mixed with what happens meanwhile, and counts them in its reply.
package struct ReplayCollector: Sendable {
    /// How far an agent is.
    private enum Progress {
        /// Its next page is waited for.
        case asked
        /// All is there.
        case complete
        /// An older agent said that it publishes so many again, and the number of the last if it says it.
        case publishes(count: Int, last: Int64?)
        case refused(Reply)
    }

    private struct Source {
        var progress: Progress
        /// The command that it has to answer.
        var command: String
        /// Only events before this are on the page it was asked for.
        var before = Int64.max
        /// The start of the agent that the first page was of.
        var boot: String?
        /// Events from here on are wanted, by the agent's clock; nil for all.
        var oldest: Int64?
        /// How far its clock is ahead, where it is known to be wrong.
        var clockError: Int64 = 0
        /// Lines that are wanted and are there.
        var wanted = 0
        var pages = 1
        /// How often it asked to be asked later, since its last page.
        var refusals = 0
        /// What is missing, as a sentence.
        var gap: String?
    }

    private struct Series: Hashable {
        var agent: String
        var boot: String
    }

    /// The most events that are kept until all are there.
    package static let maximumLines = 100_000
    /// An agent that never comes to an end is not followed.
    private static let maximumPages = 20_000
    private static let maximumRefusals = 60
    /// The most bytes that they may have.
    private let maximumBytes: Int

    package let command: Command
    /// Events that were not kept.
    package private(set) var dropped = 0
    /// Events that can't be read.
    package private(set) var unread = 0
    /// How many answers there were.
    private(set) var answers = 0
    private var count = 0
    private var bytes = 0
    private let sender: String
    private let topics: Topics
    private let filter: LogFilter?
    private let past: LogRequest.Past
    /// Agents whose answer is waited for; nil for all that are online.
    private let expected: Set<String>?
    private var online: Set<String> = []
    private var sources: [String: Source] = [:]
    private var lines: [Series: [Int64: AgentEvent]] = [:]
    /// In the order in which they came.
    private var starts: [Series] = []
    private var requests: [MQTTMessage] = []
    /// Those that their agents did not want so soon.
    private var delayed: [MQTTMessage] = []

    /// - Parameters:
    ///   - agents: those that are asked; nil for all.
    ///   - filter: which lines are wanted; nil for all.
    ///   - past: from when on, and how many.
    package init(
        agents: [String]? = nil, sender: String, topics: Topics, filter: LogFilter? = nil,
        past: LogRequest.Past = .everything, maximumBytes: Int = 64 << 20
    ) {
        expected = agents.map(Set.init)
        self.maximumBytes = maximumBytes
        self.sender = sender
        self.topics = topics
        self.filter = filter
        self.past = past
        // Where it begins is known from the clock of the agent, which comes with its first answer.
        command = Self.command(filter, before: nil, oldest: nil)
    }

    private static func command(_ filter: LogFilter?, before: Replay.Place?, oldest: Int64?) -> Command {
        Command(
            sending: .replay(
                Replay(
                    page: Replay.Page(
                        before: before, oldest: oldest.map { min(max(0, $0), Fields.latestTime) },
                        level: filter?.lowest, query: filter?.query?.textForAgent ?? ""))))
    }

    /// The first command to each receiver, ready to be published.
    var messages: [MQTTMessage] {
        (expected.map { $0.sorted().map(Audience.agent) } ?? [.all]).map {
            .json(topics.command(to: $0, from: sender), command.encoded())
        }
    }

    /// The commands for further pages, which must be published now.
    package mutating func takeRequests() -> [MQTTMessage] {
        defer { requests = [] }
        return requests
    }

    var hasDelayed: Bool { !delayed.isEmpty }

    /// The commands that agents refused because they came too soon.
    package mutating func takeDelayed() -> [MQTTMessage] {
        defer { delayed = [] }
        return delayed
    }

    /// Whether any agent answered.
    package var hasAnswers: Bool { !sources.isEmpty }

    /// Agents that did not answer so far.
    package var silent: [String] { (expected ?? online).subtracting(sources.keys).sorted() }

    /// Whether all have answered and all is there that they have.
    package var isComplete: Bool { silent.isEmpty && sources.allSatisfy { isComplete($0.key, $0.value) } }

    private func isComplete(_ agent: String, _ source: Source) -> Bool {
        switch source.progress {
        case .asked: return false
        case .complete, .refused: return true
        case .publishes(let count, let last):
            let known = starts.last { $0.agent == agent }.flatMap { lines[$0] } ?? [:]
            guard known.count >= count, let last else { return known.count >= count }
            return known.keys.count { $0 <= last } >= count
        }
    }

    /// What agents refused: their names and their words.
    package var refusals: [(agent: String, reply: Reply)] {
        sources.compactMap { agent, source in
            if case .refused(let reply) = source.progress { (agent, reply) } else { nil }
        }.sorted { $0.agent < $1.agent }
    }

    /// What is missing of what agents have or had, a sentence each.
    package var gaps: [String] {
        sources.sorted { $0.key < $1.key }.compactMap { agent, source in
            if let gap = source.gap { return gap }
            switch source.progress {
            case .asked: return left(out: agent, source, "\(agent) no longer answers")
            case .complete, .refused: return nil
            case .publishes(let count, _):
                if !isComplete(agent, source) {
                    return "some events of \(agent) were lost; those of levels below W are sent only once"
                }
                let first = lines(of: agent).first?.event
                guard count >= Command.maximumReplay, let first, first.sequence > 1,
                    first.time > source.oldest ?? .min
                else { return nil }
                return left(
                    out: agent, first.sequence,
                    "\(agent) runs an older version and sends only its newest \(Command.maximumReplay) events"
                )
            }
        }
    }

    private func left(out agent: String, _ source: Source, _ why: String) -> String {
        left(out: agent, source.before, why)
    }

    private func left(out agent: String, _ before: Int64, _ why: String) -> String {
        "\(why); its events before seq \(before) are not looked at"
    }

    // MARK: What comes

    /// Takes note of a message; false when it has nothing to do with events and replays.
    package mutating func saw(_ message: MQTTMessage) -> Bool {
        guard let (agent, content) = topics.outbound(message.topic), expected?.contains(agent) != false else {
            return false
        }
        switch content {
        case .log:
            let found = AgentEvent.Lines(events: message.payload, from: agent)
            unread += found.unread
            for line in found.lines { keep(line) }
            return true
        case .reply(to: sender):
            guard let reply = message.json.flatMap({ try? Reply($0) }),
                reply.id == sources[agent]?.command ?? command.id, reply.status != .accepted
            else { return false }
            answered(agent, reply)
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

    /// Notes of agents that still answer that they were not waited for any longer.
    mutating func ended(after time: Duration) {
        let time = TimeSpan(milliseconds: time.milliseconds)
        for (agent, source) in sources {
            guard case .asked = source.progress else { continue }
            let gap = left(out: agent, source, "what \(agent) has was not all read within \(time)")
            sources[agent]?.gap = gap
        }
    }

    private mutating func answered(_ agent: String, _ reply: Reply) {
        let isFirst = sources[agent] == nil
        var source = sources[agent] ?? Source(progress: .asked, command: command.id)
        defer { sources[agent] = source }
        guard case .asked = source.progress else { return }
        answers += 1
        if isFirst {
            source.oldest = past.start?.milliseconds(byClockOf: reply)
            source.clockError = ClockOffset.error(of: reply)
        }
        guard reply.status == .ok else {
            refused(agent, reply, isFirst, &source)
            return
        }
        guard let events = reply.result["events"]?.arrayValue else {
            // Numbers that make no sense are none.
            source.progress = .publishes(
                count: Int(clamping: reply.result["replayed"]?.boundedInt ?? 0),
                last: reply.result["last"]?.boundedInt)
            return
        }
        source.refusals = 0
        take(events, of: agent, reply, &source)
    }

    private mutating func refused(_ agent: String, _ reply: Reply, _ isFirst: Bool, _ source: inout Source) {
        guard !isFirst else {
            source.progress = .refused(reply)
            return
        }
        if reply.code == .busy, source.refusals < Self.maximumRefusals, let boot = source.boot {
            source.refusals += 1
            delayed.append(ask(agent, Replay.Place(boot: boot, sequence: source.before), &source))
            return
        }
        source.progress = .complete
        source.gap = left(out: agent, source, "\(agent): \(reply.code): \(reply.detail ?? "no detail given")")
    }

    private mutating func take(
        _ events: [JSONValue], of agent: String, _ reply: Reply, _ source: inout Source
    ) {
        let boot = reply.result["boot"]?.stringValue ?? ""
        let next = reply.result["next"].flatMap { try? Replay.Place($0) }
        source.boot = source.boot ?? boot
        guard source.boot == boot else {
            source.progress = .complete
            source.gap = left(out: agent, source, "\(agent) was restarted meanwhile")
            return
        }
        for event in events {
            guard let line = AgentEvent.event(event, event.serialized(), from: agent) else {
                unread += 1
                continue
            }
            if keep(line), isWanted(line, source) { source.wanted += 1 }
        }
        source.progress = .complete
        if let first = reply.result["first"], let oldest = source.oldest, let start = past.start,
            let time = first["t"]?.time, time > oldest, first["seq"]?.boundedInt ?? 1 > 1
        {
            source.gap = "\(agent) has no events as old as \(start)"
        }
        guard let next, next.boot == boot, next.sequence < source.before else { return }
        if let last = past.last, source.wanted >= last { return }
        source.before = next.sequence
        guard count < Self.maximumLines, bytes < maximumBytes, source.pages < Self.maximumPages else {
            source.gap = left(
                out: agent, source,
                "more than \(count) lines: ask for a shorter time, a level, a tag or a text")
            return
        }
        source.pages += 1
        source.progress = .asked
        requests.append(ask(agent, next, &source))
    }

    private func ask(_ agent: String, _ place: Replay.Place, _ source: inout Source) -> MQTTMessage {
        let command = Self.command(filter, before: place, oldest: source.oldest)
        source.command = command.id
        return .json(topics.command(to: .agent(agent), from: sender), command.encoded())
    }

    private func isWanted(_ line: AgentEvent, _ source: Source) -> Bool {
        line.event.time >= source.oldest ?? .min
            && filter?.shows(line.corrected(by: source.clockError)) ?? true
    }

    /// False for what was there already, or finds no place.
    @discardableResult
    private mutating func keep(_ line: AgentEvent) -> Bool {
        guard count < Self.maximumLines, bytes + line.source.count <= maximumBytes else {
            dropped += 1
            return false
        }
        let series = Series(agent: line.agent, boot: line.event.boot)
        if lines[series] == nil { starts.append(series) }
        guard lines[series, default: [:]].updateValue(line, forKey: line.event.sequence) == nil else {
            return false
        }
        bytes += line.source.count
        count += 1
        return true
    }

    // MARK: What is there

    /// Agents whose clock is wrong, and how far it is ahead, in milliseconds.
    package var wrongClocks: [String: Int64] { sources.mapValues(\.clockError).filter { $0.value != 0 } }

    /// What was gathered and is wanted, in the order in which it happened, with the times of the agents' clocks.
    ///
    /// A wrong clock is nothing unusual: lines of such an agent are among those of the others where they belong.
    package var wanted: [AgentEvent] {
        let agents = Set(starts.map(\.agent)).sorted().map { agent in
            lines(of: agent).filter { line in
                sources[agent].map { isWanted(line, $0) } ?? (filter?.shows(line) ?? true)
            }
        }
        let all = LogOrder.merged(agents) { sources[$0]?.clockError ?? 0 }
        return past.last.map { Array(all.suffix($0)) } ?? all
    }

    /// In order.
    private func lines(of agent: String) -> [AgentEvent] {
        starts.filter { $0.agent == agent }.flatMap { series in
            (lines[series] ?? [:]).values.sorted { $0.event.sequence < $1.event.sequence }
        }
    }
}
