import Waypost
package import WaypostMessages

/// The agents of a group as a roll-out sees them: who is there, and which map is in force where.
package struct RolloutFleet: Sendable {
    /// One agent of the group.
    package struct Agent: Sendable {
        /// Its number, by which it is chosen.
        package var number: UInt64
        /// Whether it is there, and its health.
        fileprivate var known = FleetAgent()
        /// What it says of the roll-out.
        package var report: RolloutReport?
        /// The map in force of the group's layer.
        package var map: RolloutControl.MapID?
        /// The entries of the layer that have no effect, by their places.
        var inactive: Set<Int> = []
        /// Whether the candidate was refused.
        var hasRefused = false
        /// Whether the control document chooses it.
        package fileprivate(set) var isChosen = false
        /// Whether it was online and not chosen when the stage began.
        fileprivate var isOfControlGroup = false
        /// Whether its health failed before the stage began, and before all stages before.
        fileprivate var wasRed = false
        /// Whether it was chosen when the map was taken back.
        fileprivate var mustSayBack = false

        fileprivate init(number: UInt64) { self.number = number }

        var isOnline: Bool { known.isOnline == true }
        package var version: String { known.state?.version ?? "" }
        var isRed: Bool { known.isRed }

        /// How long an agent that comes may take to have what the broker keeps, in milliseconds.
        private static let arrival: Int64 = 5_000

        fileprivate func hasJustCome(at now: Int64) -> Bool {
            known.seenAt.map { now - $0 <= Self.arrival } ?? false
        }

        /// Whether it is online and says that the candidate is in force.
        var isOnNext: Bool { isOnline && report?.place == .next }

        /// Why it is chosen and does not say that the candidate is in force, in a word; nil for all others.
        fileprivate var missing: String? {
            isOnline && isChosen && !isOnNext ? report?.reason.word ?? "silent" : nil
        }
    }

    /// How many agents are what: kept up to date with each message, for ten thousand agents are not counted five times
    /// a second.
    package struct Counts: Sendable, Hashable {
        /// Online agents.
        package fileprivate(set) var online = 0
        /// Those of them that say that the candidate is in force, and how many of these are newly red.
        package fileprivate(set) var onNext = 0
        fileprivate(set) var redOnNext = 0
        /// Online agents that are chosen.
        package fileprivate(set) var chosen = 0
        /// Those of them that do not say that the candidate is in force, by what they say; `silent` for nothing.
        package fileprivate(set) var notOnNext: [String: Int] = [:]
        /// Online agents that are not chosen, and how many of them are newly red.
        fileprivate(set) var others = 0
        fileprivate(set) var redOthers = 0
        /// The control group of the stage, and how many of it that are not chosen still are offline.
        package fileprivate(set) var controlGroup = 0
        package fileprivate(set) var controlOffline = 0

        /// Chosen agents that have not said yet what they made of it.
        package var silent: Int { (notOnNext["silent"] ?? 0) + (notOnNext["chosen"] ?? 0) }
        /// Chosen agents that do not have the candidate in force, or do not say so.
        package var missing: Int { notOnNext.values.reduce(0, +) }

        fileprivate mutating func add(_ agent: Agent, _ part: Int) {
            if agent.isOfControlGroup {
                controlGroup += part
                if !agent.isChosen, !agent.isOnline { controlOffline += part }
            }
            guard agent.isOnline else { return }
            online += part
            let isNewlyRed = agent.isRed && !agent.wasRed
            if agent.isOnNext {
                onNext += part
                if isNewlyRed { redOnNext += part }
            }
            if !agent.isChosen {
                others += part
                if isNewlyRed, !agent.isOnNext { redOthers += part }
                return
            }
            chosen += part
            guard let word = agent.missing else { return }
            let count = (notOnNext[word] ?? 0) + part
            notOnNext[word] = count == 0 ? nil : count
        }
    }

    /// What a message was news of.
    package enum News: Sendable {
        case came
        case lost
        case applied(before: RolloutReport?)
        case failed(FailureReport)
        /// It has no map, and its session is a new one.
        case wants
        /// It is there, and can't be read: what the agent said before counts.
        case unreadable
    }

    package let group: String
    package let salt: String
    private let isOfAll: Bool
    private let topics: Topics
    /// By name; only members of the group.
    package private(set) var agents: [String: Agent] = [:]
    package private(set) var counts = Counts()
    /// The names of those that are counted in ``Counts/missing``.
    private var missing: Set<String> = []
    /// Which agents the control document chooses; nil while there is none.
    private var selection: Selection?
    /// Agents that are no members, or have not said yet that they are.
    private var others: [String: Agent] = [:]
    /// How much of each agent is read.
    private var shares = ReadingShares()

    /// What of a control document says which agents it chooses.
    private struct Selection: Hashable {
        var below: UInt64
        var include: Set<String>
        var exclude: Set<String>

        func chooses(_ name: String, _ number: UInt64) -> Bool {
            (number < below || include.contains(name)) && !exclude.contains(name)
        }
    }

    package init(group: String, salt: String, topics: Topics) {
        (self.group, self.salt, self.topics) = (group, salt, topics)
        isOfAll = Audience.group(group) == .all
    }

    /// What must be subscribed to.
    package static func filters(_ topics: Topics) -> [String] {
        [topics.state(of: "+"), topics.health(of: "+"), topics.applied(of: "+"), topics.failures(of: "+")]
    }

    private var layer: String { "@\(group)" }

    /// Whether those that are counted are there.
    private var isConsistent: Bool {
        counts.chosen + counts.others == counts.online && counts.online <= agents.count
            && 0...counts.online ~= counts.onNext && 0...agents.count ~= counts.controlGroup
            && 0...counts.controlGroup ~= counts.controlOffline && counts.missing == missing.count
    }

    /// Takes note of a message; what is new about a member of the group.
    package mutating func saw(
        _ message: SeenMessage, of id: String?, at now: Int64
    ) -> (agent: String, news: News)? {
        defer { assert(isConsistent) }
        guard let (name, content) = topics.outbound(message.topic) else { return nil }
        guard content.isOfFleetAgent || content == .failure else { return nil }
        guard !message.payload.isEmpty else {
            if content == .state { stateVanished(name) }
            return nil
        }
        guard shares.take(message.payload.count, content, of: name, at: now) == .read else { return nil }
        let member = agents[name]
        let isMember = member != nil
        // Its health may come later than what else it published.
        var agent = member ?? others[name] ?? Agent(number: RolloutHash.value(salt: salt, agent: name))
        let isSettled = isOfAll || agent.known.areGroupsNew
        if !isMember, content != .state, isSettled, !contains(agent) { return nil }
        let news = note(content, message, of: id, at: now, &agent)
        guard isMember && isSettled || contains(agent) else {
            if isMember { put(nil, name) }
            others[name] = agent
            return nil
        }
        if !isMember { others[name] = nil }
        put(agent, name)
        return news.map { (name, $0) }
    }

    private func contains(_ agent: Agent) -> Bool { isOfAll || agent.known.isIn(group) }

    private mutating func put(_ agent: Agent?, _ name: String) {
        if let before = agents[name] {
            counts.add(before, -1)
            if before.missing != nil { missing.remove(name) }
        }
        var agent = agent
        if let found = agent {
            agent?.isChosen = selection?.chooses(name, found.number) ?? false
        }
        agents[name] = agent
        if let agent {
            counts.add(agent, 1)
            if agent.missing != nil { missing.insert(name) }
        }
    }

    /// The names of those in ``Counts/notOnNext``, by reason; empty where they are too many to be read.
    package var fewMissing: [String: [String]] {
        guard missing.count <= RolloutStatus.maximumNamed else { return [:] }
        return Dictionary(grouping: missing.sorted()) { agents[$0]?.missing ?? "silent" }
    }

    /// Another control document, or none, chooses agents.
    package mutating func select(_ control: RolloutControl?) {
        defer { assert(isConsistent) }
        let selection = control.map {
            Selection(below: $0.below, include: Set($0.include), exclude: Set($0.exclude))
        }
        guard selection != self.selection else { return }
        self.selection = selection
        for (name, agent) in agents { put(agent, name) }
    }

    /// A stage begins: those that are online and not chosen are its control group.
    ///
    /// - Parameter isFirst: Whether what is red now was red before; else only what was so before all stages.
    package mutating func beginStage(isFirst: Bool) {
        defer { assert(isConsistent) }
        for (name, known) in agents {
            var agent = known
            agent.isOfControlGroup = agent.isOnline && !agent.isChosen
            agent.wasRed = agent.isOnline && agent.isRed && (isFirst || agent.wasRed)
            put(agent, name)
        }
    }

    private mutating func stateVanished(_ name: String) {
        var agent = agents[name]
        let isKnown = agent?.known.loseState() ?? false
        put(isKnown ? agent : nil, name)
        others[name] = nil
    }

    /// An agent is known to be there though the broker keeps no state of it.
    package mutating func spoke(_ name: String) {
        defer { assert(isConsistent) }
        guard var agent = agents[name] else { return }
        agent.known.spoke()
        put(agent, name)
    }

    /// Whether an agent has sent more than is read of one.
    package func isCrowding(_ name: String) -> Bool { shares.isExceeded(by: name) }

    private func note(
        _ content: OutboundTopic, _ message: SeenMessage, of id: String?, at now: Int64, _ agent: inout Agent
    ) -> News? {
        let was = agent.isOnline
        switch agent.known.take(content, message, at: now, isOfAll ? .status : .statusAndGroups) {
        case .state?:
            if agent.isOnline { return was ? nil : .came }
            return was && agent.known.state?.reason == .will && !message.isRetained ? .lost : nil
        case .applied(let applied, _)?: return note(applied, of: id, &agent)
        case .unreadable?: return .unreadable
        case .health?: return nil
        case nil:
            guard content == .failure else { return nil }
            return message.json.flatMap { try? FailureReport($0) }.map { .failed($0) } ?? .unreadable
        }
    }

    private func note(_ applied: AppliedMap, of id: String?, _ agent: inout Agent) -> News {
        let before = agent.report
        let ours = applied.rollouts.first { $0.layer == layer && (id == nil || $0.id == id) }
        agent.report = ours
        agent.map = applied.layers.first { $0.name == layer }.map {
            RolloutControl.MapID(revision: $0.revision, digest: $0.digest)
        }
        agent.inactive = Set(applied.inactive.filter { $0.layer == layer }.map(\.index))
        agent.hasRefused = applied.refused?.layer == layer
        return applied.isWanted ? .wants : .applied(before: before)
    }

    /// Forgets what was said of other roll-outs: before this one was known, any counted.
    package mutating func keepReports(of id: String?) {
        defer { assert(isConsistent) }
        for (name, known) in agents where known.report != nil && known.report?.id != id {
            var agent = known
            agent.report = nil
            put(agent, name)
        }
    }

    // MARK: Back, and there

    /// The agents that are chosen now have to say that they are back.
    package mutating func awaitReturn() {
        defer { assert(isConsistent) }
        for (name, agent) in agents where agent.isChosen { agents[name]?.mustSayBack = true }
    }

    /// The online agents that have not said under this document, or a later one, that the base is in force.
    package func notBack(since order: RolloutControl.Order?) -> [String] {
        agents.compactMap { name, agent in
            guard agent.isOnline else { return nil }
            guard let report = agent.report else { return agent.mustSayBack ? name : nil }
            if report.place == .next { return name }
            return agent.mustSayBack && order.map({ report.order < $0 }) ?? true ? name : nil
        }
    }

    /// The online agents that say that this map is in force.
    package func names(on map: RolloutControl.MapID) -> [String] {
        agents.compactMap { $0.value.isOnline && $0.value.map?.digest == map.digest ? $0.key : nil }
    }

    /// The online agents that do not say that this map is in force; one that has just come is about to.
    package func names(notOn map: RolloutControl.MapID, at now: Int64) -> [String] {
        agents.compactMap { name, agent in
            agent.isOnline && agent.map?.digest != map.digest && !agent.hasJustCome(at: now) ? name : nil
        }
    }

    /// A roll-out as agents know it that have its candidate.
    package struct Memory: Sendable, Hashable {
        package var id: String
        package var order: RolloutControl.Order
        package var next: RolloutControl.MapID
    }

    /// What most of the online agents that have a candidate say of the roll-out, and how many they are; nil when none
    /// has one.
    ///
    /// One that was promoted is over, also where the broker has lost the map.
    /// An order that controllers can't have come to is none of theirs.
    package var memory: (rollout: Memory, agents: Int)? {
        var counts: [Memory: Int] = [:]
        for agent in agents.values where agent.isOnNext {
            guard let report = agent.report, report.reason != .promoted, let map = agent.map,
                report.epoch <= RolloutControl.longestJump
            else { continue }
            counts[Memory(id: report.id, order: report.order, next: map), default: 0] += 1
        }
        let most = counts.max { ($0.value, $0.key.order.epoch) < ($1.value, $1.key.order.epoch) }
        return most.map { ($0.key, $0.value) }
    }

    // MARK: Who is there

    package var online: [String: Agent] { agents.filter { $0.value.isOnline } }
}

extension RolloutReport.Reason {
    /// As it is shown: a newer agent may have other words, and not any text is one.
    fileprivate var word: String { Name.isValid(rawValue) ? rawValue : "other" }
}
