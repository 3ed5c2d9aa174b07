import Waypost
package import WaypostMessages

/// What is known of an agent, as a list says it.
public struct AgentStatus: Sendable, Hashable {
    /// What it is like, by how soon someone should look.
    public enum Condition: Sendable, Hashable, Comparable {
        /// Its connection was lost.
        case lost
        /// A check failed.
        case failing
        /// It refused the newest map.
        case mapRefused
        /// It is online, and it is not known whether all is well: a check was not made, or its health did not come or
        /// can't be read.
        case unclear
        /// What the broker keeps does not tell.
        case unknown
        /// It was shut down.
        case stopped
        /// It is online, and all is well.
        case healthy

        /// Whether someone should look.
        package var isTrouble: Bool { self < .unknown }
    }

    /// The agent's name.
    public let name: String
    /// What it is like.
    public let condition: Condition
    /// In one word.
    package var state: String
    /// From when on, in milliseconds since 1970, by this machine's clock; nil when that is not known.
    ///
    /// Of an agent whose clock is wrong it may be up to the time between two of its health documents earlier.
    public package(set) var since: Int64?
    /// Whether it may be so for longer: its clock is wrong, and how far is only known from what the broker kept.
    package var isSinceAtLeast: Bool
    /// When its health was written, by our clock; nil when there is none, or when that can't be said: its clock is wrong,
    /// and the health is what the broker kept.
    package var asOf: Int64?
    /// When its process began, by our clock; nil when that is not known.
    package var started: Int64?
    package var health: String
    /// The revisions of the maps in force, for people.
    public package(set) var map: String
    /// Its version.
    public package(set) var version: String
    package let mqtt: String
    /// Its groups beside `all`, as far as it said so.
    public package(set) var groups: [String]
    /// The version of the app; nil when it does not say it.
    public package(set) var build: String?
    /// The labels of the client; nil when its health is not known.
    ///
    /// The value of one with the name of a secret is `***`.
    public package(set) var labels: [String: String]?
    /// The broker that it is connected to, as it says itself.
    package var broker: String?
    /// What is wrong, and what is not known, for people, without times; empty when there is nothing to say.
    public package(set) var problem: String
    /// How far its clock is behind ours, in milliseconds, when that is too far to believe its times.
    package var clockLag: Int64?
    /// Whether its clock was wrong when it went, and nothing says how far.
    private let hasNoTimes: Bool

    package init(_ name: String, _ member: Roster.Member, now: Int64) {
        self.name = name
        condition = member.condition
        let (health, isOnline) = (member.health, member.isOnline ?? false)
        state =
            switch condition {
            // A late will does not count, so the word may be that of an agent that is online after all.
            case .failing, .mapRefused, .unclear, .healthy:
                member.state.flatMap { $0.isOnline ? $0.state : nil } ?? "online"
            case .lost: "lost"
            case .stopped: "shut down"
            case .unknown: "unknown"
            }
        clockLag = member.wrongClockLag(at: now)
        let correction = clockLag ?? 0
        hasNoTimes = !isOnline && clockLag == nil && member.hasWrongClock(at: now)
        let stated = member.state.flatMap { $0.isOnline == isOnline ? $0.at : nil }
        // A will has no time of its own: when the connection was lost is known only to who saw it.
        let told = hasNoTimes ? nil : isOnline ? stated ?? health?.started : stated
        since = member.seenAt ?? told.map { $0.adding(clamping: correction) }
        isSinceAtLeast = member.seenAt == nil && clockLag != nil && member.healthLag == nil
        let isAgeUnknown = hasNoTimes || (clockLag != nil && member.healthLag == nil)
        asOf = member.askedAt ?? (isAgeUnknown ? nil : health?.at.map { $0.adding(clamping: correction) })
        started = isOnline ? health?.started.map { $0.adding(clamping: correction) } : nil
        // What was true before it went is true no more.
        self.health = isOnline ? member.currentHealth?.status ?? "?" : "-"
        let map = member.mapSummary
        self.map = map.map { $0.revisions.isEmpty ? "none" : $0.revisions } ?? "?"
        version = member.version ?? "?"
        mqtt = member.mqttVersion ?? "?"
        (groups, build, labels) = (health?.groups ?? [], health?.build, health?.labels)
        broker = health?.broker
        let unreadable = member.unreadable.sorted().map { "its \($0) can't be read" }
        problem =
            (unreadable
            + (isOnline ? Self.findings(of: member) : [member.state?.last?.text].compactMap(\.self))
            + [map?.refusal].compactMap { $0.map { "map " + $0 } }).joined(separator: "; ")
    }

    /// Whether it is there; nil when that is not known.
    public var isOnline: Bool? {
        switch condition {
        case .healthy, .unclear, .failing, .mapRefused: true
        case .lost, .stopped: false
        case .unknown: nil
        }
    }

    /// What one that is online finds wrong, or leaves unknown.
    private static func findings(of member: Roster.Member) -> [String] {
        guard let health = member.currentHealth else {
            return member.unreadable.contains("health") ? [] : [Roster.Member.hasNoHealth]
        }
        return health.problems + health.unknowns.map(\.text) + [health.waitingText].compactMap(\.self)
    }

    /// Whether nothing more is to be said of it than that it is there.
    package var hasNoHealth: Bool { condition == .unclear && problem == Roster.Member.hasNoHealth }

    /// For how long: `3 min ago`, `over 3 min ago`, or `?`.
    package func sinceText(_ now: Int64) -> String {
        since.map { (isSinceAtLeast ? "over " : "") + Self.ago($0, now) } ?? "?"
    }

    /// How old what is shown is: `28 s ago`, or `?`.
    package func asOfText(_ now: Int64) -> String { asOf.map { Self.ago($0, now) } ?? "?" }

    /// What is wrong, with the times that make it understood.
    package func problemText(_ now: Int64) -> String {
        let lost =
            condition == .lost && since == nil ? asOf.map { "last heard of \(Self.ago($0, now))" } : nil
        let clock = clockLag.flatMap { lag in
            problem.contains("clock: ")
                ? nil
                : "its clock is \(TimeText.difference(lag)) \(lag > 0 ? "behind" : "ahead of") this machine's"
        }
        let noTimes = hasNoTimes ? "its clock was wrong, so its times are not known" : nil
        return [lost, clock ?? noTimes, problem.isEmpty ? nil : problem].compactMap(\.self).joined(
            separator: "; ")
    }

    /// `3 min ago`; never more than fits.
    package static func ago(_ then: Int64, _ now: Int64) -> String {
        "\(TimeText.span(now.subtracting(clamping: then))) ago"
    }
}

extension Roster.Member {
    /// What to say of one that is online when ``currentHealth`` is nil.
    package static let hasNoHealth = "health: not known: none has come since it connected"

    /// The largest difference between two clocks with which times can be shown.
    fileprivate static let largestLag = 120_000
    /// An agent that is online writes its health at least once in this time, see `health-interval`.
    private static let longestHealthInterval: Int64 = 97_200_000

    /// How far the agent's clock is behind ours, in milliseconds, when that is too far to believe its times.
    func wrongClockLag(at now: Int64) -> Int64? {
        clockLag(at: now).flatMap { $0.magnitude > Self.largestLag ? $0 : nil }
    }

    /// How far its clock is ahead, in milliseconds, where it is known to be wrong; else 0.
    package func clockError(at now: Int64) -> Int64 {
        wrongClockLag(at: now).map { Int64(0).subtracting(clamping: $0) } ?? 0
    }

    /// Whether the times that it left behind are those of a wrong clock.
    fileprivate func hasWrongClock(at now: Int64) -> Bool {
        let isAhead = [health?.at, self.state?.at].compactMap(\.self).contains {
            $0.subtracting(clamping: now) > Self.largestLag
        }
        return isAhead || health?.checks.contains { $0.name == "clock" && $0.state == .failed } == true
    }

    /// How far the agent's clock is behind ours, in milliseconds; nil when that can't be said.
    ///
    /// Health that has come just now was written just now. Of what the broker kept it is not known when it came, but
    /// an agent that is online has written it within a day, and never after now.
    fileprivate func clockLag(at now: Int64) -> Int64? {
        if let healthLag { return healthLag }
        guard self.isOnline == true, let at = health?.at else { return nil }
        let lag = now.subtracting(clamping: at)
        return lag > Self.longestHealthInterval || lag < -Self.largestLag ? lag : nil
    }
}

extension AgentState {
    /// The MQTT version as people write it.
    package var mqttVersion: String { mqtt == 4 ? "3.1.1" : String(mqtt) }
}

extension Roster.Member {
    /// Its version, by its state, or by its health where the broker has lost that; nil when neither is known.
    var version: String? {
        [self.state?.version, health?.version].compactMap(\.self).first { !$0.isEmpty }
    }

    /// The MQTT version that it speaks, as people write it; nil when that is not known.
    var mqttVersion: String? {
        self.state?.mqttVersion ?? health.flatMap { $0.mqtt == nil ? nil : $0.mqttVersion }
    }
}
