package import Waypost
package import WaypostMessages

/// One line of logcat: an event, or a failure report in the form of one.
package struct LogLine: Sendable {
    package var agent: String
    package var event: LogEvent
    /// The JSON it came as.
    package var source: [UInt8]
    /// Of a failure.
    package var code: Code?
    /// Whether it is a failure report and no event.
    package var isReport = false
    /// Of a failure report; one that comes again has the same.
    package var reportID: String?

    package init(
        agent: String, event: LogEvent, source: [UInt8], code: Code? = nil, isReport: Bool = false,
        reportID: String? = nil
    ) {
        (self.agent, self.event, self.source) = (agent, event, source)
        (self.code, self.isReport, self.reportID) = (code, isReport, reportID)
    }

    /// The lines of a payload on `log/{level}`; what is no event is left out.
    package static func events(_ payload: [UInt8], from agent: String) -> [LogLine] {
        payload.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard let json = try? JSONValue(parsing: Array(line), limits: .trustedFile) else { return nil }
            return event(json, line, from: agent)
        }
    }

    /// An event as a line; nil when it is none.
    ///
    /// - Parameter source: the JSON it came as.
    package static func event(_ json: JSONValue, _ source: some Collection<UInt8>, from agent: String)
        -> LogLine?
    {
        guard let event = try? LogEvent(json) else { return nil }
        return LogLine(
            agent: agent, event: event, source: JSONLine.make(agent: agent, payload: source, json),
            code: event.failureCode)
    }

    /// Whether this event says what that failure report says.
    package func tells(of report: LogLine) -> Bool {
        !isReport && agent == report.agent && code == report.code && event.ref == report.event.ref
            && event.url == report.event.url
    }

    /// A failure report as a line of level E.
    package static func failure(_ payload: [UInt8], from agent: String) -> LogLine? {
        guard let json = try? JSONValue(parsing: payload, limits: .trustedFile),
            let report = try? FailureReport(json)
        else { return nil }
        return LogLine(
            agent: agent, event: report.event, source: JSONLine.make(agent: agent, payload: payload, json),
            code: report.code, isReport: true, reportID: report.id)
    }
}
