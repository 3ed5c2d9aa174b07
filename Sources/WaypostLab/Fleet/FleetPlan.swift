import Waypost
package import WaypostMessages

/// What a simulated fleet is made of.
package struct FleetPlan: Sendable {
    /// A version and how many agents have it, in proportion to the others.
    package struct Share: Sendable, Equatable {
        package var version: String
        var weight: Int

        package init(version: String, weight: Int) { (self.version, self.weight) = (version, weight) }
    }

    /// A map that is in force from the beginning.
    package struct StandingMap: Sendable {
        var payload: [UInt8]
        var audience: Audience

        package init(payload: [UInt8], audience: Audience) {
            (self.payload, self.audience) = (payload, audience)
        }
    }

    /// The version of the agents with the fault `old-version`.
    static let oldVersion = "1.9.0"

    package var count = 20
    package var prefix = "kiosk-"
    package var groups = ["lobby", "shop"]
    package var versions = [
        Share(version: "2.3.0", weight: 1), Share(version: "2.4.0", weight: 3),
        Share(version: "2.4.1", weight: 6),
    ]
    /// The part of the agents that has a problem, 0 to 1.
    package var problems = 0.05
    /// What the problems are, shared out evenly.
    package var faults = SimulatedFault.allCases
    /// Lines of the log a second, of all agents together.
    package var logRate = 5.0
    /// Failures a minute, of all agents together.
    package var failureRate = 6.0
    /// Opens a minute of each agent, of URLs that a roll-out is about.
    package var traffic = 0.0
    /// What revisions of maps break.
    package var mapFaults: [MapFault] = []
    package var map: StandingMap?
    package var seed: UInt64 = 1
    package var topics = Topics.standard
    /// The broker as health names it.
    package var broker = "mqtt://127.0.0.1:1883"
    /// Whether each agent has a session and a will of its own, so that the broker says when one is lost.
    package var hasOwnSessions = false

    package init() {}

    /// How many agents have a problem.
    var problemCount: Int { faults.isEmpty ? 0 : min(count, Int((Double(count) * problems).rounded())) }

    /// The agent's name; they count from 1.
    func name(_ index: Int) -> String { "\(prefix)\(index + 1)" }

    /// The agent of that name; nil for any other.
    func index(of name: String) -> Int? {
        guard name.hasPrefix(prefix), let number = Int(name.dropFirst(prefix.count)),
            (1...count).contains(number), self.name(number - 1) == name
        else { return nil }
        return number - 1
    }

    /// The group that an agent is in beside `all`; nil when there is none.
    func group(_ index: Int) -> Int? { groups.isEmpty ? nil : index % groups.count }

    /// The agents that a message is for.
    func members(of audience: Audience) -> [Int] {
        switch audience {
        case .agent(let name): index(of: name).map { [$0] } ?? []
        case .all: Array(0..<count)
        case .group(let name):
            groups.firstIndex(of: name).map { Array(stride(from: $0, to: count, by: groups.count)) } ?? []
        }
    }
}
