import Waypost
import WaypostMessages

/// What should be known of a roll-out besides, each a sentence, and each about something else: as many as people read,
/// whoever causes them.
struct RolloutNotices: Sendable, Hashable {
    /// The most agents that are named.
    private static let mostAgents = 10
    /// The most bytes of a sentence.
    private static let longest = 500

    private var own: [String: String] = [:]
    private var claims: [String: String] = [:]
    private var floods: [String: String] = [:]
    /// How many messages of agents came that can't be read, by agent.
    private var unread: [String: Int] = [:]
    private var hasMoreAgents = false

    /// Says something about a thing of the roll-out's; nil when there is nothing to say any more.
    subscript(about: String) -> String? {
        get { own[about] }
        set { own[about] = newValue?.cut(to: Self.longest) }
    }

    /// An agent claims what no controller sent: its first claim is named, whatever else it claims.
    mutating func claimed(_ agent: String, _ order: RolloutControl.Order) {
        let claim =
            "claims epoch \(order.epoch), seq \(order.sequence), which no controller sent; it is ignored"
        note(agent, claim, in: \.claims)
    }

    /// An agent sends more than is read of one.
    mutating func flooded(_ agent: String) {
        note(agent, "sends more than is read of one agent; what is beyond is not read", in: \.floods)
    }

    /// An agent sent something that can't be read.
    mutating func unread(_ agent: String) {
        let isNew = unread[agent] == nil
        guard !isNew || unread.count < Self.mostAgents else { return hasMoreAgents = true }
        unread[agent] = (unread[agent] ?? 0) + 1
    }

    private mutating func note(
        _ agent: String, _ what: String, in place: WritableKeyPath<RolloutNotices, [String: String]>
    ) {
        guard self[keyPath: place][agent] == nil else { return }
        guard self[keyPath: place].count < Self.mostAgents else { return hasMoreAgents = true }
        self[keyPath: place][agent] = "\(agent) \(what)"
    }

    /// A count that changes seldom: each change is shown to people.
    private static func roughly(_ count: Int) -> String {
        guard count >= 10 else { return count == 1 ? "1 message" : "several messages" }
        let limit = [1_000_000, 100_000, 10_000, 1_000, 100].first { $0 <= count } ?? 10
        return "over \(limit - 1) messages"
    }

    /// All of them, in an order that stays.
    var sentences: [String] {
        let more = hasMoreAgents ? ["of more agents there would be the same to say"] : []
        let unread = unread.map { "\($0.key) sent \(Self.roughly($0.value)) that can't be read" }
        return (Array(own.values) + claims.values + floods.values + unread).sorted() + more
    }
}
