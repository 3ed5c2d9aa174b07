import WaypostBackend

/// Prints what follows from the log: lines to standard output, what concerns the log itself to standard error.
final class LogPrinter {
    private let format: LogFormat
    private let style: Style
    private let noticeStyle = Style(isOn: Terminal.errorsHaveColours)
    /// Nil for lines without the agent's name.
    private var width: Int?
    /// How many lines it still prints; nil for all.
    private var rest: Int?

    init(_ format: LogFormat, _ style: Style, namesAgents: Bool, maximum: Int? = nil) {
        self.format = format
        self.style = style
        width = namesAgents ? 8 : nil
        rest = maximum
    }

    /// Prints an entry; false when the output is closed, or has all that was asked for.
    func show(_ entry: LogFollower.Entry) -> Bool {
        switch entry {
        case .line(let line):
            width = width.map { max($0, line.agent.count) }
            let isOpen = line.show(format, style, agentWidth: width)
            rest = rest.map { $0 - 1 }
            return isOpen && rest ?? 1 > 0
        case .notice(let text):
            Terminal.note(noticeStyle.dim("--- \(text)"))
            return true
        }
    }

    /// Follows the log until the output is closed, or ends well on SIGTERM: that is its ordinary end, for it has no other.
    static func follow(_ follower: LogFollower) async throws {
        var follower = follower
        let monitor = ClosedOutputMonitor()
        defer { monitor.end() }
        do {
            try await follower.run()
        } catch is CancellationError where Signals.exit == .terminated {}
    }
}
