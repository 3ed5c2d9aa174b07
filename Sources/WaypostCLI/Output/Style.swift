import Waypost
import WaypostMessages

/// Colours and weight, or nothing where they are not wanted.
struct Style: Sendable {
    var isOn: Bool

    func bold(_ text: TerminalText) -> TerminalText { set("\u{1B}[1m", text) }
    func dim(_ text: TerminalText) -> TerminalText { set("\u{1B}[2m", text) }
    func red(_ text: TerminalText) -> TerminalText { set("\u{1B}[31m", text) }
    func green(_ text: TerminalText) -> TerminalText { set("\u{1B}[32m", text) }
    func yellow(_ text: TerminalText) -> TerminalText { set("\u{1B}[33m", text) }
    func cyan(_ text: TerminalText) -> TerminalText { set("\u{1B}[36m", text) }

    /// What is chosen; on a screen also where colours are not wanted.
    func reversed(_ text: TerminalText) -> TerminalText {
        TerminalText(codes: "\u{1B}[7m") + text + TerminalText(codes: "\u{1B}[0m")
    }

    /// The colours that logcat readers know: warnings yellow, errors red, the chatter dim.
    func line(_ text: TerminalText, at level: LogLevel) -> TerminalText {
        switch level {
        case .verbose, .debug: dim(text)
        case .info: text
        case .warning: yellow(text)
        case .error: red(text)
        case .fatal: set("\u{1B}[1;31m", text)
        }
    }

    func status(_ status: Code.Status) -> TerminalText {
        let word = TerminalText(status.rawValue)
        return switch status {
        case .ok: green(word)
        case .accepted: cyan(word)
        case .failed, .rejected: red(word)
        // A status that only a newer agent has is shown as it came.
        default: yellow(word)
        }
    }

    private func set(_ codes: StaticString, _ text: TerminalText) -> TerminalText {
        isOn ? TerminalText(codes: codes) + text + TerminalText(codes: "\u{1B}[0m") : text
    }
}
