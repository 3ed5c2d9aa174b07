import MQTTLink
import Waypost
import WaypostAgent
import WaypostFleet
import WaypostMessages

/// What simulated agents do in roll-outs: each decides as a real one does, by the same value.
extension SimulatedFleet {
    /// How often counts are published that have changed, in milliseconds.
    private static let countsInterval: Int64 = 10_000
    /// How soon an agent is lost that a map kills, in milliseconds.
    private static let dying: ClosedRange<Int64> = 500...10_000

    /// What agents with the same maps make of candidates.
    struct Chosen: Sendable {
        struct Key: Hashable {
            var maps: ObjectIdentifier
            var digests: [String: [UInt8]]
        }

        /// Kept, or another could have its identity.
        var before: SimulatedMaps
        var after: SimulatedMaps
        /// The layers whose candidates do not fit.
        var refused: [String: Failure]
    }

    /// A document of a roll-out, as the broker keeps it.
    struct RolloutDocuments: Sendable {
        var control: RolloutControl?
        var controlDigest = ""
        var candidate: [UInt8]?
        var candidateDigest: [UInt8] = []
        /// What differs between the base and the candidate.
        var changed: ChangedURLs?
    }

    // MARK: Documents

    /// A control document came.
    mutating func tookControl(
        _ payload: [UInt8], of group: String, _ members: [Int], at now: Int64
    ) -> [FleetStep] {
        guard !payload.isEmpty else { return [] }
        let key = "@\(group)"
        let control: RolloutControl
        do throws(Failure) {
            control = try RolloutControl(payload)
        } catch {
            return members.filter { agents[$0].isReachable }.flatMap {
                fail($0, error.code, "control document of \(key) refused: \(error.detail)", in: .map, at: now)
            }
        }
        let digest = SHA256.label(SHA256.digest(of: payload))
        if rollouts[key]?.control.map({ $0.order <= control.order }) ?? true {
            rollouts[key, default: RolloutDocuments()].control = control
            rollouts[key]?.controlDigest = digest
        }
        return members.filter { agents[$0].isReachable }.flatMap {
            take(control, digest, of: key, $0, at: now)
        }
    }

    private mutating func take(
        _ control: RolloutControl, _ digest: String, of key: String, _ index: Int, at now: Int64
    ) -> [FleetStep] {
        var member = agents[index].rollouts[key] ?? RolloutMember(agent: plan.name(index))
        do throws(Failure) {
            _ = try member.take(control, for: .group(String(key.dropFirst())), digest: digest, at: now)
        } catch {
            return fail(
                index, error.code, "control document of \(key) refused: \(error.detail)", in: .map, at: now)
        }
        let before = reports(index, at: now)
        change(index) { $0.rollouts[key] = member }
        return decide(index, delayed: true, after: before, at: now)
    }

    /// A candidate came.
    mutating func tookCandidate(
        _ payload: [UInt8], of group: String, _ members: [Int], at now: Int64
    ) -> [FleetStep] {
        guard !payload.isEmpty else { return [] }
        let key = "@\(group)"
        let digest = SHA256.digest(of: payload)
        if rollouts[key]?.candidateDigest != digest {
            rollouts[key, default: RolloutDocuments()].candidate = payload
            rollouts[key]?.candidateDigest = digest
            rollouts[key]?.changed = nil
        }
        return members.filter { agents[$0].isReachable && agents[$0].rollouts[key] != nil }
            .flatMap { decide($0, delayed: true, at: now) }
    }

    /// What the broker keeps of roll-outs comes to an agent that connects.
    mutating func takeStandingRollouts(_ index: Int, at now: Int64) {
        let group = plan.group(index).map { plan.groups[$0] }
        for key in ["all", group].compactMap(\.self).map({ "@\($0)" }) {
            guard let kept = rollouts[key], let control = kept.control else { continue }
            _ = take(control, kept.controlDigest, of: key, index, at: now)
        }
    }

    // MARK: In force

    /// Puts in force what the control documents choose.
    ///
    /// - Parameter reported: What was said before; what follows from the documents before this unless given.
    mutating func decide(
        _ index: Int, delayed: Bool, after reported: [RolloutReport]? = nil, at now: Int64
    ) -> [FleetStep] {
        let before = reported ?? reports(index, at: now)
        let base = agents[index].base
        var wanted: [String: [UInt8]] = [:]
        for (key, member) in agents[index].rollouts {
            guard let choice = choice(key, member, index, at: now), choice.isCandidateInForce else {
                continue
            }
            wanted[key] = rollouts[key]?.candidateDigest
        }
        let chosen = self.chosen(wanted, over: base, at: agents[index].clock(at: now))
        var steps: [FleetStep] = []
        for (key, failure) in chosen.refused where !agents[index].refusedCandidates.contains(key) {
            change(index) { $0.refusedCandidates.insert(key) }
            steps += fail(
                index, failure.code, "map of \(key) refused: \(failure.detail)", in: .map, at: now)
        }
        let isNew = agents[index].maps !== chosen.after
        change(index) { $0.maps = chosen.after }
        if isNew { scheduleDeath(index, at: now) }
        guard isNew || reports(index, at: now).map(\.essence) != before.map(\.essence) else { return steps }
        let delays = agents[index].rollouts.values.compactMap { $0.control?.delay(of: plan.name(index)) }
        guard delayed, let delay = delays.max(), delay > 0 else {
            return steps + (isNew ? documents(index) : [applied(index)])
        }
        schedule.add(.report, of: index, at: now + delay)
        return steps
    }

    private func choice(
        _ key: String, _ member: RolloutMember, _ index: Int, at now: Int64
    ) -> RolloutMember.Choice? {
        let isRefused =
            agents[index].refusedCandidates.contains(key)
            || (plan.refuses(agents[index].maps.build.version, member.control?.next.revision))
        return member.choice(
            base: agents[index].base.layers.mapID(of: key),
            candidate: rollouts[key].flatMap { $0.candidate == nil ? nil : SHA256.label($0.candidateDigest) },
            isRefused: isRefused, at: now)
    }

    private mutating func chosen(
        _ wanted: [String: [UInt8]], over base: SimulatedMaps, at clock: Int64
    ) -> Chosen {
        guard !wanted.isEmpty else { return Chosen(before: base, after: base, refused: [:]) }
        let key = Chosen.Key(maps: ObjectIdentifier(base), digests: wanted)
        if let known = chosenMaps[key] { return known }
        let candidates = wanted.keys.compactMap { key in rollouts[key]?.candidate.map { (key, $0) } }
        let rules = MapDocument.Rules(
            maximumBytes: configuration.limits.mapBytes, limits: configuration.limits.json, trusted: .none)
        let (after, refused) = base.choosing(candidates, at: clock, rules)
        let found = Chosen(before: base, after: after, refused: refused)
        if chosenMaps.count > 1_000 { chosenMaps = [:] }
        chosenMaps[key] = found
        return found
    }

    /// What an agent reports of roll-outs.
    func reports(_ index: Int, at now: Int64) -> [RolloutReport] {
        let agent = agents[index]
        return agent.maps.layers.keysInOrder.compactMap { key in
            guard let member = agent.rollouts[key], let choice = choice(key, member, index, at: now) else {
                return nil
            }
            return member.report(choice)
        }
    }

    /// The map that a failure is blamed on.
    func mapInForce(_ index: Int) -> FailureReport.MapInForce? {
        let agent = agents[index]
        let running = agent.rollouts.first { $0.value.control?.state.isOver == false }?.key
        if let running,
            let revision = agent.maps.applied(by: plan.name(index)).layers.first(where: { $0.name == running }
            )?
            .revision
        {
            return FailureReport.MapInForce(layer: running, revision: revision)
        }
        return agent.maps.inForce
    }

    // MARK: Traffic, and what a bad map does

    private func revisions(_ index: Int) -> [Int64] {
        agents[index].maps.layers.inForce.compactMap(\.revision)
    }

    private mutating func scheduleDeath(_ index: Int, at now: Int64) {
        let revisions = revisions(index)
        guard let share = plan.mapFaults.compactMap({ $0.deaths(revisions) }).first else { return }
        guard Double.random(in: 0..<1, using: &agents[index].chance) < share else { return }
        let due = now + Int64.random(in: Self.dying, using: &agents[index].chance)
        schedule.add(.lost, of: index, at: due)
    }

    /// Some agent opens a URL that a map in force, or one that is rolled out, is about.
    mutating func traffic(at now: Int64) -> [FleetStep] {
        guard let index = anyone() else { return [] }
        let key = agents[index].rollouts.first { $0.value.control?.state.isOver == false }?.key
        guard let key, let urls = changedURLs(key),
            let url = urls.samples.randomElement(using: &agents[index].chance)
        else { return [] }
        let found = agents[index].maps.resolve(url, for: plan.name(index))
        var error = found
        let revisions = revisions(index)
        if let rate = plan.mapFaults.compactMap({ $0.failures(revisions) }).first,
            Double.random(in: 0..<1, using: &agents[index].chance) < rate
        {
            error = Failure(.handlerFailed, "the handler threw: no such screen")
        }
        change(index) { agent in
            if error == nil { agent.opened &+= 1 } else { agent.unopened &+= 1 }
        }
        var steps: [FleetStep] = []
        if let error {
            steps += fail(
                index, error.code, error.detail, in: .router, url: url, nearest: error.nearest, at: now)
        }
        guard agents[index].maps.layers.chosen.contains(key), var member = agents[index].rollouts[key] else {
            return steps
        }
        let goesBack = member.count(failing: error != nil, at: now)
        let isFirst = !agents[index].hasCounts
        change(index) { agent in
            agent.rollouts[key] = member
            agent.hasCounts = true
        }
        if isFirst { schedule.add(.counts, of: index, at: now + Self.countsInterval) }
        guard goesBack else { return steps }
        return steps + fail(index, .rolloutGuard, "\(key): \(member.guardText)", in: .map, at: now)
            + decide(index, delayed: false, at: now)
    }

    private mutating func changedURLs(_ key: String) -> ChangedURLs? {
        if let known = rollouts[key]?.changed { return known }
        guard let payload = rollouts[key]?.candidate,
            let json = try? JSONValue(parsing: payload, limits: .trustedFile),
            let document = try? MapDocument(map: json)
        else { return nil }
        let base = standingEntries(key)
        let changed = ChangedURLs(from: base, to: document.entries)
        rollouts[key]?.changed = changed
        return changed
    }

    /// Counts that have changed are published.
    mutating func publishCounts(_ index: Int) -> [FleetStep] {
        change(index) { $0.hasCounts = false }
        return agents[index].isReachable ? [applied(index)] : []
    }

    /// What was delayed is published.
    func publishReport(_ index: Int) -> [FleetStep] { agents[index].isReachable ? documents(index) : [] }
}

extension RolloutReport {
    /// What is reported anew when it changes.
    fileprivate var essence: [String] { [layer, id, place.rawValue, reason.rawValue] }
}
