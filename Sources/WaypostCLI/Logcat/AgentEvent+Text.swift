import WaypostBackend
import WaypostMessages

extension AgentEvent {
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
