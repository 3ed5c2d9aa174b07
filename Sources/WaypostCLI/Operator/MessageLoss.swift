import WaypostMessages

/// How many messages a command could not show.
struct MessageLoss: Equatable {
    /// They were not read in time.
    var dropped = 0
    /// They are larger than what a command reads.
    var skipped = 0

    /// A sentence for each kind of which there are some.
    var notices: [String] {
        var notices: [String] = []
        if dropped > 0 { notices.append("\(Self.subject(dropped)) dropped: this terminal is too slow") }
        if skipped > 0 { notices.append("\(Self.subject(skipped)) too large to be read") }
        return notices
    }

    private static func subject(_ count: Int) -> String {
        "\(count.counted("message")) \(count == 1 ? "was" : "were")"
    }

    static func + (one: MessageLoss, other: MessageLoss) -> MessageLoss {
        MessageLoss(dropped: one.dropped + other.dropped, skipped: one.skipped + other.skipped)
    }

    static func - (one: MessageLoss, other: MessageLoss) -> MessageLoss {
        MessageLoss(dropped: one.dropped - other.dropped, skipped: one.skipped - other.skipped)
    }
}
