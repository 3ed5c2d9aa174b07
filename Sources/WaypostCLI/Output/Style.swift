import Waypost
import WaypostMessages

/// Colours and weight, or nothing where they are not wanted.
struct Style: Sendable {
    var isOn: Bool

    func bold(_ text: String) -> String { set("1", text) }
    func dim(_ text: String) -> String { set("2", text) }
    func red(_ text: String) -> String { set("31", text) }
    func green(_ text: String) -> String { set("32", text) }
    func yellow(_ text: String) -> String { set("33", text) }
    func cyan(_ text: String) -> String { set("36", text) }

    /// The colours that logcat readers know: warnings yellow, errors red, the chatter dim.
    func line(_ text: String, at level: LogLevel) -> String {
        switch level {
        case .verbose, .debug: dim(text)
        case .info: text
        case .warning: yellow(text)
        case .error: red(text)
        case .fatal: set("1;31", text)
        }
    }

    func status(_ status: Code.Status) -> String {
        switch status {
        case .ok: green(status.rawValue)
        case .accepted: cyan(status.rawValue)
        case .failed, .rejected: red(status.rawValue)
        // A status that only a newer agent has is shown as it came.
        default: yellow(status.rawValue.printable)
        }
    }

    private func set(_ codes: String, _ text: String) -> String {
        isOn ? "\u{1B}[\(codes)m\(text)\u{1B}[0m" : text
    }
}
