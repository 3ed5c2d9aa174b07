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

    /// The documents of a roll-out, as the broker keeps them.
    struct RolloutDocuments: Sendable {
        var control: RolloutControl?
        var controlDigest = ""
        var candidate: [UInt8]?
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
        var own = members[index] ?? RolloutMembers(agent: plan.name(index))
        var member = own[key]
        do throws(Failure) {
            _ = try member.take(control, for: .group(String(key.dropFirst())), digest: digest, at: now)
        } catch {
            return fail(
                index, error.code, "control document of \(key) refused: \(error.detail)", in: .map, at: now)
        }
        own.controlWasStored(control, of: key, digest: digest, at: now)
        members[index] = own
        return decide(index, delayed: true, at: now)
    }

    /// A candidate came.
    mutating func tookCandidate(
        _ payload: [UInt8], of group: String, _ members: [Int], at now: Int64
    ) -> [FleetStep] {
        guard !payload.isEmpty else { return [] }
        let key = "@\(group)"
        if rollouts[key]?.candidate != payload {
            rollouts[key, default: RolloutDocuments()].candidate = payload
            rollouts[key]?.changed = nil
        }
        return members.filter { agents[$0].isReachable }.flatMap { takeCandidate(of: key, $0, at: now) }
    }

    /// An agent is given the candidate that the broker keeps.
    private mutating func takeCandidate(of key: String, _ index: Int, at now: Int64) -> [FleetStep] {
        guard let payload = rollouts[key]?.candidate, let own = members[index] else { return [] }
        let place = MapRecord.candidateKey(of: key)
        let digest = SHA256.digest(of: payload)
        var steps: [FleetStep] = []
        func refuse(_ failure: Failure?) {
            members[index]?.unfit[key] = .init(digest: digest, dependsOnOthers: false)
            guard let failure else { return }
            steps = fail(
                index, failure.code, "map of \(key) refused: \(failure.detail)", in: .map, at: now)
        }
        do throws(Failure) {
            guard try own.needs(digest, agents[index].base.layers, of: key) else { return [] }
            let revision = own[key].control?.next.revision
            if plan.refuses(agents[index].maps.build.version, revision) {
                refuse(nil)
            } else if case .refused(let failure, _, let isNew) = take(
                payload, in: place, for: .group(String(key.dropFirst())), index, at: now)
            {
                refuse(isNew ? failure : nil)
            } else {
                members[index]?.unfit[key] = nil
            }
        } catch {
            refuse(error)
        }
        return steps + decide(index, delayed: true, at: now)
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

    /// Puts in force what the control documents choose, and reports what has changed.
    mutating func decide(_ index: Int, delayed: Bool, at now: Int64) -> [FleetStep] {
        guard var own = members[index] else { return [] }
        own.unfit = own.unfit.filter { !$0.value.dependsOnOthers }
        let before = agents[index].maps.layers.chosen
        let choices = own.choices(agents[index].base.layers, at: now)
        let wanted = agents[index].base.layers.keysInOrder.filter {
            choices[$0]?.isCandidateInForce == true
        }
        dropCandidates(own, beside: wanted, index, at: now)
        let chosen =
            wanted.isEmpty
            ? Change(before: agents[index].base, after: agents[index].base, at: now)
            : change(agents[index].base, .candidates(wanted), at: now) { base in
                let (after, refused) = base.choosing(wanted)
                return Change(before: base, after: after, refused: refused, at: now)
            }
        var steps: [FleetStep] = []
        for (key, failure) in chosen.refused {
            let digest = agents[index].base.layers.stored[MapRecord.candidateKey(of: key)]?.digest ?? []
            let isNew = members[index]?.unfit[key]?.digest != digest
            own.unfit[key] = .init(digest: digest, dependsOnOthers: true)
            guard isNew else { continue }
            steps += fail(
                index, failure.code, "map of \(key) refused: \(failure.detail)", in: .map, at: now)
        }
        agents[index].maps = chosen.after
        let isSwitched = chosen.after.layers.chosen != before
        if isSwitched { scheduleDeath(index, at: now) }
        let isReported = own.report(own.reports(chosen.after.layers, at: now))
        let needed = own.takeSubscriptions(chosen.after.layers, at: now).new
        members[index] = own
        if isSwitched || isReported {
            if delayed, own.delay > 0 {
                schedule.add(.report, of: index, at: now + own.delay)
            } else {
                steps += isSwitched ? documents(index) : [applied(index, at: now)]
            }
        }
        return needed.reduce(into: steps) { $0 += takeCandidate(of: "@\($1)", index, at: now) }
    }

    /// Forgets candidates that no control document names any more.
    private mutating func dropCandidates(
        _ own: RolloutMembers, beside wanted: [String], _ index: Int, at now: Int64
    ) {
        var layers = agents[index].base.layers
        layers.chosen = Set(wanted)
        let stale = own.stale(layers).sorted()
        guard !stale.isEmpty else { return }
        agents[index].base =
            change(agents[index].base, .withoutCandidates(stale), at: now) { base in
                Change(before: base, after: base.droppingCandidates(of: stale), at: now)
            }.after
    }

    /// What an agent reports of roll-outs.
    func reports(_ index: Int, at now: Int64) -> [RolloutReport] {
        members[index]?.reports(agents[index].maps.layers, at: now) ?? []
    }

    /// The layer whose roll-out is under way.
    private func underWay(_ index: Int) -> String? {
        members[index].flatMap { own in
            agents[index].maps.layers.keysInOrder.first(where: own.isUnderWay)
        }
    }

    /// The map that a failure is blamed on.
    func mapInForce(_ index: Int) -> FailureReport.MapInForce? {
        let layers = agents[index].maps.applied(by: plan.name(index)).layers
        if let key = underWay(index), let revision = layers.first(where: { $0.name == key })?.revision {
            return FailureReport.MapInForce(layer: key, revision: revision)
        }
        return agents[index].maps.inForce
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
        guard let index = anyone(), let key = underWay(index), let urls = changedURLs(key),
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
        if error == nil { agents[index].opened &+= 1 } else { agents[index].unopened &+= 1 }
        var steps: [FleetStep] = []
        if let error {
            steps += fail(
                index, error.code, error.detail, in: .router, url: url, nearest: error.nearest, at: now)
        }
        guard agents[index].maps.layers.chosen.contains(key) else { return steps }
        let guarded = members[index]?.opened([key], isFailing: error != nil, at: now).first?.member
        if counting.insert(index).inserted { schedule.add(.counts, of: index, at: now + Self.countsInterval) }
        guard let guarded else { return steps }
        return steps + fail(index, .rolloutGuard, "\(key): \(guarded.guardText)", in: .map, at: now)
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
        counting.remove(index)
        return agents[index].isReachable && members[index]?.takeOpens() == true ? [applied(index)] : []
    }

    /// What was delayed is published.
    func publishReport(_ index: Int) -> [FleetStep] { agents[index].isReachable ? documents(index) : [] }
}
