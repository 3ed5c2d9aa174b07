import Waypost

/// One run of an agent: when it began, and how it ended.
package struct AgentRun: Sendable, Hashable {
    /// In milliseconds since 1970, by the agent's clock.
    package var began: Int64
    package var process: Int64
    /// When it was stopped, and what stopped it; nil while it runs, and when it was not stopped properly.
    package var ended: Int64?
    package var reason: String?
    /// Events that did not get out before it was stopped.
    var unsaidEvents: Int64 = 0

    init(began: Int64, process: Int64, ended: Int64? = nil, reason: String? = nil) {
        self.began = began
        self.process = process
        self.ended = ended
        self.reason = reason
    }

    fileprivate init?(_ json: JSONValue) {
        guard let began = json["began"]?.intValue, let process = json["process"]?.intValue else { return nil }
        self.init(
            began: began, process: process, ended: json["ended"]?.intValue,
            reason: json["reason"]?.stringValue)
        unsaidEvents = min(max(0, json["unsaid"]?.intValue ?? 0), 1 << 53)
    }

    fileprivate var json: JSONValue {
        [
            "began": .int(began), "process": .int(process), "ended": ended.map(JSONValue.int) ?? .null,
            "reason": reason.map(JSONValue.string) ?? .null, "unsaid": .int(unsaidEvents),
        ]
    }
}

extension Store.Transaction {
    private static var runKey: String { "run" }

    /// The last run, which may be the present one; nil before the first, and after one of an older version.
    func run() throws -> AgentRun? {
        try text(Self.runKey).flatMap { try? JSONValue(parsing: $0) }.flatMap { AgentRun($0) }
    }

    func setRun(_ run: AgentRun) throws { try setText(Self.runKey, run.json.text) }
}
