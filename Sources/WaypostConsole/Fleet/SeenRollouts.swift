import MQTTLink
import Waypost
import WaypostBackend
import WaypostMessages

/// What the broker keeps of roll-outs, by group.
struct SeenRollouts: Sendable {
    private struct Group: Sendable {
        var kept = RolloutDirector.Kept()
        /// The audit, by the place in its ring.
        var entries: [Int64: [UInt8]] = [:]
        /// The bytes of each message that is kept, by the place in the ring; -1 and -2 are the control and the lease.
        var bytes: [Int64: Int] = [:]
    }

    /// The roll-outs of more groups are not shown.
    static let maximumGroups = 1_000
    /// The most bytes of the messages that are kept; of what comes beyond, nothing is.
    static let maximumBytes = 64 << 20
    private var groups: [String: Group] = [:]
    private var bytes = 0

    mutating func saw(_ message: MQTTMessage, topics: Topics) {
        guard let (name, topic) = topics.rollout(message.topic),
            groups[name] != nil || groups.count < Self.maximumGroups
        else { return }
        var group = groups[name] ?? Group()
        let slot: Int64 =
            switch topic {
            case .control: -1
            case .lease: -2
            case .audit(let slot): slot
            }
        let growth = message.payload.count - (group.bytes[slot] ?? 0)
        guard bytes + growth <= Self.maximumBytes else { return }
        switch topic {
        case .control: group.kept.control = try? RolloutControl(message.payload)
        case .lease: group.kept.lease = message.json.flatMap { try? RolloutLease($0) }
        case .audit(let slot):
            guard (0..<RolloutAudit.ring).contains(slot) else { return }
            group.entries[slot] = message.payload
        }
        group.bytes[slot] = message.payload.count
        bytes += growth
        groups[name] = group
    }

    /// All that there were, those that go on first.
    func json(asOf: Int64) -> JSONValue {
        let found = groups.compactMap { name, group -> (status: RolloutStatus, json: JSONValue)? in
            guard var status = group.kept.status(of: name) else { return nil }
            let history = RolloutHistory(Array(group.entries.values), endingWith: group.kept.control)
            // One that steers looks by itself.
            if status.holder == nil { status.notices += history.faults.prefix(10) }
            let log = history.entries.filter { $0.id == status.id }
            let entries = log.reversed().map { entry -> JSONValue in
                [
                    "at": .int(entry.at), "event": .string(entry.event), "why": .init(entry.why),
                    "by": .string(entry.author),
                ]
            }
            return (status, status.json.merging(["log": .array(entries)]))
        }
        let sorted = found.sorted {
            // Those that go on first, and of those what changed last.
            ($0.status.isOver ? 1 : 0, $1.status.changed, $0.status.group)
                < ($1.status.isOver ? 1 : 0, $0.status.changed, $1.status.group)
        }
        return ["asOf": .int(asOf), "rollouts": .array(sorted.map(\.json))]
    }
}
