import MQTTLink
import Waypost
import WaypostMessages

/// What is known while watching: who is there, what failed, what was said; each kept to a bound.
struct WatchModel: Sendable {
    /// More than any terminal shows.
    static let maximumLines = 500
    static let maximumFailures = 100
    /// The longest text of a line, more than a terminal is wide; an agent cuts its own at 2 KiB.
    static let maximumScalars = 2_048
    /// A few batches of events.
    static let maximumReordering = 250

    let topics: Topics
    let filter: LogFilter
    private(set) var roster: Roster
    private(set) var lines: [LogLine] = []
    private(set) var failures: [LogLine] = []
    /// The failure reports that came since the start.
    private(set) var failureCount = 0
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

    mutating func saw(_ message: MQTTMessage) {
        guard let (agent, content) = topics.outbound(message.topic) else { return }
        switch content {
        case .log:
            for line in LogLine.events(message.payload, from: agent)
            where deduplicator.isNew(line.event, from: agent) {
                add(line)
            }
        case .failure:
            guard let line = LogLine.failure(message.payload, from: agent) else { return }
            failureCount += 1
            failures.append(line.cut)
            if failures.count > Self.maximumFailures { failures.removeFirst() }
        case .state, .health, .applied: roster.saw(message)
        case .reply, .routes, .contract, .navigation: break
        }
    }

    private mutating func add(_ line: LogLine) {
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

extension LogLine {
    /// The line as a screen needs it: without its source, and not longer than a screen is wide.
    fileprivate var cut: LogLine {
        var line = self
        line.source = []
        line.event.url = nil
        // By scalars: a single character can be as long as a message.
        line.event.message = String(event.message.unicodeScalars.prefix(WatchModel.maximumScalars))
        line.event.tag = String(event.tag.unicodeScalars.prefix(WatchModel.maximumScalars))
        return line
    }
}
