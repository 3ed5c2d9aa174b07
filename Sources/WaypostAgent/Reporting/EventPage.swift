package import Waypost
package import WaypostMessages

/// One page of the recent events: read back from its place, those that fit the filter, until it is full.
///
/// The events before the last one that it took or left out are on the next page, whatever comes meanwhile.
package struct EventPage {
    /// Which events are on it.
    struct Filter {
        var since: Int64 = 0
        var oldest = Int64.min
        var level = LogLevel.verbose
        var query: LogQuery
        /// The agent's name, for the query.
        var agent: String
        /// The time of the wall clock, in milliseconds since 1970.
        var now: Int64

        func takes(_ event: LogEvent) -> Bool {
            event.sequence > since && event.time >= oldest && event.level >= level
                && query.holds(for: event, of: agent, code: event.failureCode, now: now)
        }
    }

    /// The longest tag and the longest URL of an event that is longer than a page.
    private static let longestText = 1_024

    private let filter: Filter
    private let maximum: Int
    private let maximumBytes: Int
    /// The newest first.
    private var newestFirst: [JSONValue] = []
    private var bytes = 0
    private var isFull = false
    /// All events before this number are still to be looked at.
    package private(set) var place: Int64

    /// - Parameters:
    ///   - place: only events before this number are on the page.
    ///   - maximum: how many they are at most.
    ///   - bytes: how many bytes they have at most; a single one that has more is cut.
    init(_ filter: Filter, before place: Int64, maximum: Int, bytes: Int) {
        self.filter = filter
        self.place = place
        self.maximum = maximum
        maximumBytes = bytes
    }

    /// The page of an agent that a request asks for.
    ///
    /// - Parameters:
    ///   - boot: of the events that there are; what another start of the agent knew is gone.
    ///   - now: the time of the wall clock, in milliseconds since 1970.
    /// - Throws: ``Failure`` 422 for a query that can't be read.
    package init(
        _ replay: Replay, _ wanted: Replay.Page, of agent: String, boot: String, bytes: Int, at now: Int64
    ) throws(Failure) {
        let isOurs = wanted.before.map { $0.boot == boot } ?? true
        self.init(
            Filter(
                since: replay.since, oldest: wanted.oldest ?? .min, level: wanted.level ?? .verbose,
                query: try LogQuery(forAgent: wanted.query), agent: agent, now: now),
            before: isOurs ? wanted.before?.sequence ?? Fields.largestInteger : 0, maximum: replay.maximum,
            bytes: bytes)
    }

    /// The answer to the request.
    ///
    /// - Parameters:
    ///   - hasMore: whether there are events before the place.
    ///   - oldest: the oldest event that there is.
    package func answer(boot: String, hasMore: Bool, oldest: LogEvent?) -> JSONValue {
        [
            "boot": .string(boot), "events": .array(events),
            "next": hasMore ? Replay.Place(boot: boot, sequence: place).json : .null,
            "first": oldest.map { ["seq": .int($0.sequence), "t": .int($0.time)] } ?? .null,
        ]
    }

    /// In the order of their numbers.
    var events: [JSONValue] { newestFirst.reversed() }

    /// The numbers that may still be on this page; empty when it is full.
    var open: Range<Int64> { isFull || place <= filter.since + 1 ? place..<place : filter.since + 1..<place }

    /// Looks at the event before the place; false when it has to wait for the next page.
    package mutating func look(at event: LogEvent) -> Bool {
        if filter.takes(event) {
            let line = line(event)
            guard newestFirst.count < maximum, newestFirst.isEmpty || bytes + line.count < maximumBytes else {
                isFull = true
                return false
            }
            bytes += line.count + 1
            // What the agent writes is JSON.
            newestFirst.append((try? JSONValue(parsing: line, limits: .trustedFile)) ?? .null)
        }
        place = event.sequence
        return true
    }

    private func line(_ event: LogEvent) -> [UInt8] {
        let line = event.encoded()
        guard line.count > maximumBytes else { return line }
        var event = event
        event.tag = event.tag.cut(to: Self.longestText)
        event.url = event.url?.cut(to: Self.longestText)
        return event.encoded()
    }
}
