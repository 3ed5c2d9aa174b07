import Waypost

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

    mutating func add(_ event: TimelineEvent) {
        // What happens again and again is one event with a count.
        if let last = events.last, last.kind == event.kind, last.title == event.title,
            last.detail == event.detail, last.ref == event.ref
        {
            events[events.count - 1].count += event.count
            events[events.count - 1].time = event.time
            return
        }
        if events.count >= Self.capacity { events.removeFirst(Self.capacity / 4) }
        events.append(event)
    }
}
