import Waypost

/// What should be known of a roll-out besides, each a sentence, and each about something else: as many as people read,
/// whoever causes them.
struct RolloutNotices: Sendable, Hashable {
    /// The most agents that are named.
    private static let mostAgents = 10
    /// The most bytes of a sentence.
    private static let longest = 500

    private var own: [String: String] = [:]
    private var agents: [String: String] = [:]
    private var hasMoreAgents = false

    /// Says something about a thing of the roll-out's; nil when there is nothing to say any more.
    subscript(about: String) -> String? {
        get { own[about] }
        set { own[about] = newValue?.cut(to: Self.longest) }
    }

    /// Says something about an agent: the first thing stays, whatever else that agent does.
    mutating func note(_ agent: String, _ what: String) {
        guard agents[agent] == nil else { return }
        if agents.count < Self.mostAgents {
            agents[agent] = "\(agent) \(what)".cut(to: Self.longest)
        } else {
            hasMoreAgents = true
        }
    }

    /// All of them, in an order that stays.
    var sentences: [String] {
        let more = hasMoreAgents ? ["of more agents there would be the same to say"] : []
        return (Array(own.values) + agents.values).sorted() + more
    }
}
