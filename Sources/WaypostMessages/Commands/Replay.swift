import Waypost

/// What a `replay` asks for: recent events, published again, or a page of those that fit a filter in the reply.
package struct Replay: Payload, Hashable {
    /// A place among the events of one start of an agent.
    package struct Place: Payload, Hashable {
        /// Names the start of the process.
        package var boot = ""
        package var sequence: Int64 = 0

        package init(boot: String, sequence: Int64) {
            self.boot = boot
            self.sequence = sequence
        }

        package init() {}

        package mutating func describe(_ fields: inout PayloadFields) {
            fields.required("boot", &boot)
            fields.required("seq", &sequence, in: 0...Fields.largestInteger)
        }
    }

    /// Which events are on a page.
    package struct Page: Sendable, Hashable {
        /// Only earlier ones than this; nil for the newest.
        package var before: Place?
        /// Only those of this time and later by the agent's clock, in milliseconds since 1970.
        package var oldest: Int64?
        /// The lowest level.
        package var level: LogLevel?
        /// As ``LogQuery`` has it; it was read once already.
        package var query: String

        package init(
            before: Place? = nil, oldest: Int64? = nil, level: LogLevel? = nil, query: String = ""
        ) {
            self.before = before
            self.oldest = oldest
            self.level = level
            self.query = query
        }
    }

    /// Only events with a higher number.
    package var since: Int64 = 0
    /// The most events.
    package var maximum = Command.maximumReplay
    /// Nil to have the events published again.
    package var page: Page?

    package init() {}

    package init(since: Int64 = 0, maximum: Int = Command.maximumReplay, page: Page? = nil) {
        self.since = since
        self.maximum = maximum
        self.page = page
    }

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.required("since", &since, in: 0...Fields.largestInteger)
        fields.optional("max", &maximum, in: 1...Int64(Command.maximumReplay))
        guard fields.isReading || page != nil else { return }
        var page = page ?? Page()
        fields.optional("before", &page.before)
        fields.optional("oldest", &page.oldest, in: 0...Fields.latestTime)
        var letter = page.level?.topicLevel
        fields.optional("level", &letter)
        page.level = letter.flatMap { LogLevel(letter: $0) }
        if let letter, page.level == nil {
            fields.refuse("level must be one of v d i w e f; found \(letter.quoted)")
        }
        fields.optional("query", &page.query)
        fields.checkQuery(page.query)
        if page != Page() || fields["query"] != nil { self.page = page }
    }
}
