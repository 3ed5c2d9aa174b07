public import Waypost
package import WaypostMessages

/// What failed at an agent, where and why.
public struct AgentFailure: Sendable, Hashable {
    /// The agent.
    public let agent: String
    /// All that the report says, as it came.
    public let json: JSONValue
    /// With the times of a correct clock, where the agent's is known to be wrong.
    package let report: FailureReport

    /// - Parameter clockError: How far the agent's clock is ahead, in milliseconds.
    init?(_ json: JSONValue, of agent: String, clockError: Int64 = 0) {
        guard var report = try? FailureReport(json) else { return nil }
        report.first = report.first.subtracting(clamping: clockError)
        report.last = report.last.subtracting(clamping: clockError)
        (self.agent, self.json, self.report) = (agent, json, report)
    }

    /// Its id: a report that comes again has the same.
    public var id: String { report.id }
    /// What happened, for code to act on.
    public var code: Code { report.code }
    /// The part of the agent: `router`, `service`, `map`, `intake`, `link` or `agent`.
    public var origin: String { report.origin.rawValue }
    /// What was found, for people.
    public var detail: String { report.detail }
    /// The URL.
    public var url: String? { report.url }
    /// The id of the command that caused it.
    public var ref: String? { report.ref }
    /// The W3C `traceparent` of that command; nil when it had none.
    public var trace: String? { report.trace }
    /// Names close to the one that was not found.
    public var nearest: [String] { report.nearest }
    /// How often it happened.
    public var count: Int64 { report.count }
    /// When it happened last, by the agent's clock, in milliseconds since 1970; by a correct one in what
    /// ``Backend/keptFailures(of:since:_:deadline:_:)`` gives.
    public var time: Int64 { report.last }
}
