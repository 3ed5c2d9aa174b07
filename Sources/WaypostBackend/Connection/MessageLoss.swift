import WaypostMessages

/// How many messages were not handed on.
package struct MessageLoss: Equatable {
    /// They were not read in time.
    package var dropped = 0
    /// They are larger than what is read.
    package var skipped = 0
    /// They came, and can't be read.
    package var unread = 0

    package init(dropped: Int = 0, skipped: Int = 0, unread: Int = 0) {
        (self.dropped, self.skipped, self.unread) = (dropped, skipped, unread)
    }

    /// A sentence for each kind of which there are some.
    package var notices: [String] {
        var notices: [String] = []
        if dropped > 0 { notices.append("\(Self.subject(dropped)) dropped: the reader is too slow") }
        if skipped > 0 { notices.append("\(Self.subject(skipped)) too large to be read") }
        if unread > 0 { notices.append("\(unread.counted("event")) can't be read") }
        return notices
    }

    private static func subject(_ count: Int) -> String {
        "\(count.counted("message")) \(count == 1 ? "was" : "were")"
    }

    package static func + (one: MessageLoss, other: MessageLoss) -> MessageLoss {
        MessageLoss(
            dropped: one.dropped + other.dropped, skipped: one.skipped + other.skipped,
            unread: one.unread + other.unread)
    }

    package static func - (one: MessageLoss, other: MessageLoss) -> MessageLoss {
        MessageLoss(
            dropped: one.dropped - other.dropped, skipped: one.skipped - other.skipped,
            unread: one.unread - other.unread)
    }
}
