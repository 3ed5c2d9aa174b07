package import Waypost

/// What a `replay` asks for: recent events, published again, or a page of those that fit a filter in the reply.
package struct Replay: Sendable, Hashable {
    /// A place among the events of one start of an agent.
    package struct Place: Sendable, Hashable {
        /// Names the start of the process.
        package var boot: String
        package var sequence: Int64

        package init(boot: String, sequence: Int64) {
            self.boot = boot
            self.sequence = sequence
        }

        /// As it stands in `before` and `next`.
        package var json: JSONValue { ["boot": .string(boot), "seq": .int(sequence)] }

        /// - Throws: ``Failure`` 422 naming the field.
        package init(_ json: JSONValue) throws(Failure) {
            let fields = Fields(of: json)
            boot = try fields.required("boot", fields.text("boot"))
            sequence = try fields.required("seq", fields.integer("seq", in: 0...Fields.largestInteger))
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
    package var since: Int64
    /// The most events.
    package var maximum: Int
    /// Nil to have the events published again.
    package var page: Page?

    package init(since: Int64 = 0, maximum: Int = Command.maximumReplay, page: Page? = nil) {
        self.since = since
        self.maximum = maximum
        self.page = page
    }
}

extension Replay {
    /// The fields of the command, beside those of all.
    static let fields = ["since", "max"] + pageFields
    private static let pageFields = ["before", "oldest", "level", "query"]

    /// - Throws: ``Failure`` 422 naming the field.
    init(_ fields: Fields) throws(Failure) {
        since = try fields.required("since", fields.integer("since", in: 0...Fields.largestInteger))
        let maximum = try fields.integer("max", in: 1...Int64(Command.maximumReplay))
        self.maximum = maximum.map(Int.init) ?? Command.maximumReplay
        guard Self.pageFields.contains(where: { fields[$0] != nil }) else { return }
        var page = Page(query: try fields.text("query") ?? "")
        _ = try LogQuery(forAgent: page.query)
        if let before = try fields.object("before") {
            do throws(Failure) {
                page.before = try Place(.object(before))
            } catch {
                throw Failure(error.code, "before: \(error.detail)")
            }
        }
        page.oldest = try fields.integer("oldest", in: 0...Fields.latestTime)
        if let letter = try fields.text("level") {
            guard let level = LogLevel(letter: letter) else {
                throw Failure(.badField, "level must be one of v d i w e f; found \(letter.quoted)")
            }
            page.level = level
        }
        self.page = page
    }

    func write(to json: inout JSONWriter) {
        json.member("since", since)
        json.member("max", maximum)
        guard let page else { return }
        if let before = page.before { json.member("before", before.json) }
        if let oldest = page.oldest { json.member("oldest", oldest) }
        if let level = page.level { json.member("level", level.topicLevel) }
        json.member("query", page.query)
    }
}
