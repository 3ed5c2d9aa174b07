public import Waypost
import WaypostFleet
import WaypostMessages

/// What is known of an agent from what the broker keeps.
public struct AgentStatus: Sendable, Hashable {
    /// What it is like, by how soon someone should look.
    public enum Condition: Int, Sendable, Hashable, Comparable {
        /// Its connection was lost.
        case lost
        /// A check failed.
        case failing
        /// It refused the newest map.
        case mapRefused
        /// It is online, and a check of its health was not made.
        case unclear
        /// What the broker keeps does not tell.
        case unknown
        /// It was shut down.
        case stopped
        /// It is online, and all is well.
        case healthy

        /// The one that someone should look at first is less.
        public static func < (one: Condition, other: Condition) -> Bool { one.rawValue < other.rawValue }
    }

    private let summary: AgentSummary

    init(_ summary: AgentSummary) { self.summary = summary }

    /// The agent's name.
    public var name: String { summary.agent }
    /// What it is like.
    public var condition: Condition { Condition(rawValue: summary.condition.rawValue) ?? .unknown }
    /// Whether it is there; nil when that is not known.
    public var isOnline: Bool? {
        switch summary.condition {
        case .healthy, .unclear, .failing, .mapRefused: true
        case .lost, .stopped: false
        case .unknown: nil
        }
    }
    /// From when on, in milliseconds since 1970, by this machine's clock; nil when that is not known.
    ///
    /// Of an agent whose clock is wrong it may be up to the time between two of its health documents earlier.
    public var since: Int64? { summary.since }
    /// Its version.
    public var version: String { summary.version }
    /// The revisions of the maps in force, for people.
    public var map: String { summary.map }
    /// What is wrong, for people; empty when nothing is.
    public var problem: String { summary.problem }
}

/// What an agent says about itself.
public struct AgentHealth: Sendable {
    /// All that it says, as it came.
    public let json: JSONValue
    private let health: Health

    init(_ json: JSONValue) { (self.json, health) = (json, Health(json)) }

    /// Whether all its checks are good.
    public var isGreen: Bool { health.isGreen }
    /// Its version.
    public var version: String { health.version }
    /// Its groups beside `all`.
    public var groups: [String] { health.groups }
    /// The checks that failed, each with what was found.
    public var problems: [String] { health.problems }
}
