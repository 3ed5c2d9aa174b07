import Waypost
import WaypostMessages

extension EventLog {
    /// The most bytes of the events in one reply.
    private static let pageBytes = 32 * 1024
    /// What a reply has beside its events, in bytes.
    private static let replyBytes = 1_024
    /// So many events are read at once: nothing is logged meanwhile.
    private static let step = 64
    /// For so long a page is looked for, because the link's thread waits; what is left is on the next page.
    private static let patience = Duration.milliseconds(10)

    /// The answer to `replay`.
    ///
    /// - Parameter agent: the agent's name, for the query.
    /// - Throws: ``Failure`` 422 for a query that can't be read.
    func answer(_ replay: Replay, of agent: String, at now: Int64) throws(Failure) -> JSONValue {
        guard let wanted = replay.page else {
            let (count, last) = self.replay(since: replay.since, maximum: replay.maximum)
            return ["replayed": .int(Int64(count)), "last": .int(last)]
        }
        let filter = EventPage.Filter(
            since: replay.since, oldest: wanted.oldest ?? .min, level: wanted.level ?? .verbose,
            query: try LogQuery(forAgent: wanted.query), agent: agent, now: now)
        // What another start of this agent knew is gone.
        let isOurs = wanted.before.map { $0.boot == boot } ?? true
        var page = EventPage(
            filter, before: isOurs ? wanted.before?.sequence ?? Fields.largestInteger : 0,
            maximum: replay.maximum,
            bytes: min(Self.pageBytes, max(Self.replyBytes, maximumBytes - Self.replyBytes)))
        let end = ContinuousClock.now + Self.patience
        var isOver = false
        while !isOver, case let events = recent(page.open, maximum: Self.step), !events.isEmpty {
            for event in events.reversed() {
                guard page.look(at: event) else { break }
                isOver = ContinuousClock.now >= end
                if isOver { break }
            }
        }
        let hasMore = !recent(replay.since + 1..<max(page.place, replay.since + 1), maximum: 1).isEmpty
        let oldest = oldest
        return [
            "boot": .string(boot), "events": .array(page.events),
            "next": hasMore ? Replay.Place(boot: boot, sequence: page.place).json : .null,
            "first": oldest.map { ["seq": .int($0.sequence), "t": .int($0.time)] } ?? .null,
        ]
    }
}
