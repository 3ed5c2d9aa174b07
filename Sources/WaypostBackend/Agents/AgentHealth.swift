public import Waypost
import WaypostFleet
import WaypostMessages

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
    /// The version of the app; nil when it does not say it.
    public var build: String? { health.build }
    /// The labels of the client; the value of one with the name of a secret is `***`.
    public var labels: [String: String] { health.labels }
    /// The checks that failed, each with what was found.
    public var problems: [String] { health.problems }
}
