import Waypost
import WaypostMessages

/// One line of logcat: an event, or a failure report in the form of one.
struct LogLine: Sendable {
    var agent: String
    var event: LogEvent
    /// The JSON it came as.
    var source: [UInt8]
    /// Of a failure.
    var code: Code?
    /// Whether it is a failure report and no event.
    var isReport = false
    /// Of a failure report; one that comes again has the same.
    var reportID: String?

    /// The lines of a payload on `log/{level}`; what is no event is left out.
    static func events(_ payload: [UInt8], from agent: String) -> [LogLine] {
        payload.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard let json = try? JSONValue(parsing: Array(line), limits: .trustedFile) else { return nil }
            return event(json, line, from: agent)
        }
    }

    /// An event as a line; nil when it is none.
    ///
    /// - Parameter source: the JSON it came as.
    static func event(_ json: JSONValue, _ source: some Collection<UInt8>, from agent: String) -> LogLine? {
        guard let event = try? LogEvent(json) else { return nil }
        return LogLine(
            agent: agent, event: event, source: JSONLine.make(agent: agent, payload: source, json),
            code: event.failureCode)
    }

    /// Whether this event says what that failure report says.
    func tells(of report: LogLine) -> Bool {
        !isReport && agent == report.agent && code == report.code && event.ref == report.event.ref
            && event.url == report.event.url
    }

    /// A failure report as a line of level E.
    static func failure(_ payload: [UInt8], from agent: String) -> LogLine? {
        guard let json = try? JSONValue(parsing: payload, limits: .trustedFile),
            let report = try? FailureReport(json)
        else { return nil }
        return LogLine(
            agent: agent, event: report.event, source: JSONLine.make(agent: agent, payload: payload, json),
            code: report.code, isReport: true, reportID: report.id)
    }

    /// Prints the line; false when the output is closed.
    ///
    /// - Parameter width: of the column with the agent's name; nil when there is just one agent.
    @discardableResult
    func show(_ format: LogFormat, _ style: Style, agentWidth width: Int?) -> Bool {
        format.form == .json
            ? Terminal.print(json: source) : Terminal.print(text(format, style, agentWidth: width))
    }

    /// The line for people.
    func text(_ format: LogFormat, _ style: Style, agentWidth width: Int?) -> TerminalText {
        let style = Style(isOn: style.isOn || format.isColoured)
        let text =
            format.form == .brief
            ? event.brief : event.threadTime(isUTC: format.isUTC, hasYear: format.hasYear)
        let line = style.line("\(text)", at: event.level)
        guard let width = width ?? (format.namesAgent ? agent.count : nil) else { return line }
        let name = agent + String(repeating: " ", count: max(0, width - agent.count))
        return "\(style.cyan(TerminalText(name))) \(line)"
    }
}
