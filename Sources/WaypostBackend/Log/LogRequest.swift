import Waypost
public import WaypostFleet
import WaypostMessages

/// Whose log is followed, what of it, and from when on.
public struct LogRequest: Sendable {
    /// Which of the past lines are shown.
    public struct Past: Sendable, Hashable {
        /// From when on; nil for all that the agents still have.
        public var start: LogStart?
        /// Only so many, the newest; nil for all.
        public var last: Int?

        /// All that the agents still have.
        public static let everything = Past()

        /// Those from `start` on, and of these the `last` ones.
        public init(start: LogStart? = nil, last: Int? = nil) {
            self.start = start
            self.last = last
        }
    }

    /// Whose; all agents unless set.
    public var agents = AgentSelection.all
    /// What of it.
    public var filter = LogFilter()
    /// Whether events are left out, so that only failure reports are followed; false unless set.
    public var onlyFailures = false
    /// What it begins with; nil, unless set, for what comes next.
    public var past: Past?
    /// Whether it ends behind the past; false unless set.
    public var endsWithPast = false

    /// Everything that all agents log from now on.
    public init() {}
}

/// What a reader of the log is given.
public enum LogEntry: Sendable, Hashable {
    /// An event, or a failure report in the form of one.
    case line(AgentEvent)
    /// A sentence about the log itself: an agent that came or went, a lost connection, events that are missing.
    case notice(String)
}

extension AgentSelection {
    /// Those whose name fits a regular expression in a part.
    ///
    /// - Throws: ``BackendError`` of kind `invalid` when it is none.
    public static func matching(_ expression: String) throws(BackendError) -> AgentSelection {
        var selection = AgentSelection()
        do {
            selection.pattern = try TextPattern(expression, .expression)
        } catch {
            throw BackendError(.invalid, "\(error.detail)")
        }
        return selection
    }
}
