package import MQTTLink
import Threading
import Waypost
import WaypostMessages

/// Whether all came that a broker keeps for the subscriptions.
package enum RetainedReading: Hashable, Sendable {
    case whole
    /// The broker had not sent all within the time.
    case late(Duration)
    /// The broker holds less for a client than it had to send at once, and drops the rest.
    case droppedByBroker
    /// It was not read in time here.
    case droppedHere

    /// Why it is not all; nil when it is.
    package var fault: String? {
        switch self {
        case .whole: nil
        case .late(let limit):
            "the broker did not send all that it keeps within \(TimeSpan(milliseconds: limit.milliseconds))"
        case .droppedByBroker: Self.dropped
        case .droppedHere:
            "a part of what the broker keeps was dropped here: more came than could be read in time"
        }
    }

    static let dropped =
        "the broker dropped a part of what it keeps, which was more than it holds for a client "
        + "(in mosquitto: max_queued_messages)"
}

extension BackendSession {
    /// Brokers that send what they retain in the background need a moment more than the round trip.
    static let graceOfRetained = Duration.milliseconds(200)

    /// Reads all that the broker retains for the subscriptions, for who concludes something from what is not there.
    ///
    /// - Parameter filters: As in ``readAsMuch(of:within:_:)``.
    /// - Throws: ``BackendError`` of the kind `noBroker` when that is not all, or when the connection ended;
    ///   `CancellationError` when the task is cancelled.
    package func readRetained(
        of filters: [String] = [], within limit: Duration = .seconds(30), _ saw: (MQTTMessage) -> Void
    ) async throws {
        guard let fault = try await readAsMuch(of: filters, within: limit, saw).fault else { return }
        throw BackendError(.noBroker, "\(fault) (\(connection.broker))")
    }

    /// Reads until the broker has sent all that it retains for the subscriptions, or as much of it as it sends.
    ///
    /// - Parameter filters: Subscribed to before, and read meanwhile: what the broker keeps of ten thousand agents is not to
    ///   wait here until the last of these is answered. It may refuse them.
    /// - Parameter limit: How long the first answer may take; after a late one, three times as long as that one took is
    ///   added for the second, so that all of it ends within four limits.
    /// - Returns: whether it was all.
    package func readAsMuch(
        of filters: [String] = [], within limit: Duration, _ saw: (MQTTMessage) -> Void
    ) async throws -> RetainedReading {
        let dropped = loss.dropped
        var names = RetainedNames(topics)
        func note(_ message: MQTTMessage) {
            if message.retain { names.saw(message.topic) }
            saw(message)
        }
        try await subscribe(to: filters, reading: note)
        let end = MonotonicTime.instant + limit
        guard try await readKept(until: end, note) else { return .late(limit) }
        if names.mayBeMore {
            var (before, rounds) = (names.nextRound(), 0)
            while !before.isEmpty {
                guard rounds < Self.maximumRounds else { return .droppedByBroker }
                rounds += 1
                let isAnswered = try await sendsAgain(topics.state(of: "+"), and: names.last)
                guard try await readKept(until: end, note) else { return .late(limit) }
                let hasLast = names.hasLast
                let states = names.nextRound()
                // The end was not dropped, and within it not twice the same.
                if isAnswered, hasLast, states == before { break }
                before = states
            }
            let missing = names.missing
            for start in stride(from: 0, to: missing.count, by: RetainedNames.fewest) {
                guard MonotonicTime.instant < end else { return .late(limit) }
                try await ask(for: missing[start..<min(start + RetainedNames.fewest, missing.count)])
                guard try await readUpToFence(note) else { return .droppedByBroker }
            }
        }
        return loss.dropped == dropped ? .whole : .droppedHere
    }

    private static let maximumRounds = 5

    private func readKept(
        until limit: ContinuousClock.Instant, _ saw: (MQTTMessage) -> Void
    ) async throws -> Bool {
        var end = limit
        let roundTrip = Guarded<Duration?>(nil)
        // Behind the answer, so that it is known when the alarm is read.
        func ask() -> Alarm {
            self.alarm {
                guard let time = try? await self.fence() else { return false }
                roundTrip.withLock { $0 = time }
                return true
            }
        }
        var (fence, isSecond) = (ask(), false)
        var alarm = self.alarm(after: end - MonotonicTime.instant)
        defer {
            fence.cancel()
            alarm.cancel()
        }
        // By their hashes: ten thousand agents have fifty thousand.
        var topics: Set<Int> = []
        var newest = MonotonicTime.instant
        while true {
            switch try await next() {
            case .message(let message):
                // What is not retained is news, and what comes again was sent for another call over the same connection: both
                // may go on for ever.
                if message.retain, topics.insert(message.topic.hashValue).inserted {
                    newest = MonotonicTime.instant
                }
                saw(message)
            case .alarm:
                if let time = roundTrip.withLock(\.self) {
                    let silence = MonotonicTime.instant - newest
                    let needed = max(time, Self.graceOfRetained)
                    if silence >= needed { return true }
                    if time > Self.graceOfRetained, !isSecond {
                        // It came behind all that a large fleet has said, and took as long: the next one says how long a
                        // round trip is.
                        roundTrip.withLock { $0 = nil }
                        (fence, isSecond) = (ask(), true)
                        // Who answers late may do so again, and its silence is to be as long.
                        end = max(end, MonotonicTime.instant + time * 3)
                        alarm.cancel()
                        alarm = self.alarm(after: end - MonotonicTime.instant)
                    } else {
                        alarm.cancel()
                        alarm = self.alarm(after: min(needed - silence, end - MonotonicTime.instant))
                    }
                }
                if MonotonicTime.instant >= end { return false }
            }
        }
    }

    /// Reads what the broker sent before its answer to one more request.
    ///
    /// - Returns: whether it answered; without that nothing is read.
    package func readUpToFence(_ saw: (MQTTMessage) -> Void) async throws -> Bool {
        guard try await fence() != nil else { return false }
        alarm(after: .zero)
        while case .message(let message) = try await next() { saw(message) }
        return true
    }
}
