package import WaypostMessages

/// How long to wait for replies.
package struct ReplyWait: Sendable {
    package let limit: TimeSpan
    /// Whether it was asked for: an agent that is offline is waited for only then.
    let isGiven: Bool

    /// - Parameter given: Nil for 10 s, and not for an agent that is offline; nothing for no wait at all.
    package init(_ given: TimeSpan? = nil) {
        limit = given ?? .seconds(10)
        isGiven = given != nil
    }

    /// At most so long, and not for an agent that is offline.
    package init(atMost limit: TimeSpan) {
        self.limit = limit
        isGiven = false
    }

    /// Whether to wait at all.
    package var isOn: Bool { limit.milliseconds > 0 }
    package var duration: Duration { limit.duration }
    /// For a sentence: `10 s`, `500 ms`.
    package var text: String { limit.description }
}
