import MQTTLink
import Waypost
import WaypostBackend
import WaypostMessages

/// What the broker keeps of roll-outs, by group.
struct SeenRollouts: Sendable {
    private struct Group: Sendable {
        var control: RolloutControl?
        var lease: RolloutLease?
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

    /// A message of a group's roll-out, read.
    struct Document: Sendable {
        fileprivate enum Content {
            case control(RolloutControl?)
            case lease(RolloutLease?)
            case entry([UInt8])
        }

        fileprivate let group: String
        fileprivate let slot: Int64
        fileprivate let content: Content
        fileprivate let bytes: Int

        /// Nil when it is none.
        init?(_ message: MQTTMessage, _ topics: Topics) {
            guard let (group, topic) = topics.rollout(message.topic) else { return nil }
            self.group = group
            bytes = message.payload.count
            switch topic {
            case .control: (slot, content) = (-1, .control(try? RolloutControl(message.payload)))
            case .lease: (slot, content) = (-2, .lease(message.json.flatMap { try? RolloutLease($0) }))
            case .audit(let slot):
                guard (0..<RolloutAudit.ring).contains(slot) else { return nil }
                (self.slot, content) = (slot, .entry(message.payload))
            }
        }
    }

    mutating func take(_ document: Document) {
        guard groups[document.group] != nil || groups.count < Self.maximumGroups else { return }
        var group = groups[document.group] ?? Group()
        let growth = document.bytes - (group.bytes[document.slot] ?? 0)
        guard bytes + growth <= Self.maximumBytes else { return }
        switch document.content {
        case .control(let control): group.control = control
        case .lease(let lease): group.lease = lease
        case .entry(let payload): group.entries[document.slot] = payload
        }
        group.bytes[document.slot] = document.bytes
        bytes += growth
        groups[document.group] = group
    }

    /// All that there were, those that go on first.
    func json(asOf: Int64) -> JSONValue {
        let found = groups.compactMap { name, group -> (status: RolloutStatus, json: JSONValue)? in
            guard let control = group.control else { return nil }
            var status = RolloutStatus(control, group.lease, of: name)
            let history = RolloutHistory(Array(group.entries.values), endingWith: control)
            // One that steers looks by itself.
            if status.holder == nil { status.notices += history.faults.prefix(10) }
            let log = history.entries.filter { $0.id == status.id }
            let entries = log.reversed().map { entry -> JSONValue in
                [
                    "at": .int(entry.at), "event": .string(entry.event), "why": .init(entry.why),
                    "by": .string(entry.author),
                ]
            }
            let members = (status.json.objectValue ?? [:]).merging(["log": .array(entries)]) { $1 }
            return (status, .object(members))
        }
        let sorted = found.sorted {
            // Those that go on first, and of those what changed last.
            ($0.status.isOver ? 1 : 0, $1.status.changed, $0.status.group)
                < ($1.status.isOver ? 1 : 0, $0.status.changed, $1.status.group)
        }
        return ["asOf": .int(asOf), "rollouts": .array(sorted.map(\.json))]
    }
}
