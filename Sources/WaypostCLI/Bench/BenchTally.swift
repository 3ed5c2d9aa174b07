import Waypost
import WaypostMessages

/// What was sent and what came back: counts and times only, no broker.
struct BenchTally: Sendable {
    /// Commands by number: when each was due, and how often it was answered.
    private var due: [ContinuousClock.Instant] = []
    private var answers: [UInt8] = []

    private(set) var histogram = LatencyHistogram()
    private(set) var ok = 0
    private(set) var answered = 0
    /// Terminal replies beyond the first of their command.
    private(set) var duplicates = 0
    /// Commands that can get no reply: the broker did not take them.
    private(set) var unsent = 0
    /// Replies that are not ok, by code and name.
    private(set) var errors: [String: Int] = [:]
    private(set) var firstSent: ContinuousClock.Instant?
    private(set) var lastAnswer: ContinuousClock.Instant?

    var sent: Int { due.count }
    /// Commands whose reply is still to come.
    var open: Int { sent - answered - unsent }

    /// Counts a command as sent; returns its number.
    ///
    /// - Parameter due: when it should have been sent; its latency counts from there, so that a sender that is held
    ///   up does not hide the waiting.
    mutating func sends(due: ContinuousClock.Instant) -> Int {
        self.due.append(due)
        answers.append(0)
        if firstSent == nil { firstSent = due }
        return self.due.count - 1
    }

    /// The broker did not take the command.
    mutating func refused(_ number: Int, _ why: String) {
        guard answers.indices.contains(number), answers[number] == 0 else { return }
        answers[number] = 1
        unsent += 1
        errors[why, default: 0] += 1
    }

    /// Counts a terminal reply.
    mutating func replied(_ number: Int, _ reply: Reply, at now: ContinuousClock.Instant) {
        guard answers.indices.contains(number) else { return }
        guard answers[number] == 0 else {
            duplicates += 1
            return
        }
        answers[number] = 1
        answered += 1
        lastAnswer = now
        histogram.record((now - due[number]).microseconds)
        if reply.status == .ok {
            ok += 1
        } else {
            errors["\(reply.code)", default: 0] += 1
        }
    }

    /// Answered commands a second, from the first sending to the last reply.
    var throughput: Double {
        guard let firstSent, let lastAnswer, lastAnswer > firstSent else { return 0 }
        return Double(answered) * 1_000_000 / Double((lastAnswer - firstSent).microseconds)
    }
}

extension Duration {
    /// Whole microseconds, cut.
    var microseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
}
