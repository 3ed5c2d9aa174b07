import Waypost
import WaypostMessages

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
