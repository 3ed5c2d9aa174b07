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

    /// The lines of a payload on `log/{level}`; what is no event is left out, see ``LogLines``.
    package static func events(_ payload: [UInt8], from agent: String) -> [LogLine] {
        LogLines(events: payload, from: agent).lines
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

    /// The line with the time of a correct clock.
    ///
    /// - Parameter error: how far the agent's clock is ahead, in milliseconds.
    package func corrected(by error: Int64) -> LogLine {
        var line = self
        line.event.time = event.time.subtracting(clamping: error)
        return line
    }

    /// The same of a line that came just now: where the agent's clock was set meanwhile, its time is right as it is.
    package func corrected(by error: Int64, now: Int64) -> LogLine {
        guard error != 0 else { return self }
        var line = corrected(by: error)
        let (asIs, better) = (
            now.subtracting(clamping: event.time), now.subtracting(clamping: line.event.time)
        )
        guard better.magnitude < asIs.magnitude else { return self }
        // How far it is off may be known to a minute only; nothing comes before it happens.
        line.event.time = min(line.event.time, now)
        return line
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

extension LogQuery {
    /// Whether it holds for a line.
    ///
    /// - Parameter now: the time of the wall clock, in milliseconds since 1970.
    package func holds(for line: LogLine, now: Int64) -> Bool {
        holds(for: line.event, of: line.agent, code: line.code, isReport: line.isReport, now: now)
    }
}
