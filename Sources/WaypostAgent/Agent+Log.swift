import WaypostMessages

extension Agent {
    /// A log handler that publishes the host application's log lines as events of the agent.
    ///
    /// ```swift
    /// let logger = Logger(label: "Orders") { agent.logHandler(label: $0) }
    /// ```
    ///
    /// Lines are treated as all events are: a `log` command can change the level, lines beyond the rate are dropped
    /// and counted, secrets are masked, and long lines are cut. Give the agent itself another logger: otherwise its
    /// line about a message that the broker refused would be the next such message.
    ///
    /// - Parameter label: The logger's label; it becomes the tag.
    public func logHandler(label: String) -> AgentLogHandler {
        AgentLogHandler(label: label, events: events)
    }
}
