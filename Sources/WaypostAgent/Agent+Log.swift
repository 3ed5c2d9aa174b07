import WaypostMessages

extension Agent {
    /// A handler by which the log lines of the host application go the way of the agent's events.
    ///
    /// ```swift
    /// let logger = Logger(label: "Orders") { agent.logHandler(label: $0) }
    /// ```
    ///
    /// A line obeys all that holds for events: the level wanted, also from afar; the rate, beyond which lines are shed
    /// and counted; masking; the bounds of length. Give the agent itself another logger: what it says of a message
    /// that the broker refused would otherwise be the next such message.
    ///
    /// - Parameter label: The logger's label; it becomes the tag.
    public func logHandler(label: String) -> AgentLogHandler {
        AgentLogHandler(label: label, events: events)
    }
}
