import Waypost
import WaypostMessages

/// Something that happened to an agent while the console watched.
struct TimelineEvent: Sendable, Hashable {
    enum Kind: String, Sendable {
        case state, health, map, failure, command
    }

    /// How it is to be seen.
    enum Tone: String, Sendable {
        case ok, warn, bad, plain
    }

    var time: Int64
    var kind: Kind
    var title: String
    var detail = ""
    var tone = Tone.plain
    var ref: String?
    var code: Int?
    var url: String?
    /// How often it happened in a row.
    var count: Int64 = 1

    fileprivate var shortened: TimelineEvent {
        var event = self
        event.title = title.cut(to: SeenText.name)
        event.detail = detail.cut(to: SeenText.detail)
        event.ref = ref?.cut(to: SeenText.name)
        event.url = url?.cut(to: SeenText.url)
        return event
    }

    /// About how many bytes of memory it holds.
    fileprivate var weight: Int {
        [title, detail, ref ?? "", url ?? ""].reduce(200) { $0 + $1.utf8.count }
    }

    var json: JSONValue {
        [
            "t": .int(time), "kind": .string(kind.rawValue), "title": .string(title),
            "detail": .string(detail),
            "tone": .string(tone.rawValue), "ref": .init(ref), "code": .init(code.map(Int64.init)),
            "url": .init(url), "count": .int(count),
        ]
    }
}

/// The last of what happened to one agent.
struct AgentTimeline: Sendable {
    /// More than anyone reads of one agent.
    static let capacity = 200

    private(set) var events: [TimelineEvent] = []
    /// About how many bytes of memory they hold.
    private(set) var weight = 0

    /// Whether it has as many events as it may, and they weigh something.
    private var isConsistent: Bool {
        events.count <= Self.capacity && weight >= 0 && events.isEmpty == (weight == 0)
    }

    mutating func add(_ event: TimelineEvent) {
        defer { assert(isConsistent) }
        let event = event.shortened
        // What happens again and again is one event with a count.
        if let last = events.last, last.kind == event.kind, last.title == event.title,
            last.detail == event.detail, last.ref == event.ref
        {
            events[events.count - 1].count.add(clamping: event.count)
            events[events.count - 1].time = max(last.time, event.time)
            return
        }
        if events.count >= Self.capacity { forget(Self.capacity / 4) }
        // What is told late has its own time.
        let place = events.lastIndex { $0.time <= event.time }.map { $0 + 1 } ?? 0
        events.insert(event, at: place)
        weight += event.weight
    }

    /// Takes back the last event when it has this title, and says another in its place.
    mutating func withdraw(_ event: TimelineEvent, inPlaceOf title: String) {
        defer { assert(isConsistent) }
        if let last = events.last, last.kind == event.kind, last.title == title {
            weight -= last.weight
            events.removeLast()
        }
        add(event)
    }

    /// Forgets the oldest events.
    mutating func forget(_ count: Int) {
        defer { assert(isConsistent) }
        weight -= events.prefix(count).reduce(0) { $0 + $1.weight }
        events.removeFirst(min(count, events.count))
    }
}

/// What happened to all agents.
struct AgentTimelines: Sendable {
    /// What is left of all when they take more than they may is half of each.
    private let maximumBytes: Int
    /// A name, its places in tables, and an empty list.
    private static let agentWeight = 300

    private var byAgent: [String: AgentTimeline] = [:]
    private var bytes = 0

    init(maximumBytes: Int = 128 << 20) { self.maximumBytes = maximumBytes }

    subscript(agent: String) -> [TimelineEvent] { byAgent[agent]?.events ?? [] }

    mutating func add(_ event: TimelineEvent, of agent: String) { change(agent) { $0.add(event) } }

    /// As in ``AgentTimeline/withdraw(_:inPlaceOf:)``.
    mutating func withdraw(_ event: TimelineEvent, inPlaceOf title: String, of agent: String) {
        change(agent) { $0.withdraw(event, inPlaceOf: title) }
    }

    private mutating func change(_ agent: String, _ change: (inout AgentTimeline) -> Void) {
        defer { assert(bytes >= 0) }
        let before = weight(of: agent)
        change(&byAgent[agent, default: AgentTimeline()])
        bytes += weight(of: agent) - before
        guard bytes > maximumBytes else { return }
        byAgent = byAgent.compactMapValues { timeline in
            var rest = timeline
            rest.forget((timeline.events.count + 1) / 2)
            return rest.events.isEmpty ? nil : rest
        }
        bytes = byAgent.values.reduce(0) { $0 + $1.weight + Self.agentWeight }
    }

    private func weight(of agent: String) -> Int { byAgent[agent].map { $0.weight + Self.agentWeight } ?? 0 }
}
