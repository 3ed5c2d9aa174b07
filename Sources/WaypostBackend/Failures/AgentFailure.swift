public import Waypost
import WaypostMessages

/// What failed at an agent, where and why.
public struct AgentFailure: Sendable, Hashable {
    /// The agent.
    public let agent: String
    private let report: FailureReport

    init?(_ json: JSONValue, of agent: String) {
        guard let report = try? FailureReport(json) else { return nil }
        (self.agent, self.report) = (agent, report)
    }

    /// The report as it came.
    var json: JSONValue { report.json }
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
    /// When it happened last, by the agent's clock, in milliseconds since 1970.
    public var time: Int64 { report.last }
}
