public import Waypost
package import WaypostMessages

/// A line of an agent's log: an event, or a failure report in the form of one.
public struct AgentEvent: Sendable, Hashable {
    /// The priorities of Android's logcat.
    public enum Level: UInt8, Sendable, Hashable, Comparable, CaseIterable {
        /// From the least important to the worst.
        case verbose, debug, info, warning, error, fatal

        /// The less important one is less.
        public static func < (one: Level, other: Level) -> Bool { one.rawValue < other.rawValue }
    }

    /// The agent.
    public let agent: String
    package var event: LogEvent
    /// The JSON it came as.
    package var source: [UInt8]
    /// The code of the failure that it tells of; nil for none.
    public package(set) var code: Code?
    /// Whether it is a failure report and no event.
    package var isReport = false
    /// Of a failure report; one that comes again has the same.
    package var reportID: String?

    /// When, by the agent's clock, in milliseconds since 1970.
    public var time: Int64 { event.time }
    /// How important it is.
    public var level: Level { Level(event.level) }
    /// Which part of the agent says it.
    public var tag: String { event.tag }
    /// What it says.
    public var message: String { event.message }
    /// The URL that it is about.
    public var url: String? { event.url }
    /// The id of the command that caused it.
    public var ref: String? { event.ref }
    /// The W3C `traceparent` of that command; nil when it had none.
    public var trace: String? { event.trace }
    /// Its number, which rises from one event of an agent to the next until the agent is started again.
    public var sequence: Int64 { event.sequence }

    package init(
        agent: String, event: LogEvent, source: [UInt8], code: Code? = nil, isReport: Bool = false,
        reportID: String? = nil
    ) {
        (self.agent, self.event, self.source) = (agent, event, source)
        (self.code, self.isReport, self.reportID) = (code, isReport, reportID)
    }

    /// The lines of a payload on `log/{level}`; what is no event is left out, see ``Lines``.
    package static func events(_ payload: [UInt8], from agent: String) -> [AgentEvent] {
        Lines(events: payload, from: agent).lines
    }

    /// An event as a line; nil when it is none.
    ///
    /// - Parameter source: the JSON it came as.
    package static func event(_ json: JSONValue, _ source: some Collection<UInt8>, from agent: String)
        -> AgentEvent?
    {
        guard let event = try? LogEvent(json) else { return nil }
        return AgentEvent(
            agent: agent, event: event, source: JSONLine.make(agent: agent, payload: source, json),
            code: event.failureCode)
    }

    /// The line with the time of a correct clock.
    ///
    /// - Parameter error: how far the agent's clock is ahead, in milliseconds.
    package func corrected(by error: Int64) -> AgentEvent {
        var line = self
        line.event.time = event.time.subtracting(clamping: error)
        return line
    }

    /// The same of a line that came just now: where the agent's clock was set meanwhile, its time is right as it is.
    package func corrected(by error: Int64, now: Int64) -> AgentEvent {
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
    package func tells(of report: AgentEvent) -> Bool {
        !isReport && agent == report.agent && code == report.code && event.ref == report.event.ref
            && event.url == report.event.url
    }

    /// A failure report as a line of level E.
    package static func failure(_ payload: [UInt8], from agent: String) -> AgentEvent? {
        guard let json = try? JSONValue(parsing: payload, limits: .trustedFile),
            let report = try? FailureReport(json)
        else { return nil }
        return AgentEvent(
            agent: agent, event: report.event, source: JSONLine.make(agent: agent, payload: payload, json),
            code: report.code, isReport: true, reportID: report.id)
    }
}

extension AgentEvent {
    /// What came with one message, as lines; what can't be read is counted.
    package struct Lines: Sendable {
        package var lines: [AgentEvent] = []
        /// How many lines there were besides, which can't be read.
        package var unread = 0

        /// The events of a payload on `log/{level}`, one a line.
        package init(events payload: [UInt8], from agent: String) {
            for line in payload.split(separator: UInt8(ascii: "\n")) {
                let json = try? JSONValue(parsing: Array(line), limits: .trustedFile)
                if let event = json.flatMap({ AgentEvent.event($0, line, from: agent) }) {
                    lines.append(event)
                } else {
                    unread += 1
                }
            }
        }

        /// The failure report of a payload on `fail`; an empty payload is none.
        package init(failure payload: [UInt8], from agent: String) {
            guard !payload.isEmpty else { return }
            if let line = AgentEvent.failure(payload, from: agent) { lines = [line] } else { unread = 1 }
        }
    }
}

extension LogQuery {
    /// Whether it holds for a line.
    ///
    /// - Parameter now: the time of the wall clock, in milliseconds since 1970.
    package func holds(for line: AgentEvent, now: Int64) -> Bool {
        holds(for: line.event, of: line.agent, code: line.code, isReport: line.isReport, now: now)
    }
}

// Both have the same cases, in the same order.
extension AgentEvent.Level {
    package init(_ level: LogLevel) { self = Self.allCases[Int(level.rawValue)] }
}

extension LogLevel {
    package init(_ level: AgentEvent.Level) { self = Self.allCases[Int(level.rawValue)] }
}
