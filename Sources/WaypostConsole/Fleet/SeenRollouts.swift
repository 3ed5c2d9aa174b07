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
    }

    /// The roll-outs of more groups are not shown.
    static let maximumGroups = 1_000
    private var groups: [String: Group] = [:]

    mutating func saw(_ message: MQTTMessage, topics: Topics) {
        guard let (name, topic) = topics.rollout(message.topic),
            groups[name] != nil || groups.count < Self.maximumGroups
        else { return }
        var group = groups[name] ?? Group()
        switch topic {
        case .control: group.kept.control = try? RolloutControl(message.payload)
        case .lease: group.kept.lease = message.json.flatMap { try? RolloutLease($0) }
        case .audit(let slot):
            guard (0..<RolloutAudit.ring).contains(slot) else { return }
            group.entries[slot] = message.payload
        }
        groups[name] = group
    }

    /// All that there were, those that go on first.
    func json(asOf: Int64) -> JSONValue {
        let found = groups.compactMap { name, group -> (status: RolloutStatus, json: JSONValue)? in
            guard let status = group.kept.status(of: name) else { return nil }
            let log = RolloutHistory(Array(group.entries.values)).entries.filter { $0.id == status.id }
            let entries = log.reversed().map { entry -> JSONValue in
                [
                    "at": .int(entry.at), "event": .string(entry.event), "why": .init(entry.why),
                    "by": .string(entry.author),
                ]
            }
            return (status, status.json.merging(["log": .array(entries)]))
        }
        let sorted = found.sorted {
            ($0.status.isOver ? 1 : 0, -$0.status.changed, $0.status.group)
                < ($1.status.isOver ? 1 : 0, -$1.status.changed, $1.status.group)
        }
        return ["asOf": .int(asOf), "rollouts": .array(sorted.map(\.json))]
    }
}
