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
    /// - Parameter limit: How long the broker may send nothing new; all of it, which may be large or come over a slow link,
    ///   has four times as long. A late answer is waited for twice, the second time three times as long as the first took.
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
        let start = MonotonicTime.instant
        let end = start + limit * 4
        func late() -> RetainedReading {
            .late(max(limit, .seconds((MonotonicTime.instant - start).components.seconds)))
        }
        guard try await readKept(within: limit, until: end, note) else { return late() }
        if names.mayBeMore {
            var (before, rounds) = (names.nextRound(), 0)
            while !before.isEmpty {
                guard rounds < Self.maximumRounds else { return .droppedByBroker }
                rounds += 1
                let isAnswered = try await sendsAgain(topics.state(of: "+"), and: names.last)
                guard try await readKept(within: limit, until: end, note) else { return late() }
                let hasLast = names.hasLast
                let states = names.nextRound()
                // The end was not dropped, and within it not twice the same.
                if isAnswered, hasLast, states == before { break }
                before = states
            }
            let missing = names.missing
            for start in stride(from: 0, to: missing.count, by: RetainedNames.fewest) {
                guard MonotonicTime.instant < end else { return late() }
                try await ask(for: missing[start..<min(start + RetainedNames.fewest, missing.count)])
                guard try await readUpToFence(note) else { return .droppedByBroker }
            }
        }
        return loss.dropped == dropped ? .whole : .droppedHere
    }

    private static let maximumRounds = 5

    private func readKept(
        within limit: Duration, until last: ContinuousClock.Instant, _ saw: (MQTTMessage) -> Void
    ) async throws -> Bool {
        var silence = RetainedSilence(within: limit, until: last, at: MonotonicTime.instant)
        let roundTrip = Guarded<Duration?>(nil)
        // Behind the answer, so that it is known when the alarm is read.
        func ask() -> Alarm {
            self.alarm {
                guard let time = try? await self.fence() else { return false }
                roundTrip.withLock { $0 = time }
                return true
            }
        }
        var fence = ask()
        // What is left of the whole time may be less than the limit.
        var alarm = self.alarm(after: min(limit, last - MonotonicTime.instant))
        defer {
            fence.cancel()
            alarm.cancel()
        }
        while true {
            switch try await next() {
            case .message(let message):
                silence.saw(message, at: MonotonicTime.instant)
                saw(message)
            case .alarm:
                let now = MonotonicTime.instant
                if let time = roundTrip.withLock({ $0.take() }),
                    silence.asksAgain(behindAnswerAfter: time, at: now)
                {
                    fence = ask()
                }
                switch silence.reading(at: now) {
                case .whole: return true
                case .late: return false
                case .open(let next):
                    alarm.cancel()
                    alarm = self.alarm(after: next - now)
                }
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
