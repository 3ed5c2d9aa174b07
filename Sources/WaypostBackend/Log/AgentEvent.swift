public import Waypost
package import WaypostFleet
import WaypostMessages

/// A line of an agent's log.
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
    private let event: LogEvent

    init(_ line: LogLine) { (agent, event) = (line.agent, line.event) }

    /// When, by the agent's clock, in milliseconds since 1970.
    public var time: Int64 { event.time }
    /// How important it is.
    public var level: Level { Level(rawValue: event.level.rawValue) ?? .warning }
    /// Which part of the agent says it.
    public var tag: String { event.tag }
    /// What it says.
    public var message: String { event.message }
    /// The URL that it is about.
    public var url: String? { event.url }
    /// The id of the command that caused it.
    public var ref: String? { event.ref }
    /// The code of the failure that it tells of; nil for none.
    public var code: Code? { event.failureCode }
    /// Its number, which rises from one event of an agent to the next until the agent is started again.
    public var sequence: Int64 { event.sequence }

    /// The line that logcat shows.
    package var line: LogLine { LogLine(agent: agent, event: event, source: [], code: code) }
}

extension AgentCommand {
    /// Changes which events the agent publishes; it goes back by itself.
    ///
    /// - Parameters:
    ///   - level: The lowest that is published.
    ///   - tag: Only for events with this tag; nil for all.
    ///   - duration: How long; a longer one than an hour is an hour.
    public static func log(
        _ level: AgentEvent.Level, tag: String? = nil, for duration: Duration = .seconds(600)
    ) -> AgentCommand {
        AgentCommand(
            .log(
                level: LogLevel(rawValue: level.rawValue) ?? .info, tag: tag,
                milliseconds: min(max(1, duration.milliseconds), Command.maximumLogDuration)))
    }
}
