import WaypostFleet
import WaypostMessages

/// Of which agents which documents came: where a broker drops what is not read in time, what one lacks that others have
/// is asked for by its name.
struct RetainedNames {
    private let topics: Topics
    private var names: [OutboundTopic: Set<String>] = [:]
    private var count = 0
    /// How often the documents on these topics came in this round, and in which the states of whom.
    private var round: [String: Int] = [:]
    private var states: Set<String> = []
    /// Documents for which the broker is asked behind all states, so that they are dropped where the last of these are.
    private(set) var last: [String] = []

    /// So many fit into what any broker holds for a client.
    static let fewest = 90

    init(_ topics: Topics) { self.topics = topics }

    mutating func saw(_ topic: String) {
        guard let (agent, content) = topics.outbound(topic), Self.kept.contains(content) else { return }
        count += 1
        if last.contains(topic) { round[topic, default: 0] += 1 }
        names[content, default: []].insert(agent)
        if content == .state { states.insert(agent) }
    }

    /// Documents that agents retain.
    private static let kept: [OutboundTopic] = [.state, .routes, .contract, .applied, .health]

    /// Whether so many came that some may have been dropped.
    var mayBeMore: Bool { count >= Self.fewest }

    /// Whether all came that was asked for behind the states, of which each comes once anyway.
    var hasLast: Bool {
        last.allSatisfy { round[$0, default: 0] > (topics.outbound($0)?.1 == .state ? 1 : 0) }
    }

    /// Ends a round of states.
    ///
    /// - Returns: the agents whose states came in it.
    mutating func nextRound() -> Set<String> {
        defer { (states, round) = ([], [:]) }
        let content = Self.kept.last { names[$0]?.isEmpty == false } ?? .state
        last = names[content, default: []].sorted().suffix(3).map { topic(content, of: $0) }
        return states
    }

    /// The topics of documents that did not come, though those of others did.
    var missing: [String] {
        let all = names.values.reduce(into: Set()) { $0.formUnion($1) }
        return names.flatMap { content, known in all.subtracting(known).map { topic(content, of: $0) } }
            .sorted()
    }

    private func topic(_ content: OutboundTopic, of agent: String) -> String {
        switch content {
        case .health: topics.health(of: agent)
        case .applied: topics.applied(of: agent)
        case .routes: topics.routes(of: agent)
        case .contract: topics.contract(of: agent)
        case .state, .reply, .log, .failure, .navigation: topics.state(of: agent)
        }
    }
}
