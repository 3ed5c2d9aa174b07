package import Waypost
package import WaypostMessages

/// The audit of a group's roll-outs: a chain in which each entry names the bytes of the one before.
package struct RolloutTrail: Sendable {
    /// The last entry, its digest, and the epoch of its controller.
    package private(set) var last: (number: Int64, digest: String, epoch: Int64)?
    /// What each place of the ring is to have, as far as it is known.
    private var slots: [Int64: [UInt8]] = [:]

    package init() {}

    /// Whether the last entry is in its place of the ring.
    private var isConsistent: Bool { (last == nil) == slots.isEmpty }

    /// Takes note of an entry that is there already.
    package mutating func saw(_ payload: [UInt8]) {
        defer { assert(isConsistent) }
        guard let entry = Self.entry(payload), entry.number > last?.number ?? 0 else { return }
        put(entry, payload)
    }

    private static func entry(_ payload: [UInt8]) -> RolloutAudit? {
        (try? JSONValue(parsing: payload, limits: .trustedFile)).flatMap { try? RolloutAudit($0) }
    }

    private mutating func put(_ entry: RolloutAudit, _ payload: [UInt8]) {
        last = (entry.number, SHA256.label(SHA256.digest(of: payload)), entry.epoch)
        slots[entry.slot] = payload
    }

    /// Takes note of what came in a place of the ring while a controller writes it.
    ///
    /// - Returns: What belongs there, when that is something else; nil when it is as it should be.
    package mutating func saw(_ payload: [UInt8], in slot: Int64) -> [UInt8]? {
        defer { assert(isConsistent) }
        guard let known = slots[slot], known != payload else { return nil }
        if let entry = Self.entry(payload), entry.slot == slot, let last, entry.number == last.number + 1,
            entry.previous == last.digest
        {
            // Another controller goes on with the chain; which of the two does is not decided here.
            put(entry, payload)
            return nil
        }
        return known
    }

    /// The next entry.
    package mutating func append(
        _ event: String, of control: RolloutControl, by author: String, why: String?, evidence: JSONValue?,
        at wall: Int64
    ) -> RolloutAudit {
        defer { assert(isConsistent) }
        let entry = RolloutAudit(
            number: (last?.number ?? 0) + 1, at: wall, id: control.id, epoch: control.epoch,
            sequence: control.sequence, author: author, event: event, why: why, evidence: evidence,
            previous: last?.digest)
        put(entry, entry.encoded())
        return entry
    }
}

/// What became of roll-outs, read back and checked.
public struct RolloutHistory: Sendable, Hashable {
    /// One entry.
    public struct Entry: Sendable, Hashable {
        /// Counts the entries of the group, from 1.
        public let number: Int64
        /// In milliseconds since 1970, by the clock of who wrote it.
        public let at: Int64
        /// The roll-out.
        public let id: String
        /// What happened: `start`, `stage`, `pause`, `take-back` and others.
        public let event: String
        /// Who did it.
        public let author: String
        /// Why.
        public let why: String?

        /// The entry as it is kept; the next one names the digest of these bytes.
        package let payload: [UInt8]
    }

    /// The entries, the oldest first.
    public let entries: [Entry]
    /// Where the chain is broken: each a sentence; empty when every entry names the one before.
    public let faults: [String]

    /// - Parameter payloads: The entries as they are kept, in any order.
    package init(_ payloads: [[UInt8]]) {
        var read: [Int64: (entry: RolloutAudit, payload: [UInt8], digest: String)] = [:]
        var faults: [String] = []
        for payload in payloads where !payload.isEmpty {
            guard let json = try? JSONValue(parsing: payload, limits: .trustedFile),
                let entry = try? RolloutAudit(json)
            else {
                faults.append("an entry can't be read")
                continue
            }
            let digest = SHA256.label(SHA256.digest(of: payload))
            if let known = read[entry.number], known.digest != digest {
                faults.append("there are two entries \(entry.number) with different content")
            }
            read[entry.number] = (entry, payload, digest)
        }
        let sorted = read.values.sorted { $0.entry.number < $1.entry.number }
        for (before, after) in zip(sorted, sorted.dropFirst()) {
            guard after.entry.number == before.entry.number + 1 else {
                faults.append(
                    "entries \(before.entry.number + 1) to \(after.entry.number - 1) are missing")
                continue
            }
            if after.entry.previous != before.digest {
                faults.append("entry \(after.entry.number) does not follow entry \(before.entry.number)")
            }
        }
        if let first = sorted.first?.entry, first.number == 1, first.previous != nil {
            faults.append("entry 1 follows another one")
        }
        entries = sorted.map { entry, payload, _ in
            Entry(
                number: entry.number, at: entry.at, id: entry.id, event: entry.event, author: entry.author,
                why: entry.why, payload: payload)
        }
        self.faults = faults
    }

    /// Whether every entry names the one before.
    public var isWhole: Bool { faults.isEmpty }
}
