package import MQTTLink
import Threading

extension BackendSession {
    /// How long an agent is left alone that is asked too often.
    private static let pause = Duration.milliseconds(500)
    /// How long to wait after an answer for the next one: an agent that has begun is only slow.
    private static let further = Duration.seconds(10)
    /// How long all pages of all agents may take, from the first answer on: one that is slow on purpose holds up
    /// the lines of all others.
    package static let longestReplay = Duration.seconds(120)

    /// Asks agents for the events that they still have, page by page, until all is there or nothing comes any more.
    ///
    /// - Parameters:
    ///   - first: how long to wait for the first answer.
    ///   - longest: how long all further ones may take; what is missing then is among the gaps.
    ///   - other: called with all messages that have nothing to do with it.
    package func read(
        _ replay: inout ReplayCollector, first: Duration, longest: Duration = BackendSession.longestReplay,
        _ other: (MQTTMessage) -> Void
    ) async throws {
        for message in replay.messages { try await publish(message) }
        var end = MonotonicTime.instant + first
        var last: ContinuousClock.Instant?
        func furtherEnd() -> ContinuousClock.Instant {
            let next = MonotonicTime.instant + Self.further
            return last.map { min($0, next) } ?? next
        }
        var pauseEnd: ContinuousClock.Instant?
        var alarms = [alarm(after: first)]
        defer { for alarm in alarms { alarm.cancel() } }
        // Who is online is known from what the broker keeps, which may come after the answer of a fast agent.
        while !(replay.hasAnswers && replay.isComplete) {
            guard case .message(let message) = try await next() else {
                if let time = pauseEnd, MonotonicTime.instant >= time {
                    pauseEnd = nil
                    for message in replay.takeDelayed() { try await publish(message) }
                    end = furtherEnd()
                }
                // It may have been set before the last answer.
                let rest = end - MonotonicTime.instant
                guard rest > .zero else {
                    if end == last { replay.ended(after: longest) }
                    return
                }
                alarms.append(alarm(after: rest))
                continue
            }
            let answers = replay.answers
            if !replay.saw(message) { other(message) }
            guard replay.answers > answers else { continue }
            if answers == 0 {
                last = MonotonicTime.instant + longest
                // The first alarm may be far away; from here on each sets the next.
                alarms.append(alarm(after: min(longest, Self.further)))
            }
            end = furtherEnd()
            for message in replay.takeRequests() { try await publish(message) }
            if replay.hasDelayed, pauseEnd == nil {
                pauseEnd = MonotonicTime.instant + Self.pause
                alarms.append(alarm(after: Self.pause))
            }
        }
    }
}
