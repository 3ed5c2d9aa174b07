import MQTTLink

/// When all has come that a broker keeps: it has answered a request, and has sent nothing new since for as long as a round
/// trip takes.
///
/// Pure: a time is handed in.
struct RetainedSilence {
    enum Reading: Hashable {
        case whole
        case late
        /// Not known before then, unless the broker answers.
        case open(until: ContinuousClock.Instant)
    }

    /// Brokers that send what they retain in the background need a moment more than the round trip.
    static let grace = Duration.milliseconds(200)

    private let limit: Duration
    private let last: ContinuousClock.Instant
    /// Of all, also without anything new.
    private var end: ContinuousClock.Instant
    /// When something new came.
    private var newest: ContinuousClock.Instant
    private var roundTrip: Duration?
    private var isAskedAgain = false
    /// By their hashes: ten thousand agents have fifty thousand.
    private var topics: Set<Int> = []

    /// - Parameters:
    ///   - limit: How long the broker may send nothing new.
    ///   - last: When it has to be over.
    init(within limit: Duration, until last: ContinuousClock.Instant, at now: ContinuousClock.Instant) {
        (self.limit, self.last, newest) = (limit, last, now)
        end = min(last, now + limit)
    }

    /// What is not retained is news, and what comes again was sent for another call over the same connection: both may go on for
    /// ever.
    mutating func saw(_ message: MQTTMessage, at now: ContinuousClock.Instant) {
        if message.retain, topics.insert(message.topic.hashValue).inserted { newest = now }
    }

    /// Whether the broker has to be asked once more, which answered after `time`: its first answer came behind all that a large
    /// fleet has said, and the next one says how long a round trip is.
    mutating func asksAgain(behindAnswerAfter time: Duration, at now: ContinuousClock.Instant) -> Bool {
        roundTrip = time
        guard time > Self.grace, !isAskedAgain, reading(at: now) != .whole else { return false }
        (roundTrip, isAskedAgain) = (nil, true)
        // Who answers late may do so again, and its silence is to be as long.
        end = max(end, min(last, now + time * 3))
        return true
    }

    func reading(at now: ContinuousClock.Instant) -> Reading {
        let isWhole = roundTrip.map { newest + max($0, Self.grace) }
        if let isWhole, now >= isWhole { return .whole }
        let end = max(end, min(last, newest + limit))
        return now >= end ? .late : .open(until: min(isWhole ?? end, end))
    }
}
