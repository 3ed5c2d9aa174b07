package import Waypost

/// The groups of an agent: those of its own settings, and what the release role has made of them.
public struct AgentGroups: Sendable, Hashable {
    /// The agent's name.
    public let agent: String
    /// Those that it says it is in, beside `all`, in the order of their maps; nil of one that the broker keeps no health
    /// of.
    public package(set) var groups: [String]?
    /// Those of its own settings; nil until it has read a document of its groups.
    public package(set) var own: [String]?
    /// Those that it is to be in besides its own.
    public package(set) var added: [String] = []
    /// Those of its own that it is not to be in.
    public package(set) var removed: [String] = []
    /// The revision of the document; nil without one.
    public package(set) var revision: Int64?
    /// Whether the agent has said that it is in force.
    public package(set) var isApplied = false

    init(agent: String) { self.agent = agent }
}

extension AgentGroups {
    /// `waypost groups --json`.
    package var json: JSONValue {
        func texts(_ list: [String]?) -> JSONValue { list.map { .array($0.map(JSONValue.string)) } ?? .null }
        return [
            "agent": .string(agent), "groups": texts(groups), "own": texts(own), "add": texts(added),
            "remove": texts(removed), "rev": revision.map(JSONValue.int) ?? .null,
            "applied": .bool(isApplied),
        ]
    }
}

/// What is to become of an agent's groups.
public struct GroupsChange: Sendable, Hashable {
    /// Groups that it is to be in.
    let adding: [String]
    /// Groups that it is not to be in.
    let removing: [String]
    /// Whether all that was written before is forgotten: then its own settings decide, but for what is given here.
    let startsAnew: Bool

    /// A change; of what is not named all stays.
    ///
    /// - Parameters:
    ///   - adding: Groups that it is to be in.
    ///   - removing: Groups that it is not to be in.
    ///   - startsAnew: Whether all that was written before is forgotten: then its own settings decide, but for what is given
    ///     here.
    public init(adding: [String] = [], removing: [String] = [], startsAnew: Bool = false) {
        (self.adding, self.removing, self.startsAnew) = (adding, removing, startsAnew)
    }

    /// The lists that follow from those before.
    func applied(to added: [String], _ removed: [String]) -> (added: [String], removed: [String]) {
        func list(_ before: [String], _ new: [String], without others: [String]) -> [String] {
            let kept = startsAnew ? [] : before.filter { !others.contains($0) && !new.contains($0) }
            return kept + new.enumerated().filter { new.firstIndex(of: $1) == $0 }.map(\.element)
        }
        return (list(added, adding, without: removing), list(removed, removing, without: adding))
    }
}
