import Threading
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
        var page = try EventPage(
            replay, wanted, of: agent, boot: boot,
            bytes: min(Self.pageBytes, max(Self.replyBytes, maximumBytes - Self.replyBytes)), at: now)
        let end = MonotonicTime.instant + Self.patience
        var isOver = false
        while !isOver, case let events = recent(page.open, maximum: Self.step), !events.isEmpty {
            for event in events.reversed() {
                guard page.look(at: event) else { break }
                isOver = MonotonicTime.instant >= end
                if isOver { break }
            }
        }
        let hasMore = !recent(replay.since + 1..<max(page.place, replay.since + 1), maximum: 1).isEmpty
        return page.answer(boot: boot, hasMore: hasMore, oldest: oldest)
    }
}
