import Logging
import Waypost

/// The level from which on the agent's own lines are written, which may change while it runs.
final class LogThreshold: Sendable {
    private let current: Guarded<Logger.Level>

    init(_ level: Logger.Level) { current = Guarded(level) }

    var level: Logger.Level {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
