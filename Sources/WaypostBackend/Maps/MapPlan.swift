import Waypost
import WaypostMessages

/// What is known before a document is sent: who would take it, what it would change there, and what it replaces at the
/// broker.
public struct MapPlan: Sendable {
    /// The document that the broker keeps for agents that are away, and that would be replaced.
    public struct Retained: Sendable, Hashable {
        /// Its revision.
        public let revision: Int64?
        /// SHA-256 of the document, as `sha256:` and 64 hex digits.
        public let digest: String
    }

    /// Agents of which it is not known what would change.
    public struct Unknown: Sendable, Hashable {
        /// Their names.
        public let agents: [String]
        /// Why it is not known: one clause.
        public let reason: String
    }

    let audience: Audience
    /// The document; of a patch for a group the whole map that comes of it.
    public let relocation: Relocation
    /// The agents that would take it, by name, as far as they are known.
    public internal(set) var members: [String] = []
    /// Those of them of which it is not known what would change, and why.
    public internal(set) var unknowns: [Unknown] = []
    /// What speaks against sending it, that there is no such agent or group among it.
    public internal(set) var objections: [MapObjection] = []
    /// What would change, each for agents with the same routes and maps.
    public internal(set) var diffs: [MapDiff] = []
    /// The retained document that would be replaced; nil for a patch, and when there is none.
    public internal(set) var retained: Retained?
    /// Names of agents or groups that are like the one that no agent has; empty when one has it.
    public internal(set) var nearest: [String] = []
    /// Whether the document is retained and has no revision, so that it replaces everything whenever it comes.
    package internal(set) var hasNoRevision = false

    /// Whether the broker shows who is there; otherwise ``members`` says nothing.
    public internal(set) var seesMembers = true
    /// What of all that the broker keeps was not read, each a sentence; agents may be missing then.
    var unread: [String] = []

    /// Whether an agent has that name, or is in that group, as far as that can be seen.
    var isKnown: Bool { !members.isEmpty || !seesMembers || !unread.isEmpty }

    /// That no agent has that name, or is in that group; nil when one has.
    package var absence: String? {
        guard !isKnown else { return nil }
        return switch audience {
        case .agent(let agent): "there is no agent \(agent) at this broker"
        case .group(let group): "no agent at this broker is in the group \(group)"
        }
    }

    /// The most entries that would disappear at one agent, or from what the broker retains for those that are away.
    public var disappearing: Int {
        let retained = diffs.isEmpty ? retainedRemovals : 0
        return max(diffs.map(\.disappearing).max() ?? 0, retained)
    }

    var retainedRemovals = 0

    init(_ relocation: Relocation, for audience: Audience) {
        (self.relocation, self.audience) = (relocation, audience)
    }

    /// The entries that would have no effect at any agent whose routes are known.
    var inactiveEverywhere: [MapDiff.Inactive] { MapDiff.inactiveEverywhere(diffs) }
}
