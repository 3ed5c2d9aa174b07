/// Until when answers to a question to many agents are waited for, in milliseconds of any clock.
///
/// The first may take as long as was asked for. Each of the others may then come as long after the one before as the
/// first took, 3 s at least and a minute at most; all of them have a minute.
struct AnswerWindow {
    /// How long nothing more has to come, before all answers are there.
    static let shortest: Int64 = 3_000
    /// How long answers may take in all behind the first of them.
    static let longest: Int64 = 60_000

    private let asked: Int64
    private var last: Int64
    private var patience: Int64
    /// When it ends, however many more come.
    private var limit = Int64.max

    /// - Parameters:
    ///   - spread: Over how long the agents spread their answers.
    ///   - wait: How long the first may take beyond that.
    init(asked: Int64, spread: Int64, wait: Int64) {
        (self.asked, last, patience) = (asked, asked + spread, wait)
    }

    /// When it ends unless another answer comes.
    var end: Int64 { min(last + patience, limit) }

    /// Whether it ends although another answer may still come.
    var isCutShort: Bool { last + patience > limit }

    /// An answer has come.
    mutating func answered(at now: Int64) {
        last = max(last, now)
        guard limit == .max else { return }
        (patience, limit) = (min(max(Self.shortest, now - asked), Self.longest), last + Self.longest)
    }
}
