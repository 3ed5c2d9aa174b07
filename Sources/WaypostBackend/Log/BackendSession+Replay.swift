package import MQTTLink
import Threading

extension BackendSession {
    /// How long an agent is left alone that is asked too often.
    private static let pause = Duration.milliseconds(500)
    /// How long to wait after an answer for the next one: an agent that has begun is only slow.
    private static let further = Duration.seconds(10)

    /// Asks agents for the events that they still have, page by page, until all is there or nothing comes any more.
    ///
    /// - Parameters:
    ///   - first: how long to wait for the first answer.
    ///   - other: called with all messages that have nothing to do with it.
    package func read(
        _ replay: inout ReplayCollector, first: Duration, _ other: (MQTTMessage) -> Void
    ) async throws {
        for message in replay.messages { try await publish(message) }
        var end = MonotonicTime.instant + first
        var pauseEnd: ContinuousClock.Instant?
        var alarms = [alarm(after: first)]
        defer { for alarm in alarms { alarm.cancel() } }
        // Who is online is known from what the broker keeps, which may come after the answer of a fast agent.
        while !(replay.hasAnswers && replay.isComplete) {
            guard case .message(let message) = try await next() else {
                if let time = pauseEnd, MonotonicTime.instant >= time {
                    pauseEnd = nil
                    for message in replay.takeDelayed() { try await publish(message) }
                    end = MonotonicTime.instant + Self.further
                }
                // It may have been set before the last answer.
                let rest = end - MonotonicTime.instant
                guard rest > .zero else { return }
                alarms.append(alarm(after: rest))
                continue
            }
            let answers = replay.answers
            if !replay.saw(message) { other(message) }
            guard replay.answers > answers else { continue }
            end = MonotonicTime.instant + Self.further
            // The first alarm may be far away; from here on each sets the next.
            if answers == 0 { alarms.append(alarm(after: Self.further)) }
            for message in replay.takeRequests() { try await publish(message) }
            if replay.hasDelayed, pauseEnd == nil {
                pauseEnd = MonotonicTime.instant + Self.pause
                alarms.append(alarm(after: Self.pause))
            }
        }
    }
}
