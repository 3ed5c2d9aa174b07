import Logging
import Threading
import Waypost
import WaypostMessages

/// The level from which on the agent's own lines are written, which may change while it runs.
final class LogThreshold: Sendable {
    private let current: Guarded<Logger.Level>

    init(_ level: Logger.Level) { current = Guarded(level) }

    var level: Logger.Level {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}

extension Logger.Level {
    /// The level of swift-log for one of logcat.
    init(_ level: LogLevel) {
        self =
            switch level {
            case .verbose: .trace
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            case .fatal: .critical
            }
    }
}
