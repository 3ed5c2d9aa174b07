import Threading
import WaypostBackend

/// Prints what follows from the log: lines to standard output, what concerns the log itself to standard error.
final class LogPrinter: Sendable {
    private struct State {
        /// Nil for lines without the agent's name.
        var width: Int?
        /// How many lines it still prints; nil for all.
        var rest: Int?
    }

    private let format: LogFormat
    private let style: Style
    private let noticeStyle = Style(isOn: Terminal.errorsHaveColours)
    private let state: Guarded<State>

    init(_ format: LogFormat, _ style: Style, namesAgents: Bool, maximum: Int? = nil) {
        self.format = format
        self.style = style
        state = Guarded(State(width: namesAgents ? 8 : nil, rest: maximum))
    }

    /// Prints an entry; false when the output is closed, or has all that was asked for.
    private func show(_ entry: LogEntry) -> Bool {
        switch entry {
        case .line(let line):
            let (width, isLast) = state.withLock { state in
                state.width = state.width.map { max($0, line.agent.count) }
                state.rest = state.rest.map { $0 - 1 }
                return (state.width, state.rest == 0)
            }
            return line.show(format, style, agentWidth: width) && !isLast
        case .notice(let text):
            Terminal.note(noticeStyle.dim("--- \(text)"))
            return true
        }
    }

    /// Follows the log until the output is closed, or ends well on SIGTERM: that is its ordinary end, for it has no other.
    func follow(_ request: LogRequest, at settings: BackendConfiguration) async throws {
        let monitor = ClosedOutputMonitor()
        defer { monitor.end() }
        do {
            try await Backend(perCall: settings).followLog(request, show)
        } catch is CancellationError where Signals.exit == .terminated {}
    }
}
