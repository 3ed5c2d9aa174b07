package import Waypost
package import WaypostMessages

/// The audit of a group's roll-outs: a chain in which each entry names the bytes of the one before.
///
/// The control document has the number of its entry, which is the chain's end. What stands above it and does not follow
/// from it is no entry.
package struct RolloutTrail: Sendable {
    /// The last entry: its number, the digest of its bytes, nil when it was lost, and the epoch of its controller.
    package private(set) var last: (number: Int64, digest: String?, epoch: Int64)?
    /// What each place of the ring is to have, as far as it is known.
    private var slots: [Int64: [UInt8]] = [:]
    /// What the broker has in each place, as far as it was seen on this connection.
    private var held: [Int64: [UInt8]] = [:]
    /// The entries that were read before a controller began, by number: of two the first.
    private var found: [Int64: (entry: RolloutAudit, payload: [UInt8])] = [:]
    private var hasBegun = false
    /// What is wrong with what was read, each a sentence.
    private var faults: Set<String> = []
    /// Whether the entry of the control document was not written, and only that.
    package private(set) var lacksLast = false

    package init() {}

    /// Whether the last entry is in its place of the ring, where its bytes are known.
    private var isConsistent: Bool { last?.digest == nil || !slots.isEmpty }

    // MARK: Reading

    /// Takes note of an entry that is there already.
    package mutating func saw(_ payload: [UInt8]) {
        defer { assert(isConsistent) }
        guard !payload.isEmpty else { return }
        guard let entry = RolloutAudit(bytes: payload) else {
            faults.insert(RolloutHistory.unreadable)
            return
        }
        if let known = found[entry.number], known.payload != payload {
            faults.insert(RolloutHistory.twice(entry.number))
        } else {
            found[entry.number] = (entry, payload)
        }
    }

    /// What came in a place of the ring.
    package enum Finding: Sendable, Hashable {
        case asItShouldBe
        /// This belongs there.
        case replaced([UInt8])
        /// What belongs there is not known; this does not.
        case foreign
    }

    /// Takes note of what came in a place of the ring.
    package mutating func saw(_ payload: [UInt8], in slot: Int64) -> Finding {
        defer { assert(isConsistent) }
        guard (0..<RolloutAudit.ring).contains(slot) else { return .foreign }
        held[slot] = payload
        guard hasBegun else {
            saw(payload)
            return .asItShouldBe
        }
        let known = slots[slot]
        guard known != payload, known != nil || !payload.isEmpty else { return .asItShouldBe }
        if let entry = RolloutAudit(bytes: payload), entry.slot == slot, let last,
            entry.number == last.number + 1, entry.previous == last.digest
        {
            // Another controller goes on with the chain; which of the two does is not decided here.
            put(entry, payload)
            return .asItShouldBe
        }
        return known.map { .replaced($0) } ?? .foreign
    }

    /// What the broker has will be read anew.
    package mutating func connectionLost() { held = [:] }

    /// What the broker does not have as it should be.
    package var missing: [(slot: Int64, payload: [UInt8])] {
        slots.filter { held[$0.key] != $0.value }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    // MARK: The end of the chain

    /// All was read: finds the end of the chain.
    ///
    /// - Parameter control: The control document; nil when there is none.
    /// - Returns: What is wrong, each a sentence.
    package mutating func begins(after control: RolloutControl?) -> [String] {
        defer { assert(isConsistent) }
        guard !hasBegun else { return [] }
        hasBegun = true
        let numbers = found.keys.sorted()
        let told = control?.entry.flatMap { told in
            told - (numbers.last { $0 <= told } ?? told) <= RolloutControl.longestJump ? told : nil
        }
        var end = told ?? Self.end(of: numbers)
        while let known = found[end], let next = found[end + 1],
            next.entry.previous == RolloutAudit.digest(of: known.payload)
        {
            end += 1
        }
        lacksLast = end > 0 && found[end] == nil && (end == 1 || found[end - 1] != nil)
        if lacksLast { end -= 1 }
        for number in numbers where number <= end && number > end - RolloutAudit.ring {
            if let known = found[number] { slots[known.entry.slot] = known.payload }
        }
        if end > 0 {
            let known = found[end]
            last = (
                end, known.map { RolloutAudit.digest(of: $0.payload) },
                known?.entry.epoch ?? control?.epoch ?? 0
            )
        }
        let payloads = found.values.map(\.payload)
        defer { (found, faults) = ([:], []) }
        guard lacksLast else {
            return faults.sorted() + RolloutHistory(payloads, endingWith: control).faults
        }
        return ["entry \(end + 1) was missing, and was written"] + faults.sorted()
            + RolloutHistory(payloads).faults
    }

    /// The last of those that lie together: a number far above the others is no controller's.
    private static func end(of numbers: [Int64]) -> Int64 {
        var runs: [[Int64]] = []
        for number in numbers {
            if let before = runs.last?.last, number - before <= RolloutControl.longestJump {
                runs[runs.count - 1].append(number)
            } else {
                runs.append([number])
            }
        }
        // The first of the largest.
        return runs.reversed().max { $0.count < $1.count }?.last ?? 0
    }

    private mutating func put(_ entry: RolloutAudit, _ payload: [UInt8]) {
        defer { assert(isConsistent) }
        last = (entry.number, RolloutAudit.digest(of: payload), entry.epoch)
        slots[entry.slot] = payload
    }

    /// The number of the next entry: one that its readers take.
    package var next: Int64 { min((last?.number ?? 0) + 1, RolloutControl.highest) }

    /// The next entry.
    package mutating func append(
        _ event: String, of control: RolloutControl, by author: String, why: String?, evidence: JSONValue?,
        at wall: Int64
    ) -> RolloutAudit {
        defer { assert(isConsistent) }
        if !hasBegun { _ = begins(after: nil) }
        let entry = RolloutAudit(
            number: next, at: wall, id: control.id, epoch: control.epoch, sequence: control.sequence,
            author: author, event: event, why: why, evidence: evidence, previous: last?.digest)
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
    /// Where the chain is broken: each a sentence; empty when every entry names the one before, and the last one is that
    /// of the control document.
    public let faults: [String]

    static let unreadable = "an entry of the audit can't be read"

    static func twice(_ number: Int64) -> String {
        "there are two entries \(number) with different content"
    }

    /// The entries that a broker keeps, in any order, and the control document beside them.
    package init(_ payloads: [[UInt8]], endingWith control: RolloutControl?) {
        self.init(payloads) { Self.faults(of: $0, control) }
    }

    /// - Parameter payloads: The entries as they are kept, in any order.
    package init(_ payloads: [[UInt8]]) { self.init(payloads) { _ in [] } }

    /// Whether the last entry is that of the control document.
    private static func faults(of last: RolloutAudit?, _ control: RolloutControl?) -> [String] {
        guard let last else {
            guard let control else { return [] }
            return ["no entry of the audit is left; the control document is of roll-out \(control.id)"]
        }
        guard let control else {
            return ["there is no control document, and entry \(last.number) is of roll-out \(last.id)"]
        }
        let told = control.entry ?? last.number
        if last.number < told {
            let missing =
                last.number + 1 == told ? "entry \(told) is" : "entries \(last.number + 1) to \(told) are"
            return ["\(missing) missing at the end, as the control document says"]
        }
        if last.number > told {
            return ["entry \(last.number) is not of the control document, which has entry \(told)"]
        }
        guard last.id != control.id || last.epoch != control.epoch || last.sequence > control.sequence else {
            return []
        }
        return [
            "entry \(last.number) is of roll-out \(last.id), epoch \(last.epoch), seq \(last.sequence), and the "
                + "control document is of \(control.id), epoch \(control.epoch), seq \(control.sequence)"
        ]
    }

    /// - Parameter end: What is wrong with the last entry.
    private init(_ payloads: [[UInt8]], checking end: (RolloutAudit?) -> [String]) {
        var read: [Int64: (entry: RolloutAudit, payload: [UInt8], digest: String)] = [:]
        var faults: [String] = []
        for payload in payloads where !payload.isEmpty {
            guard let entry = RolloutAudit(bytes: payload) else {
                faults.append(Self.unreadable)
                continue
            }
            let digest = RolloutAudit.digest(of: payload)
            if let known = read[entry.number], known.digest != digest {
                faults.append(Self.twice(entry.number))
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
        self.faults = faults + end(sorted.last?.entry)
    }

    /// Whether every entry names the one before.
    public var isWhole: Bool { faults.isEmpty }
}
