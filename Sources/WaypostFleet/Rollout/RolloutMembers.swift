package import Waypost
package import WaypostMessages

/// The agent's part in the roll-outs of all its groups: decisions only; ``RelocationMaps`` acts.
///
/// Times are on the monotonic clock, in milliseconds.
package struct RolloutMembers: Sendable {
    /// A candidate that is not put in force here.
    package struct Unfit: Sendable {
        package var digest: [UInt8]
        /// Whether it may fit when other maps or the routes change.
        package var dependsOnOthers: Bool

        package init(digest: [UInt8], dependsOnOthers: Bool) {
            (self.digest, self.dependsOnOthers) = (digest, dependsOnOthers)
        }
    }

    /// How long a retained map may take with a new session.
    private static let patience: Int64 = 5_000

    private let agent: String
    /// By the key of the layer.
    private var members: [String: RolloutMember] = [:]
    /// The candidates that did not fit here, by layer: their digests, and why.
    package var unfit: [String: Unfit] = [:]
    /// The URLs that the candidates in force change.
    package var changed: [String: ChangedURLs] = [:]
    /// What was reported last, without the counts.
    private var reported: [RolloutReport] = []
    /// How many opens were reported.
    private var reportedOpens: Int64 = 0
    /// The groups to whose candidates the link is subscribed.
    private var subscribed: Set<String> = []
    /// Until when a retained map is waited for.
    private var awaitsMap: Int64?

    package init(agent: String) { self.agent = agent }

    package var isEmpty: Bool { members.isEmpty }

    /// What is known of the roll-out of a layer.
    package subscript(key: String) -> RolloutMember { members[key] ?? RolloutMember(agent: agent) }

    /// Whether a layer's roll-out is under way.
    package func isUnderWay(_ key: String) -> Bool { members[key]?.control?.state.isOver == false }

    /// Whether each member has a control document: without one there is nothing to say of it.
    private var isConsistent: Bool { members.values.allSatisfy { $0.control != nil } }

    // MARK: What happened

    /// A control document that a copy of the member took is stored; opens were counted meanwhile.
    package mutating func controlWasStored(
        _ control: RolloutControl, of key: String, digest: String, at now: Int64
    ) {
        defer { assert(isConsistent) }
        members[key, default: RolloutMember(agent: agent)].took(control, digest: digest, at: now)
    }

    /// It was found on the disk at the start.
    package mutating func restored(_ text: String, of key: String, at now: Int64) {
        defer { assert(isConsistent) }
        var member = RolloutMember(agent: agent)
        member.restore(text, at: now)
        if member.control != nil { members[key] = member }
    }

    /// There is a connection; before the first one there was none to subscribe with.
    package mutating func connected(isNewSession: Bool, at now: Int64) {
        defer { assert(isConsistent) }
        awaitsMap = isNewSession ? now + Self.patience : nil
        subscribed = []
    }

    /// The agent is in these groups no more.
    package mutating func left(_ keys: [String]) {
        defer { assert(isConsistent) }
        for key in keys { (members[key], unfit[key], changed[key]) = (nil, nil, nil) }
    }

    package mutating func mapCame() { awaitsMap = nil }

    /// Whether the map that a new session brings did not come; true once.
    package mutating func timePassed(at now: Int64) -> Bool {
        defer { assert(isConsistent) }
        guard let end = awaitsMap, now >= end else { return false }
        awaitsMap = nil
        return true
    }

    /// A URL that candidates change was opened; returns the members that go back to the base for it.
    package mutating func opened(
        _ keys: [String], isFailing: Bool, at now: Int64
    ) -> [(key: String, member: RolloutMember)] {
        defer { assert(isConsistent) }
        return keys.filter { members[$0]?.count(failing: isFailing, at: now) == true }.map { ($0, self[$0]) }
    }

    // MARK: What follows

    /// The layers in whose place the candidate lies, as far as the control documents go.
    package func choices(_ layers: MapLayers, at now: Int64) -> [String: RolloutMember.Choice] {
        members.reduce(into: [:]) { choices, element in
            let (key, member) = element
            let candidate = layers.stored[MapRecord.candidateKey(of: key)]
            let digest = candidate.flatMap { $0.isDamaged ? nil : $0.digest }
            let refused = unfit[key]?.digest
            let wanted = member.control?.next.digest
            choices[key] = member.choice(
                base: layers.mapID(of: key), candidate: digest.map(SHA256.label),
                isRefused: refused != nil && refused.map(SHA256.label) == wanted, at: now)
        }
    }

    /// Whether a candidate that came is wanted, and another than the one that is stored.
    ///
    /// - Throws: ``Failure`` 409 when the control document names another.
    package func needs(_ digest: [UInt8], _ layers: MapLayers, of key: String) throws(Failure) -> Bool {
        let stored = layers.stored[MapRecord.candidateKey(of: key)]
        guard let control = members[key]?.control, control.state.hasCandidate, control.chooses(agent),
            stored?.digest != digest || stored?.isDamaged == true
        else { return false }
        guard SHA256.label(digest) == control.next.digest else {
            throw Failure(
                .equivocation,
                "the candidate of \(key) is not the document that roll-out \(control.id) names")
        }
        return true
    }

    /// The layers whose stored candidates no control document names any more.
    package func stale(_ layers: MapLayers) -> [String] {
        members.keys.filter { key in
            let place = MapRecord.candidateKey(of: key)
            guard let record = layers.stored[place], !layers.chosen.contains(key) else { return false }
            let next = members[key]?.control?.next.digest
            return !isUnderWay(key) || SHA256.label(record.digest) != next
                || layers.mapID(of: key)?.digest == next
        }
    }

    /// Whether one that goes back when it hears nothing has heard nothing for too long.
    package func isSilent(_ layers: MapLayers, at now: Int64) -> Bool {
        layers.chosen.contains { members[$0]?.isSilent(at: now) == true }
    }

    /// What each roll-out has come to here.
    package func reports(_ layers: MapLayers, at now: Int64) -> [RolloutReport] {
        let choices = choices(layers, at: now)
        return layers.keysInOrder.compactMap { key in
            guard let member = members[key], var choice = choices[key] else { return nil }
            // What is decided and not done yet is not said: it is about to come in force, or to be found unfit beside
            // another, or to go.
            let isInForce = layers.chosen.contains(key)
            if choice.isCandidateInForce, !isInForce { choice = .base(.chosen) }
            if choice.place == .base, isInForce { choice = .candidate }
            return member.report(choice)
        }
    }

    /// Reports these; false when they say nothing new.
    package mutating func report(_ reports: [RolloutReport]) -> Bool {
        defer { assert(isConsistent) }
        let reports = reports.map(\.withoutCounts)
        defer { reported = reports }
        return reports != reported
    }

    /// Whether there are opens that were not reported; they count as reported then.
    package mutating func takeOpens() -> Bool {
        defer { assert(isConsistent) }
        let opens = members.values.reduce(0) { $0 + $1.opened }
        defer { reportedOpens = opens }
        return opens != reportedOpens
    }

    /// How long reports wait, so that not all agents send theirs at once.
    package var delay: Int64 { members.values.compactMap { $0.control?.delay(of: agent) }.max() ?? 0 }

    /// The groups whose candidates are needed from now on, and those whose are not any more.
    package mutating func takeSubscriptions(_ layers: MapLayers, at now: Int64) -> (
        new: [String], old: [String]
    ) {
        defer { assert(isConsistent) }
        let needed = Set(
            choices(layers, at: now).filter(\.value.needsCandidate).map { String($0.key.dropFirst()) })
        defer { subscribed = needed }
        return (needed.subtracting(subscribed).sorted(), subscribed.subtracting(needed).sorted())
    }
}

extension RolloutReport {
    fileprivate var withoutCounts: RolloutReport {
        var report = self
        (report.opened, report.failed, report.epoch, report.sequence) = (0, 0, 0, 0)
        return report
    }
}
