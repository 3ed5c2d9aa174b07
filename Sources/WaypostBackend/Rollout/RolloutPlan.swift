package import Waypost
import WaypostMessages

/// What is known before a roll-out begins; nothing was changed.
public struct RolloutPlan: Sendable {
    /// A stage and how many agents it would choose now.
    public struct Stage: Sendable, Hashable {
        /// `5` or `10%`.
        public let name: String
        /// How many of the agents that are online.
        public let agents: Int
        /// The names of the first of them, at most ten.
        public let examples: [String]
    }

    /// Agents with the same routes and the same maps, and what the map would do there.
    public struct Build: Sendable {
        /// Their versions, each once.
        public internal(set) var versions: [String] = []
        /// Their names.
        public internal(set) var agents: [String] = []
        /// What would change; nil when no agent of them said what is in force.
        public internal(set) var diff: MapDiff?
    }

    /// The clients that a plan was asked of, where not all are meant.
    public struct Part: Sendable, Hashable {
        /// What was asked of them: `region=eu, app <2.5`.
        public let text: String
        /// How many of the group they are.
        public let agents: Int
        /// Those that do not say it, neither yes nor no; they are left out.
        public let silent: [String]
    }

    /// The group, without its `@`.
    public let group: String
    /// The part of the group that ``stages``, ``builds``, ``known`` and ``online`` are of; nil for all of it.
    ///
    /// What speaks against the map is found of all agents in any case: a roll-out is for all of a group.
    public internal(set) var only: Part?
    /// The revision in force; nil when the group has no map.
    public internal(set) var base: Int64?
    /// The revision in force that the broker has lost, and that is published again first; nil when none is.
    public internal(set) var republished: Int64?
    /// The revision that would be rolled out.
    public internal(set) var next: Int64?
    /// How many agents of the group are known, and how many of them are online.
    public internal(set) var known = 0
    /// See ``known``.
    public internal(set) var online = 0
    /// The stages that add an agent: the others are left out, and ``notices`` name them.
    public internal(set) var stages: [Stage] = []
    /// The kinds of agents, the largest first.
    public internal(set) var builds: [Build] = []
    /// What a word of consent is needed for, see ``RolloutOptions/allowed``.
    public internal(set) var objections: [MapObjection] = []
    /// Why it must not begin, each a sentence.
    public internal(set) var faults: [String] = []
    /// What should be known before, each a sentence.
    public internal(set) var notices: [String] = []

    /// What was planned.
    struct Subject: Sendable {
        var id: String
        var relocation: Relocation
        var options: RolloutOptions
        /// The map in force, where the broker has lost it.
        var lost: Relocation?
    }

    /// What ``GroupClient/rollOut(_:because:observe:)`` begins.
    let subject: Subject

    init(_ subject: Subject, group: String) { (self.subject, self.group) = (subject, group) }

    /// Whether nothing speaks against it.
    public var isClear: Bool { faults.isEmpty && objections.isEmpty }

    /// - Throws: ``BackendError`` of kind `notSent` when something speaks against it.
    func check() throws(BackendError) {
        guard !isClear else { return }
        var error = BackendError(
            .notSent, "not begun: \((faults + objections.map(\.text)).joined(separator: "; "))")
        error.objections = objections
        throw error
    }

    /// The entries that have no effect somewhere, by their places from 0; nil when no routes are known.
    var foreseen: Set<Int>? {
        builds.isEmpty ? nil : Set(builds.flatMap { $0.diff?.inactive ?? [] }.map { $0.number - 1 })
    }

    package var json: JSONValue {
        func texts(_ list: [String]) -> JSONValue { .array(list.map(JSONValue.string)) }
        return [
            "group": .string(group),
            "only": only.map { only in
                [
                    "text": .string(only.text), "agents": .int(Int64(only.agents)),
                    "silent": texts(only.silent),
                ]
            } ?? .null,
            "base": .init(base), "republished": .init(republished),
            "next": .init(next), "known": .int(Int64(known)),
            "online": .int(Int64(online)),
            "stages": .array(
                stages.map {
                    [
                        "name": .string($0.name), "agents": .int(Int64($0.agents)),
                        "examples": texts($0.examples),
                    ]
                }),
            "builds": .array(
                builds.map { build in
                    [
                        "versions": texts(build.versions), "agents": .int(Int64(build.agents.count)),
                        "refusal": build.diff?.refusal.map { .string($0.description) } ?? .null,
                        "inactive": .array(
                            (build.diff?.inactive ?? []).map {
                                ["entry": .int(Int64($0.number)), "why": .string($0.reason)]
                            }),
                        "destinations": .array(
                            (build.diff?.destinations ?? []).prefix(100).map {
                                [
                                    "url": .string($0.subject), "before": .string($0.before),
                                    "after": .string($0.after),
                                ]
                            }),
                    ]
                }),
            "faults": texts(faults), "objections": .array(objections.map(\.json)), "notices": texts(notices),
        ]
    }
}
