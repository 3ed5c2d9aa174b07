package import Waypost
package import WaypostMessages

/// What is known of one agent, by what it, and the broker for it, said last: whether it is there, since when, how it is, and
/// in which groups.
///
/// All who follow a fleet read the documents of agents here, so that there is one rule for who is there, who is in a group,
/// and what becomes of what can't be read. Each of them keeps what it needs of a document that was read.
package struct FleetAgent: Sendable {
    /// What a message was news of.
    package enum News: Sendable {
        case state(JSONValue)
        /// Nil when only its bytes were looked at.
        case health(Health?)
        case applied(AppliedMap, JSONValue)
        /// It is there, and can't be read: what the agent said before counts.
        case unreadable
    }

    /// How much of its health is read: every agent publishes it twice a minute.
    package enum Reading: Sendable {
        case whole
        /// Whether it is red, by its bytes.
        case status
        /// The same, and its groups: they are those of a process, so all of its health is read once for each.
        case statusAndGroups
    }

    /// What it, or the broker for it, said of whether it is there.
    package private(set) var state: AgentState?
    /// The groups that it says it is in, beside `all`; nil until it has said so.
    package private(set) var groups: [String]?
    /// When we saw that it came or went, by our clock; nil when it was so already.
    private(set) var seenAt: Int64?
    private(set) var isRed = false
    /// Whether its groups are those of the process that is known.
    private(set) var areGroupsNew = false
    /// Whether it has spoken of late: it is there, though the broker keeps no state of it.
    private var hasSpoken = false
    private var unread: Documents = []
    /// The connection on which its health was written, as far as that is believed.
    private var healthEpoch: Int64?

    private struct Documents: OptionSet {
        let rawValue: UInt8

        static let state = Documents(rawValue: 1)
        static let health = Documents(rawValue: 2)
        static let applied = Documents(rawValue: 4)
    }

    package init() {}

    /// The documents of which the newest can't be read, each by the end of its topic: what came before it counts.
    package var unreadable: Set<String> {
        let all: [(Documents, String)] = [(.state, "state"), (.health, "health"), (.applied, "map/applied")]
        return Set(all.filter { unread.contains($0.0) }.map(\.1))
    }

    /// Whether it is there; nil when that is not known.
    ///
    /// Its state says so. Where another client removed that, or it expired, who speaks is there.
    package var isOnline: Bool? {
        state?.isOnline(withHealthOf: healthEpoch) ?? (hasSpoken ? true : nil)
    }
    /// Whether it went by itself.
    package var isStopped: Bool { isOnline == false && state?.reason == .shutdown }

    /// Whether it is in that group, as far as it said so.
    func isIn(_ group: String) -> Bool {
        Audience.group(group) == .all || groups?.contains(group) ?? false
    }

    /// Takes note of a message; nil when there is nothing to be read in it, or nothing new.
    ///
    /// - Parameter now: in milliseconds; see ``seenAt``.
    package mutating func take(
        _ content: OutboundTopic, _ message: SeenMessage, at now: Int64, _ reading: Reading = .whole
    ) -> News? {
        if !message.isRetained, content != .state { hasSpoken = true }
        switch content {
        case .state: return noted(.state, takeState(message, at: now))
        case .health:
            return noted(.health, reads(reading) ? takeHealth(message, reading) : takeStatus(message))
        case .applied:
            let applied = message.json.flatMap { json in (try? AppliedMap(json)).map { ($0, json) } }
            return noted(.applied, applied.map { .applied($0, $1) } ?? .unreadable)
        case .reply, .log, .failure, .routes, .contract, .navigation: return nil
        }
    }

    /// Notes whether a document can be read.
    private mutating func noted(_ document: Documents, _ news: News?) -> News? {
        if case .unreadable? = news { unread.insert(document) } else { unread.remove(document) }
        return news
    }

    private mutating func takeState(_ message: SeenMessage, at now: Int64) -> News? {
        guard let json = message.json, let state = try? AgentState(json) else { return .unreadable }
        guard state.isNews(after: self.state) else { return nil }
        let (before, was) = (self.state, isOnline)
        self.state = state
        hasSpoken = state.isOnline
        // What the broker kept is of one process.
        if before.map({ $0.boot != state.boot }) ?? !message.isRetained { areGroupsNew = false }
        // Each connection that fails leaves a will, and changes nothing of since when the agent is lost; and who was there
        // without a state did not come with it.
        if was != isOnline || before.map({ !$0.isSameStay(as: state) }) ?? false {
            seenAt = message.isRetained ? nil : now
        }
        return .state(json)
    }

    /// Whether all of its health is read.
    private func reads(_ reading: Reading) -> Bool {
        switch reading {
        case .whole: true
        case .status: false
        case .statusAndGroups: !areGroupsNew
        }
    }

    private mutating func takeStatus(_ message: SeenMessage) -> News {
        let bytes = message.payload
        guard bytes.first == UInt8(ascii: "{"), bytes.last == UInt8(ascii: "}") else { return .unreadable }
        isRed = bytes.contains(Self.red)
        return .health(nil)
    }

    private mutating func takeHealth(_ message: SeenMessage, _ reading: Reading) -> News {
        guard let json = message.json, json.objectValue != nil else { return .unreadable }
        let health = Health(json)
        // One that does not say its groups says nothing of them.
        if groups == nil || json["groups"] != nil { groups = health.groups }
        (isRed, areGroupsNew) = (health.status == "red", true)
        // Whoever names a number beyond all others would never be gone: no roll-out waits for that.
        if reading == .whole { healthEpoch = health.epoch }
        return .health(health)
    }

    /// A document without its health: that it failed stands at one place.
    private static let red = Array(#""status":"red""#.utf8)

    /// It is known to be there though the broker keeps no state of it.
    mutating func spoke() { hasSpoken = true }

    /// What was said of its end is not so: it is there as it was before.
    mutating func takeBackState(of before: FleetAgent) {
        (state, hasSpoken, seenAt) = (before.state, before.hasSpoken, before.seenAt)
    }

    /// Its state was removed: of one that is there it was lost.
    ///
    /// - Returns: false when it is known no more, for one that is gone for ever is removed after it went.
    mutating func loseState() -> Bool {
        guard isOnline == true else { return false }
        (state, hasSpoken) = (nil, true)
        return true
    }
}

extension OutboundTopic {
    /// Whether it carries one of the documents that are folded into a ``FleetAgent``.
    var isOfFleetAgent: Bool {
        switch self {
        case .state, .health, .applied: true
        case .reply, .log, .failure, .routes, .contract, .navigation: false
        }
    }
}

extension AgentState {
    /// Whether no agent came or went in between: an agent that comes again begins anew.
    fileprivate func isSameStay(as other: AgentState) -> Bool {
        guard state == other.state else { return false }
        return isOnline ? (boot, epoch) == (other.boot, other.epoch) : reason == other.reason
    }
}

extension Array<UInt8> {
    /// Whether the bytes occur in it.
    fileprivate func contains(_ needle: [UInt8]) -> Bool {
        guard let first = needle.first, count >= needle.count else { return false }
        return withUnsafeBufferPointer { bytes in
            needle.withUnsafeBufferPointer { needle in
                var place = 0
                let last = bytes.count - needle.count
                while place <= last {
                    if bytes[place] == first,
                        (1..<needle.count).allSatisfy({ bytes[place + $0] == needle[$0] })
                    {
                        return true
                    }
                    place += 1
                }
                return false
            }
        }
    }
}
