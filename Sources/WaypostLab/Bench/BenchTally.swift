import Waypost
import WaypostMessages

/// What was sent and what came back: counts and times only, no broker.
package struct BenchTally: Sendable {
    /// The most kinds of errors that are counted by name; names come from outside.
    static let maximumErrors = 100
    /// How much of such a name is kept.
    private static let maximumName = 200

    /// When each command was due that has no reply yet: as many as are in flight, however long the run.
    private var due: [Int: ContinuousClock.Instant] = [:]

    package private(set) var sent = 0
    package private(set) var histogram = LatencyHistogram()
    package private(set) var ok = 0
    package private(set) var answered = 0
    /// Replies of commands that the agent had time for; what it turns away at once says nothing of how fast it is.
    package private(set) var measured = 0
    /// Terminal replies beyond the first of their command.
    package private(set) var duplicates = 0
    /// Commands that can get no reply: the broker did not take them.
    package private(set) var unsent = 0
    /// Replies that are not ok, by code and name.
    package private(set) var errors: [String: Int] = [:]
    private(set) var firstSent: ContinuousClock.Instant?
    /// When the last measured reply came.
    private(set) var lastAnswer: ContinuousClock.Instant?

    /// Commands whose reply is still to come.
    package var open: Int { due.count }

    /// Counts a command as sent; returns its number.
    ///
    /// - Parameter due: when it should have been sent; its latency counts from there, so that a sender that is held
    ///   up does not hide the waiting.
    mutating func sends(due: ContinuousClock.Instant) -> Int {
        let number = sent
        sent += 1
        self.due[number] = due
        if firstSent == nil { firstSent = due }
        return number
    }

    /// The broker did not take the command.
    mutating func refused(_ number: Int, _ why: String) {
        guard due.removeValue(forKey: number) != nil else { return }
        unsent += 1
        count(why)
    }

    /// Counts a terminal reply.
    mutating func replied(_ number: Int, _ reply: Reply, at now: ContinuousClock.Instant) {
        guard (0..<sent).contains(number) else { return }
        guard let due = due.removeValue(forKey: number) else {
            duplicates += 1
            return
        }
        answered += 1
        if reply.code != .busy {
            measured += 1
            lastAnswer = now
            histogram.record((now - due).microseconds)
        }
        if reply.status == .ok { ok += 1 } else { count("\(reply.code)") }
    }

    private mutating func count(_ error: String) {
        let error = String(error.unicodeScalars.prefix(Self.maximumName))
        let isKnown = errors[error] != nil || errors.count < Self.maximumErrors
        errors[isKnown ? error : "other errors", default: 0] += 1
    }

    /// Measured commands a second, from the first sending to the last reply.
    package var throughput: Double {
        guard let firstSent, let lastAnswer, lastAnswer > firstSent else { return 0 }
        return Double(measured) * 1_000_000 / Double((lastAnswer - firstSent).microseconds)
    }
}

extension Duration {
    /// Whole microseconds, cut.
    package var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}
