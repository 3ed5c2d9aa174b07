import MQTTLink
import Waypost
package import WaypostMessages

/// The way of a roll-out from its start to its end.
extension RolloutDirector {
    /// What an operator wants done.
    package enum Order: Sendable, Hashable {
        /// Begin with this map.
        case start(id: String, Document, why: String?)
        /// Go on where it is.
        case resume
        /// Stop here.
        case pause(why: String)
        /// Go on to the next stage, whatever the gates say.
        case advance
        /// Back to the map before.
        case takeBack(why: String)
        /// To all agents, whatever the gates say.
        case promote
    }

    // MARK: Beginning

    /// Begins, when all that the broker keeps was read.
    ///
    /// - Throws: ``BackendError`` of kind `notSent` when it can't be done.
    package mutating func begin(_ order: Order, at now: Int64) throws(BackendError) {
        clock.last = now
        clock.settles = now
        if case .start(let id, let candidate, let why) = order {
            try start(id, candidate, why: why, at: now)
        } else {
            try takeOver(at: now)
        }
        fleet.keepReports(of: control?.id)
        evidence = RolloutEvidence(fleet, control, at: now)
        if case .start = order {} else { evidence.takeOver(fleet, of: control?.id, at: now) }
        chosenByStage = Array(repeating: nil, count: control?.stages.count ?? 0)
        renewLease(at: now)
        // Before all else: who watches is to know that it is steered.
        if let lease = pending.popLast() { pending.insert(lease, at: 0) }
        switch order {
        case .start: break
        case .resume where control?.state.hasCandidate == true && next == nil:
            takeBack("the broker has lost the new map", at: now)
        case .resume: change(control?.state == .paused ? .running : nil, "resume", why: nil)
        case .pause(let why): pause(why)
        case .advance: nextStage(why: "advance", at: now)
        case .takeBack(let why): takeBack(why, at: now)
        case .promote: promote(why: "promote")
        }
    }

    private mutating func start(
        _ id: String, _ candidate: Document, why: String?, at now: Int64
    ) throws(BackendError) {
        if let running = kept.control, !running.state.isOver {
            throw BackendError(
                .notSent,
                "roll-out \(running.id) of @\(group) is \(running.state.rawValue); see: waypost rollout status --group \(group)"
            )
        }
        guard kept.control?.id != id else {
            throw BackendError(
                .notSent, "the id \(id) was used for the last roll-out of @\(group); use another one")
        }
        guard let revision = candidate.id.revision, revision > kept.base?.id.revision ?? 0 else {
            throw BackendError(
                .notSent,
                "the map needs a rev above \(kept.base?.id.revision ?? 0), which is in force in @\(group)")
        }
        (base, next) = (kept.base, candidate)
        changed = ChangedURLs(from: base?.entries ?? [], to: candidate.entries)
        needNoTrafficOnNothing()
        highestRevision = max(highestRevision, revision)
        var first = RolloutControl(
            id: id, epoch: highestEpoch + 1, sequence: 1, audience: "@\(group)", at: wall(now),
            base: base?.id, next: candidate.id, stages: options.stages)
        first.author = holder.name
        first.why = why ?? "start"
        first.salt = fleet.salt
        (first.include, first.exclude) = (options.include, options.exclude)
        first.spread = options.spread(among: fleet.agents.count)
        first.hold = options.heldFor
        first.silent = options.revertsWhenSilent ? .revert : .keep
        first.limit = options.limit
        control = first
        add(topics.candidate(of: group), candidate.payload)
        add(topics.rollout(of: group), first.encoded())
        write("start", why: why)
    }

    private mutating func takeOver(at now: Int64) throws(BackendError) {
        guard var control = kept.control else {
            throw BackendError(.notSent, "there is no roll-out in @\(group)")
        }
        guard !control.state.isOver else {
            throw BackendError(.notSent, "roll-out \(control.id) of @\(group) is \(control.state.rawValue)")
        }
        // The controller before this one is refused by the agents from now on.
        control.epoch = highestEpoch + 1
        self.control = control
        options.stages = control.stages
        next = kept.candidate.flatMap { $0.id.digest == control.next.digest ? $0 : nil }
        base = kept.base.flatMap { $0.id.digest == control.base?.digest ? $0 : nil }
        isPromoted = kept.base?.id.digest == control.next.digest
        if isPromoted { next = next ?? kept.base }
        changed = next.map { ChangedURLs(from: base?.entries ?? [], to: $0.entries) }
        needNoTrafficOnNothing()
        highestRevision = max(highestRevision, control.next.revision ?? 0)
    }

    /// There is no traffic to wait for on the URLs of a map that changes none.
    private mutating func needNoTrafficOnNothing() {
        if changed?.subjects.isEmpty == true { options.allowsNoTraffic = true }
    }

    /// The broker has a control document.
    mutating func began(_ published: RolloutControl, at now: Int64) {
        guard let control, published.order == control.order else { return }
        switch published.state {
        case .running where published.below == 0:
            enter(published.stage, why: "stage \(published.stage + 1)", at: now)
        case .running:
            let chosen = fleet.agents.count { published.chooses($0.key, $0.value.number) }
            if chosenByStage.indices.contains(published.stage) { chosenByStage[published.stage] = chosen }
        case .promoting:
            if let next, !isPromoted {
                add(topics.map(of: .group(group)), next.payload)
                isPromoted = true
            }
        case .takenBack, .done: add(topics.candidate(of: group), [])
        default: break
        }
    }

    // MARK: Changes

    /// Publishes another control document, and what is to be remembered of it.
    mutating func change(
        _ state: RolloutControl.State?, _ event: String, why: String?,
        _ body: (inout RolloutControl) -> Void = { _ in }
    ) {
        guard var control else { return }
        control.sequence += 1
        if let state { control.state = state }
        control.author = holder.name
        control.why = why ?? event
        control.at = wall(clock.last)
        body(&control)
        self.control = control
        // What waits was decided before this.
        pending.removeAll { Self.isOf($0, topics.rollout(of: group)) }
        add(topics.rollout(of: group), control.encoded())
        write(event, why: why)
    }

    static func isOf(_ step: Step, _ topic: String) -> Bool {
        if case .publish(let message) = step { message.topic == topic } else { false }
    }

    private mutating func write(_ event: String, why: String?) {
        guard let control else { return }
        let gates = gates(at: clock.last)
        let numbers: JSONValue = [
            "stage": .int(Int64(control.stage)), "below": .string(RolloutHash.text(control.below)),
            "e": .double((evidence.value * 100).rounded() / 100),
            "gates": .array(gates.map(\.json)),
        ]
        let entry = trail.append(
            event, of: control, by: holder.name, why: why, evidence: numbers, at: wall(clock.last))
        add(topics.audit(of: group, slot: entry.slot), entry.encoded())
    }

    mutating func enter(_ stage: Int, why: String, at now: Int64) {
        guard let control, control.stages.indices.contains(stage) else { return }
        let numbers = fleet.numbers(without: control.exclude)
        let below = max(control.below, control.stages[stage].below(online: numbers))
        change(.running, "stage", why: why) {
            $0.stage = stage
            $0.below = below
        }
        // Those that are chosen from now on are no control group any more.
        if let control = self.control { evidence.nextStage(fleet, control, at: now) }
    }

    mutating func nextStage(why: String, at now: Int64) {
        guard let control else { return }
        stageEnds(at: now)
        if control.stage + 1 < control.stages.count {
            enter(control.stage + 1, why: why, at: now)
        } else {
            promote(why: why)
        }
    }

    mutating func pause(_ why: String) {
        guard control?.state == .running || control?.state == .promoting else { return }
        change(.paused, "pause", why: why)
    }

    package mutating func takeBack(_ why: String, at now: Int64) {
        guard let control, !control.state.isOver, control.state != .takingBack else { return }
        breach = now
        if isPromoted {
            // Agents have no other map any more: the one before comes again under a higher revision.
            restore(why, at: now)
        } else {
            change(.takingBack, "take-back", why: why) { $0.below = 0 }
        }
    }

    mutating func promote(why: String) {
        guard next != nil else { return pause("the broker has lost the new map; start again") }
        change(.promoting, "promote", why: why) {
            $0.below = .max
            $0.stage = max(0, $0.stages.count - 1)
        }
    }

    /// Sends the entries of the map before under a revision above all that were seen.
    private mutating func restore(_ why: String, at now: Int64) {
        guard let map = mapBefore else {
            outcome = .paused(
                why: "\(why); the map before is signed, and can't be sent again without --sign-key")
            return
        }
        highestRevision += 1
        add(topics.map(of: .group(group)), map)
        change(.takenBack, "restore", why: why) { $0.below = 0 }
        restored = Document(map)
        outcomeAfterPublishing = .takenBack(why: why)
    }

    /// The entries of the map before under the next revision; nil when it must be signed and there is no key.
    private var mapBefore: [UInt8]? {
        let map = MapDocument.map(
            id: "restore-\(control?.id ?? "")", revision: highestRevision + 1,
            entries: .array((base?.entries ?? []).map(\.json)), by: holder.name)
        guard let signer else { return base?.isSigned ?? next?.isSigned ?? false ? nil : map }
        return try? Relocation(document: map, .map).signed(by: signer, for: .group(group)).payload
    }

    // MARK: Time

    /// Decides what the time and the evidence call for.
    package mutating func advance(to now: Int64) {
        advanceClock(to: now)
        guard clock.isConnected, outcome == nil else { return }
        checkLease(at: now)
        if let end = outcomeAfterPublishing, pending.isEmpty { outcome = end }
        guard outcome == nil, pending.isEmpty, let control else { return }
        switch control.state {
        case .running: run(control, at: now)
        case .takingBack: finishTakingBack(control, at: now)
        case .promoting: finishPromoting(control, at: now)
        case .done: watchTail(at: now)
        case .paused: outcome = .paused(why: control.why ?? "paused")
        case .takenBack: outcome = .takenBack(why: control.why ?? "taken back")
        default: break
        }
    }

    package func gates(at now: Int64) -> [RolloutStatus.Gate] {
        guard let control else { return [] }
        return RolloutGates(
            evidence: evidence, fleet: fleet, control: control, options: options, now: now
        ).all
    }

    private mutating func run(_ control: RolloutControl, at now: Int64) {
        guard !isStandingStill(at: now) else { return }
        let gates = RolloutGates(
            evidence: evidence, fleet: fleet, control: control, options: options, now: now)
        let breaches = gates.all.filter { $0.verdict == .breach }
        if let worst = breaches.first(where: { $0.consequence == .takeBack }) {
            return takeBack("\(worst.name): \(worst.found); the limit is \(worst.limit)", at: now)
        }
        if let breach = breaches.first {
            return pause("\(breach.name): \(breach.found); the limit is \(breach.limit)")
        }
        askCanaries(control)
        let late = gates.elapsed - control.spread
        if late >= Self.pauseOfHealing, gates.areReportsMissing { sendCandidateAgain(after: late, at: now) }
        let dwell = options.dwell(of: control.stage)
        if gates.elapsed >= dwell {
            if gates.areConclusive { return nextStage(why: "stage \(control.stage + 1) passed", at: now) }
            if gates.elapsed >= options.patience(of: control.stage) + options.grace + control.spread {
                let silent = gates.all.filter { $0.verdict == .inconclusive }.map(\.name)
                return pause(
                    "inconclusive: \(silent.joined(separator: ", ")); is there traffic on the changed URLs?")
            }
        }
        keepAlive(control, at: now)
    }

    /// Agents that hear nothing for too long go back, or stay as they are for ever.
    private mutating func keepAlive(_ control: RolloutControl, at now: Int64) {
        guard let hold = control.hold, now - clock.controlPublished > hold / 3 else { return }
        guard var next = self.control else { return }
        next.sequence += 1
        self.control = next
        clock.controlPublished = now
        add(topics.rollout(of: group), next.encoded())
    }

    private mutating func askCanaries(_ control: RolloutControl) {
        guard !hasAsked, !evidence.applied.isEmpty else { return }
        hasAsked = true
        pending.append(.ask(agents: Array(evidence.applied.keys.sorted().prefix(3))))
    }

    /// Online agents that said of this roll-out that the candidate is in force, and have not said otherwise.
    private var stillOnNext: Int {
        fleet.agents.values.count { $0.isOnline && $0.report?.place == .next }
    }

    private mutating func finishTakingBack(_ control: RolloutControl, at now: Int64) {
        let left = stillOnNext
        if left == 0 {
            recovered = recovered ?? now
        } else if now - (breach ?? clock.controlPublished) <= options.grace + control.spread {
            return
        }
        let back = breach.map { (recovered ?? now) - $0 }.map { time in
            let text = time < 10_000 ? "\(time / 1_000).\(time % 1_000 / 100) s" : TimeText.span(time)
            return "all back after \(text)"
        }
        let end = left == 0 ? back : "\(left.counted("agent")) did not say so"
        // Why it was taken back stays with it.
        let why = [control.why, end].compactMap(\.self).joined(separator: "; ")
        change(.takenBack, "taken-back", why: why)
        outcomeAfterPublishing = .takenBack(why: control.why ?? "taken back")
    }

    private mutating func finishPromoting(_ control: RolloutControl, at now: Int64) {
        let online = fleet.agents.values.filter(\.isOnline)
        let there = online.count { $0.map?.digest == control.next.digest }
        guard there * 100 >= online.count * 95 else {
            let limit = 10 * (options.grace + control.spread)
            if now - clock.controlPublished > limit {
                pause("only \(there) of \(online.count) agents say that they have the map")
            }
            return
        }
        change(.done, "done", why: "\(there) of \(online.count) agents")
        clock.done = now
    }

    /// A breach in the tail takes the map back that is in force.
    private mutating func watchTail(at now: Int64) {
        guard let done = clock.done, now - done < options.tail.milliseconds, let control else {
            outcome = .done
            return
        }
        let gates = RolloutGates(
            evidence: evidence, fleet: fleet, control: control, options: options, now: now)
        guard !isStandingStill(at: now),
            let worst = gates.all.first(where: { $0.verdict == .breach && $0.consequence == .takeBack })
        else { return }
        breach = now
        restore("\(worst.name): \(worst.found); the limit is \(worst.limit)", at: now)
    }

    // MARK: The lease

    private mutating func checkLease(at now: Int64) {
        if let since = clock.leaseUnseen, now - since > options.lease.echo {
            // One that can't hear itself can't hear another.
            clock.isConnected = false
            return
        }
        guard now - (clock.leasePublished ?? .min / 2) >= options.lease.renewal else { return }
        renewLease(at: now)
    }

    mutating func renewLease(at now: Int64) {
        guard var lease else { return }
        lease.status = status(at: now)?.json
        clock.leasePublished = now
        clock.leaseUnseen = clock.leaseUnseen ?? now
        // What people watch must not push out what agents wait for.
        add(topics.lease(of: group), lease.encoded())
    }

    // MARK: What it looks like

    package func status(at now: Int64) -> RolloutStatus? {
        guard let control else { return nil }
        var status = RolloutStatus(control, group: group)
        status.holder = holder.name
        status.stages = control.stages.enumerated().map { index, stage in
            RolloutStatus.Stage(
                name: stage.description,
                agents: chosenByStage.indices.contains(index) ? chosenByStage[index] : nil)
        }
        for (name, agent) in fleet.agents where agent.isOnline {
            status.online += 1
            let isOnNext = agent.report?.place == .next
            if isOnNext { status.onNext += 1 }
            guard control.chooses(name, agent.number) else { continue }
            status.chosen += 1
            if !isOnNext { status.notOnNext[agent.report?.reason.rawValue ?? "silent", default: 0] += 1 }
        }
        status.gates = gates(at: now)
        status.standstill = standstill(at: now)
        if control.state == .running {
            let elapsed = now - evidence.began - evidence.standstill
            status.remaining = max(0, options.dwell(of: control.stage) - elapsed)
        }
        return status
    }
}

extension RolloutStatus {
    /// What a control document alone says.
    package init(_ control: RolloutControl, group: String) {
        self.init(id: control.id, group: group, state: control.state.rawValue)
        base = control.base?.revision
        next = control.next.revision
        stages = control.stages.map { Stage(name: $0.description) }
        stage = control.stage
        author = control.author
        why = control.why
        changed = control.at
    }
}
