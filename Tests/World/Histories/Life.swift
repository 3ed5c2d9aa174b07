import FoundationEssentials
import Glibc

/// What goes from one start of an agent to the next: all that there is of its world but its folder.
struct Life: Codable {
    /// What is so in all lives of a history.
    struct Traits: Codable {
        /// The guarantees are given with full durability.
        var isDurable: Bool
        /// Whether the agent trusts a key, and takes nothing that it has not signed.
        var isSigned: Bool
        /// Whether the broker has what it had when it starts again.
        var persists: Bool
        var deliversTwice: Bool
        var copiesForEachFilter: Bool
        /// Whether the groups of the agent's own settings are all.
        var keepsOwnGroups: Bool
        /// Whether a program makes newer certificates.
        var makesCertificates: Bool
        /// Whether the agent has a certificate, and its key in another folder.
        fileprivate var hasCertificate: Bool
        fileprivate var isKeyApart: Bool

        init(_ plan: HistoryPlan) {
            var draws = Draws(seed: plan.seed, stream: 3)
            isDurable = plan.kind != .weak
            isSigned = Int.random(in: 0...2, using: &draws) == 0
            persists = Int.random(in: 0...3, using: &draws) > 0
            deliversTwice = Int.random(in: 0...7, using: &draws) == 0
            copiesForEachFilter = Bool.random(using: &draws)
            keepsOwnGroups = Int.random(in: 0...7, using: &draws) == 0
            makesCertificates = Bool.random(using: &draws)
            hasCertificate = Bool.random(using: &draws) && !plan.without.contains(.certificates)
            isKeyApart = Bool.random(using: &draws)
        }

        var broker: BrokerModel.Traits {
            var traits = BrokerModel.Traits()
            traits.persists = persists
            traits.persistsNewSessions = persists
            traits.deliversTwice = deliversTwice
            traits.copiesForEachFilter = copiesForEachFilter
            return traits
        }
    }

    let traits: Traits
    /// Whether its machine may come to its end.
    var mayEnd = false
    private(set) var number = 0
    private(set) var past = SeededScheduler.Past()
    private(set) var people: People
    private(set) var broker = BrokerModel.Kept()
    /// Nil without one.
    private(set) var certificates: WorldCertificates.State?

    private static let path = "life.json"

    init(_ plan: HistoryPlan) {
        traits = Traits(plan)
        people = People(SentGroups(isFixed: traits.keepsOwnGroups))
        guard traits.hasCertificate else { return }
        var draws = Draws(seed: plan.seed, stream: 4)
        // Of four hours, of which two thirds will soon be over.
        let due = SeededScheduler.wallStart / 1_000 + Int64.random(in: 30...400, using: &draws)
        let first = WorldCertificate(0, key: 0, due - 9_504, due + 4_896)
        certificates = WorldCertificates.State(first, areApart: traits.isKeyApart)
        people.certificates.begins(with: first, WorldCertificate.key(0))
    }

    /// The one that another process has left in the folder in which this one is, or the first.
    static func read(_ plan: HistoryPlan) throws -> Life {
        guard access(path, F_OK) == 0 else { return Life(plan) }
        return try JSONDecoder().decode(Life.self, from: Data(contentsOf: URL(filePath: path)))
    }

    /// The agent starts with these reports on its disk; what a broker that forgets has had of them, nobody gets.
    mutating func starts(with reports: [String]) { if traits.persists { people.starts(with: reports) } }

    /// Leaves the next one for another process.
    func next(
        after scheduler: SeededScheduler, _ people: People, _ broker: BrokerModel.Kept,
        _ certificates: WorldCertificates.State?, downtime: Int64
    ) throws {
        var next = self
        next.number += 1
        next.past = scheduler.past
        next.past.now += UInt64(downtime) * 1_000_000
        (next.people, next.broker, next.certificates) = (people, broker, certificates)
        try JSONEncoder().encode(next).write(to: URL(filePath: Self.path))
    }
}
