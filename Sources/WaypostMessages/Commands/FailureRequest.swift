import Waypost

/// What a `failures` asks for: a page of the last failures that fit a filter, the newest first.
package struct FailureRequest: Sendable, Hashable {
    /// Only those that happened at this time or later by the agent's clock, in milliseconds since 1970.
    package var since: Int64
    /// The `next` of the page before.
    package var before: Int64
    /// The most failures.
    package var maximum: Int
    /// As ``LogQuery`` has it; it was read once already.
    package var query: String

    package init(
        since: Int64 = 0, before: Int64 = Fields.largestInteger, maximum: Int = Command.maximumFailures,
        query: String = ""
    ) {
        self.since = since
        self.before = before
        self.maximum = maximum
        self.query = query
    }
}

extension FailureRequest {
    /// The fields of the command, beside those of all.
    static let fields = ["since", "before", "max", "query"]

    /// - Throws: ``Failure`` 422 naming the field.
    init(_ fields: Fields) throws(Failure) {
        since = try fields.integer("since", in: 0...Fields.latestTime) ?? 0
        before = try fields.integer("before", in: 0...Fields.largestInteger) ?? Fields.largestInteger
        let maximum = try fields.integer("max", in: 1...Int64(Command.maximumFailures))
        self.maximum = maximum.map(Int.init) ?? Command.maximumFailures
        query = try fields.text("query") ?? ""
        _ = try LogQuery(forAgent: query)
    }

    func write(to json: inout JSONWriter) {
        json.member("since", since)
        if before < Fields.largestInteger { json.member("before", before) }
        json.member("max", maximum)
        if !query.isEmpty { json.member("query", query) }
    }
}
