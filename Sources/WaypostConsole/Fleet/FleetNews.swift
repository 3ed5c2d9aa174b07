import Waypost
import WaypostBackend
import WaypostMessages

/// What a message tells of the fleet: read, and no longer than can be shown, so that to take note of it is quick whatever
/// was sent.
enum FleetNews: Sendable {
    case rollout(SeenRollouts.Document)
    /// An agent sends more than is read of one.
    case flood(agent: String)
    /// An agent spoke, or the broker for it.
    case agent(String, isOwnWord: Bool, AgentNews)
}

/// What is new of one agent.
enum AgentNews: Sendable {
    /// Nothing that is kept, only that it is there.
    case spoke
    /// How it is; nil when it is known no more.
    case presence(AgentPresence?, isHealth: Bool)
    /// It was said to be lost when the broker ended, with so many others: how it is now is not known, and this is how it
    /// was.
    case lostWithBroker(AgentPresence, others: Int)
    /// Events that did not come before, by a correct clock.
    case lines([AgentEvent])
    /// A failure, as often as it was not told before, between two times by a correct clock; and as a line.
    case failure(FailureReport, from: Int64, through: Int64, AgentEvent)
    /// How far a command is, or when it begins, as its agent says.
    case accepted(id: String, progress: String?, due: Int64?)
    /// How a command ended, and when by a correct clock.
    case ended(id: String, Code?, detail: String?, at: Int64)
    /// Events or reports that can't be read.
    case unread(Int)
    /// The document of its groups that the broker keeps; nil when it keeps none that can be read.
    case groups(KeptGroups?)
}

/// An agent's documents, and what a list shows of them.
struct AgentPresence: Sendable {
    var member: Roster.Member
    var summary: AgentStatus
    /// Differs where the agent says something else of the document of its groups.
    var groupsMark: Int

    init(member: Roster.Member, summary: AgentStatus) {
        (self.member, self.summary) = (member, summary)
        groupsMark = member.health?.saidGroups.hashValue ?? 0
    }

    /// When the newest of its maps was put in force, by a correct clock; nil when that is not known.
    var mapTime: Int64? {
        member.map?.layers.map(\.at).max().map { $0.adding(clamping: summary.clockLag ?? 0) }
    }
}

/// The document of an agent's groups as the broker keeps it; what the agent makes of it stands in its health.
struct KeptGroups: Sendable {
    var document: GroupsDocument
    var digest: String

    /// Nil when it is none.
    init?(_ payload: [UInt8], of agent: String) {
        guard let document = try? GroupsDocument(payload, for: agent, limits: .trustedFile) else {
            return nil
        }
        (self.document, digest) = (document, SHA256.label(SHA256.digest(of: payload)))
    }

    /// Whether the agent has neither taken it nor refused it.
    func isWaiting(by said: SaidGroups?) -> Bool {
        digest != said?.digest && digest != said?.refused?.digest && document.revision > said?.revision ?? 0
    }
}
