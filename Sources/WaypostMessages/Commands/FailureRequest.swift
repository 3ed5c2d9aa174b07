import Waypost

/// What a `failures` asks for: a page of the last failures that fit a filter, the newest first.
package struct FailureRequest: Payload, Hashable {
    /// Only those that happened at this time or later by the agent's clock, in milliseconds since 1970.
    package var since: Int64 = 0
    /// The `next` of the page before.
    package var before = Fields.largestInteger
    /// The most failures.
    package var maximum = Command.maximumFailures
    /// As ``LogQuery`` has it; it was read once already.
    package var query = ""

    package init() {}

    package init(
        since: Int64 = 0, before: Int64 = Fields.largestInteger, maximum: Int = Command.maximumFailures,
        query: String = ""
    ) {
        self.since = since
        self.before = before
        self.maximum = maximum
        self.query = query
    }

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.optional("since", &since, in: 0...Fields.latestTime)
        fields.optional(
            "before", &before, unless: Fields.largestInteger, in: 0...Fields.largestInteger)
        fields.optional("max", &maximum, in: 1...Int64(Command.maximumFailures))
        fields.optional("query", &query, unless: "")
        fields.checkQuery(query)
    }
}

extension PayloadFields {
    /// Refuses a query that no agent answers.
    mutating func checkQuery(_ query: String) {
        do throws(Failure) { _ = try LogQuery(forAgent: query) } catch { refuse(error) }
    }
}
