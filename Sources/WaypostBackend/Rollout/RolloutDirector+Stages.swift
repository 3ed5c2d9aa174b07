import MQTTLink
import Waypost
import WaypostFleet
import WaypostMessages

/// How a roll-out runs: begin, stages, promotion, take-back.
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

        /// Whether it can be followed while agents go back.
        fileprivate var goesWithGoingBack: Bool {
            switch self {
            case .resume, .takeBack: true
            case .start, .pause, .advance, .promote: false
            }
        }

        /// Whether more agents get the new map by it.
        fileprivate var leadsOn: Bool {
            switch self {
            case .start, .resume, .advance, .promote: true
            case .pause, .takeBack: false
            }
        }
    }

    // MARK: Beginning

    /// Begins, when all that the broker keeps was read.
    ///
    /// - Throws: ``BackendError`` of kind `notSent` when it can't be done.
    mutating func begin(_ order: Order, at now: Int64) throws(BackendError) {
        clock.last = now
        clock.settles = now
        if options.lease.quiet == 0 { clock.mayWrite = true }
        readAudit()
        if case .start(let id, let candidate, let why) = order {
            try start(id, candidate, why: why, at: now)
        } else {
            try takeOver(for: order, at: now)
        }
        fleet.keepReports(of: control?.id)
        fleet.beginStage(isFirst: true)
        evidence = RolloutEvidence(at: now)
        if case .start = order {} else { evidence.takeOver(fleet, of: control?.id, at: now) }
        chosenByStage = Array(repeating: nil, count: control?.stages.count ?? 0)
        renewLease(at: now)
        // Before all else: who watches is to know that it is steered.
        if let lease = pending.popLast() { pending.insert(lease, at: 0) }
        switch order {
        case .start: break
        case .resume: resume(at: now)
        case .pause(let why): pause(why, isWatched: false, at: now)
        case .advance: nextStage(why: "advance", at: now)
        case .takeBack(let why):
            // It may be on its way, with no controller to see it through.
            if let action = state.goBack(why) { perform(action, at: now) } else { resume(at: now) }
        case .promote: promote(why: "promote", at: now)
        }
        assert(isConsistent)
    }

    /// Looks whether the audit ends where the control document says.
    private mutating func readAudit() {
        let faults = trail.begins(after: kept.control)
        lastRead = trail.last?.number ?? 0
        if !faults.isEmpty { notices["audit"] = "the audit: \(faults.joined(separator: "; "))" }
        restoreAudit()
        guard trail.lacksLast, let control = kept.control else { return }
        // Whoever published the document ended before this.
        let entry = trail.append(
            "found", of: control, by: control.author ?? "?", why: control.why, evidence: nil, at: control.at)
        add(topics.audit(of: group, slot: entry.slot), entry.encoded())
    }

    /// The control document that begins the roll-out.
    private func firstControl(
        _ id: String, of candidate: Document, why: String?, at now: Int64
    ) throws(BackendError) -> RolloutControl {
        var first = RolloutControl(
            id: id, epoch: options.resetsOrder ? 1 : try nextEpoch(), sequence: 1, audience: "@\(group)",
            at: wall(now), base: base?.id, next: candidate.id, stages: options.stages)
        if options.resetsOrder {
            if let known = trail.last?.epoch, known < RolloutControl.highest { first.epoch = known + 1 }
            first.voids = [kept.control?.order].compactMap(\.self).filter { $0.epoch >= first.epoch }
        }
        first.entry = trail.next
        first.author = holder.name
        first.why = (why ?? "start").cut(to: RolloutControl.maximumWhy)
        first.salt = fleet.salt
        (first.include, first.exclude) = (options.include, options.exclude)
        first.spread = options.spread(among: fleet.agents.count)
        first.hold = options.heldFor
        first.silent = options.revertsWhenSilent ? .revert : .keep
        first.limit = options.limit
        return first
    }

    private mutating func start(
        _ id: String, _ candidate: Document, why: String?, at now: Int64
    ) throws(BackendError) {
        // A person who begins the orders anew knows that no controller comes to this one.
        let canBeReached = kept.control.map { !isOutOfReach($0.epoch) } ?? true
        if let running = kept.unfinished, !options.resetsOrder || canBeReached {
            throw BackendError(
                .notSent,
                "roll-out \(running.id) of @\(group) is \(running.state.rawValue)\(shell: "; see: waypost rollout status --group \(group)")"
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
        (base, next, groupMap) = (kept.base, candidate, kept.base)
        changed = ChangedURLs(from: base?.entries ?? [], to: candidate.entries)
        allowNoTrafficIfNothingChanges()
        highestRevision = max(highestRevision, revision)
        let first = try firstControl(id, of: candidate, why: why, at: now)
        var longest = first
        longest.why = String(repeating: "x", count: RolloutControl.maximumWhy)
        do throws(Failure) {
            // Nothing is begun whose documents agents would refuse.
            _ = try RolloutControl(longest.encoded())
        } catch {
            throw BackendError(.notSent, "the control document can't be read by agents: \(error.detail)")
        }
        guard state.stageBegan() else { return }
        control = first
        add(groupTopics.candidate, candidate.payload)
        add(groupTopics.control, first.encoded())
        write("start", why: why)
    }

    private mutating func takeOver(for order: Order, at now: Int64) throws(BackendError) {
        if kept.control == nil, case .takeBack = order { kept.control = forgotten }
        guard var control = kept.control else { throw BackendError(.notSent, noRollout) }
        let isGoingBack = control.state == .takingBack
        guard !control.state.isOver, !isGoingBack || order.goesWithGoingBack else {
            throw BackendError(.notSent, "roll-out \(control.id) of @\(group) is \(control.state.rawValue)")
        }
        if order.leadsOn, !isGoingBack, let map = kept.base?.id, map.digest != control.next.digest,
            map.revision ?? 0 > control.next.revision ?? 0
        {
            throw BackendError(
                .notSent,
                "another map, rev \(map.revision ?? 0), is in force in @\(group): roll-out \(control.id) can only end\(shell: ": waypost rollout take-back --group \(group)")"
            )
        }
        returnOrder = isGoingBack ? control.order : nil
        // The controller before this one is refused by the agents from now on.
        control.epoch = try nextEpoch()
        control.sequence = 0
        self.control = control
        options.stages = control.stages
        let map = kept.base
        next = kept.candidate.flatMap { $0.id.digest == control.next.digest ? $0 : nil }
        base = map.flatMap { $0.id.digest == control.base?.digest ? $0 : nil }
        let isPromoted = map?.id.digest == control.next.digest
        if isPromoted { next = next ?? map }
        let isRestored = isGoingBack && map?.id.revision ?? 0 > control.next.revision ?? 0
        groupMap = isPromoted || isRestored ? map : base
        changed = next.map { ChangedURLs(from: base?.entries ?? [], to: $0.entries) }
        allowNoTrafficIfNothingChanges()
        highestRevision = max(highestRevision, control.next.revision ?? 0)
        state.tookOver(control, isPromoted: isPromoted, isRestored: isRestored, at: now)
    }

    /// A control document by what agents say of a roll-out that the broker has forgotten: a person takes it back.
    private var forgotten: RolloutControl? {
        guard let rollout = fleet.memory?.rollout, rollout.next.digest != kept.base?.id.digest else {
            return nil
        }
        return RolloutControl(
            id: rollout.id, epoch: rollout.order.epoch, sequence: 0, audience: "@\(group)",
            at: wall(clock.last),
            base: kept.base?.id, next: rollout.next, stages: options.stages)
    }

    private var noRollout: Wording {
        guard forgotten != nil, let (rollout, agents) = fleet.memory else {
            return "there is no roll-out in @\(group)"
        }
        return
            "the broker keeps no control document of @\(group), and \(agents.counted("agent")) say to have the map of "
            + "roll-out \(rollout.id) in force; \(library: "takeRolloutBack", shell: "waypost rollout take-back --group \(group)") has them go back"
    }

    /// There is no traffic to wait for on the URLs of a map that changes none.
    private mutating func allowNoTrafficIfNothingChanges() {
        if changed?.subjects.isEmpty == true { options.allowsNoTraffic = true }
    }

    /// Goes on where another controller, or a person, stopped.
    private mutating func resume(at now: Int64) {
        switch state {
        case .restoring(let back) where groupMap?.id.digest == next?.id.digest:
            // The one before ended just before it published the map.
            perform(.restore(why: back.why), at: now)
        case .takingBack(let back), .restoring(let back): change(nil, "resume", why: back.why)
        case _ where next == nil:
            if let action = state.goBack("the broker has lost the new map") { perform(action, at: now) }
        // Also one that the control document does not tell of: another program sent the new map in the place of the old one.
        case .promoting: change(.promoting, "resume", why: nil) { $0.below = .max }
        case .paused(let pause) where pause.isPromoted: promote(why: "resume", at: now)
        default: if state.stageBegan() { change(.running, "resume", why: nil) }
        }
    }

    /// The broker has a control document.
    mutating func began(_ published: RolloutControl, at now: Int64) {
        guard let control, published.order == control.order else { return }
        switch published.state {
        case .running where published.below == 0:
            enter(from: published.stage, why: "stage \(published.stage + 1)", at: now)
        case .running:
            let chosen = fleet.agents.values.count(where: \.isChosen)
            if chosenByStage.indices.contains(published.stage) { chosenByStage[published.stage] = chosen }
        case .promoting:
            if let next, case .promoting(_, isPublished: false) = state {
                if let objection = objection(toReplacingWith: next) { return pause(objection.text, at: now) }
                add(groupTopics.map, next.payload)
                groupMap = next
                state.mapWasPublished()
            }
        case .takenBack, .done: add(groupTopics.candidate, [])
        default: break
        }
    }

    // MARK: Changes

    /// Publishes another control document, and what is to be remembered of it.
    mutating func change(
        _ word: RolloutControl.State?, _ event: String, why: String?,
        _ body: (inout RolloutControl) -> Void = { _ in }
    ) {
        guard var control else { return }
        control.sequence += 1
        control.entry = trail.next
        if let word { control.state = word }
        control.author = holder.name
        control.why = (why ?? event).cut(to: RolloutControl.maximumWhy)
        control.at = wall(clock.last)
        body(&control)
        self.control = control
        // What waits was decided before this.
        pending.removeAll { Self.isOf($0, groupTopics.control) }
        add(groupTopics.control, control.encoded())
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
            event, of: control, by: holder.name, why: why?.cut(to: RolloutControl.maximumWhy),
            evidence: numbers, at: wall(clock.last))
        add(topics.audit(of: group, slot: entry.slot), entry.encoded())
    }

    /// The next stage begins that adds an agent, from a place on; where none does, all have the map.
    private mutating func enter(from place: Int, why: String, at now: Int64) {
        guard let control else { return }
        guard
            let stage = RolloutStages(of: control, in: fleet).entry(from: place, above: control.below)
        else {
            leaveOut(place..<control.stages.count)
            return promote(why: why, at: now)
        }
        // No agent is online that could be chosen.
        guard stage.below > 0 else {
            return pause("no agent of @\(group) is online for stage \(stage.place + 1)", at: now)
        }
        guard state.stageBegan() else { return }
        leaveOut(place..<stage.place)
        change(.running, "stage", why: why) {
            $0.stage = stage.place
            $0.below = stage.below
        }
        // Those that are chosen from now on are no control group any more.
        fleet.beginStage(isFirst: false)
        evidence.nextStage(at: now)
    }

    private mutating func leaveOut(_ places: Range<Int>) {
        for place in places.clamped(to: chosenByStage.indices) { chosenByStage[place] = 0 }
    }

    mutating func nextStage(why: String, at now: Int64) {
        guard let control else { return }
        stageEnds(at: now)
        if state.isPromoted {
            promote(why: why, at: now)
        } else {
            enter(from: control.stage + 1, why: why, at: now)
        }
    }

    /// - Parameter isWatched: Whether the gates go on: a breach still takes it back.
    mutating func pause(_ why: String, isWatched: Bool = true, at now: Int64) {
        if state.pauseBegan(why, isWatched: isWatched, at: now) { change(.paused, "pause", why: why) }
    }

    /// Does what follows from what happened.
    private mutating func perform(_ action: RolloutState.Action, at now: Int64) {
        switch action {
        case .pause(let why): pause(why, at: now)
        case .takeBack(let why):
            guard state.returnBegan(why, at: now) else { return }
            fleet.awaitReturn()
            change(.takingBack, "take-back", why: why) { $0.below = 0 }
            returnOrder = control?.order
        case .restore(let why): restore(why, at: now)
        }
    }

    mutating func promote(why: String, at now: Int64) {
        guard next != nil else { return pause("the broker has lost the new map; start again", at: now) }
        guard state.promotionBegan(at: now) else { return }
        change(.promoting, "promote", why: why) {
            $0.below = .max
            $0.stage = max(0, $0.stages.count - 1)
        }
    }

    /// Sends the entries of the map before under a revision above all that were published.
    private mutating func restore(_ why: String, at now: Int64) {
        if let revision = control?.base?.revision, base == nil {
            return state.ends(
                .paused(why: "\(why); the map before, rev \(revision), is not known here: send it again"))
        }
        guard highestRevision < Fields.largestInteger else {
            return state.ends(.paused(why: "\(why); no rev is above that of the map in force"))
        }
        if let obstacle = obstacleToSigning { return state.ends(.paused(why: "\(why); \(obstacle)")) }
        guard let payload = mapBefore, let map = Document(payload) else {
            return state.ends(.paused(why: "\(why); the map before can't be signed"))
        }
        guard state.returnBegan(why, at: now) else { return }
        highestRevision += 1
        // In this order: one who goes on from here sees that the map is not there yet.
        change(.takingBack, "restore", why: why) { $0.below = 0 }
        add(groupTopics.map, payload)
        groupMap = map
    }

    /// Why the map before can't be sent again as a new document; nil where it can.
    private var obstacleToSigning: String? {
        guard let signer else {
            return base?.isSigned ?? next?.isSigned ?? false
                ? "the map before is signed, and can't be sent again without a key to sign it" : nil
        }
        guard let refusal = base?.refusal(by: signer, in: group) else { return nil }
        return "the map before must not be signed again by \(signer.id), \(refusal.code): \(refusal.detail)"
    }

    /// The entries of the map before under the next revision; nil when OpenSSL does not sign.
    private var mapBefore: [UInt8]? {
        let map = MapDocument.map(
            id: "restore-\(control?.id ?? "")", revision: highestRevision + 1,
            entries: .array((base?.entries ?? []).map(\.json)), by: holder.name)
        guard let signer else { return map }
        return try? Relocation(document: map, .map).signed(by: signer, for: .group(group)).payload
    }

    // MARK: Time

    /// Decides what the time and the evidence call for.
    mutating func advance(to now: Int64) {
        advanceClock(to: now)
        guard clock.isConnected, outcome == nil else { return }
        checkLease(at: now)
        if let heard = clock.leaseHeard, now - heard >= options.lease.quiet { clock.mayWrite = true }
        guard pending.isEmpty else { return }
        if let control { decide(control, at: now) }
        if pending.isEmpty { state.allWasPublished() }
        assert(isConsistent)
    }

    private mutating func decide(_ control: RolloutControl, at now: Int64) {
        if state.isWatching, !isStandingStill(at: now) {
            let gates = RolloutGates(
                evidence: evidence, fleet: fleet, control: control, options: options, now: now)
            if let worst = gates.worst, let action = state.breached(worst) {
                return perform(action, at: now)
            }
            if case .steering = state { return steer(control, gates, at: now) }
        }
        switch state {
        case .steering: standStill(control, at: now)
        case .paused(let pause): watch(pause, control, at: now)
        case .promoting(let since, isPublished: true): finishPromoting(since, control, at: now)
        case .takingBack(let back): finish(back, fleet.notBack(since: returnOrder), control, at: now)
        case .restoring(let back): finish(back, fleet.names(on: control.next), control, at: now)
        case .tail(let since) where now - since >= options.tail.milliseconds: state.ends(.done)
        case .promoting, .tail, .reading, .ending, .ended: break
        }
    }

    func gates(at now: Int64) -> [RolloutStatus.Gate] {
        guard let control else { return [] }
        return RolloutGates(
            evidence: evidence, fleet: fleet, control: control, options: options, now: now
        ).all
    }

    /// A stage in which no gate broke.
    private mutating func steer(_ control: RolloutControl, _ gates: RolloutGates, at now: Int64) {
        let canaries = evidence.takeCanaries(fleet)
        if !canaries.isEmpty { pending.append(.ask(agents: canaries)) }
        let late = gates.elapsed - control.spread
        if late >= Self.pauseOfHealing, gates.areReportsMissing { sendCandidateAgain(after: late, at: now) }
        if gates.elapsed >= options.dwell(of: control.stage) {
            if gates.areConclusive { return nextStage(why: "stage \(control.stage + 1) passed", at: now) }
            if gates.elapsed >= options.patience(of: control.stage) + options.grace + control.spread {
                return pause(gates.doubts, at: now)
            }
        }
        keepAlive(control, at: now)
    }

    /// The network changes, and not the map; that it does so for very long is for a person to look at.
    private mutating func standStill(_ control: RolloutControl, at now: Int64) {
        if clock.still > options.standstill, let why = standstill(at: now) {
            return pause("\(why), for \(TimeText.span(clock.still))", at: now)
        }
        keepAlive(control, at: now)
    }

    /// Agents that hear nothing for too long go back, or stay as they are for ever.
    private mutating func keepAlive(_ control: RolloutControl, at now: Int64) {
        guard let hold = control.hold, now - clock.controlPublished > hold / 3 else { return }
        var next = control
        next.sequence += 1
        self.control = next
        clock.controlPublished = now
        add(groupTopics.control, next.encoded())
    }

    /// A pause lasts as long as agents have the new map, or may have it: a breach still takes it back.
    private mutating func watch(_ pause: RolloutState.Pause, _ control: RolloutControl, at now: Int64) {
        let counts = fleet.counts
        let time = now - pause.since
        let mayComeYet = counts.silent > 0 && time <= options.grace + control.spread
        let isOnNext = counts.onNext > 0 || mayComeYet || evidence.isWaitingForLost(at: now, options.grace)
        guard pause.isWatched, isOnNext, options.pauseLimit.map({ time < $0.milliseconds }) ?? true else {
            return state.ends(.paused(why: pause.why))
        }
        keepAlive(control, at: now)
    }

    /// How long agents may take to say what they have in force.
    private func patience(_ control: RolloutControl) -> Int64 { options.grace + control.spread }

    /// - Parameter missing: The agents that have not said that they are back.
    private mutating func finish(
        _ back: RolloutState.Return, _ missing: [String], _ control: RolloutControl, at now: Int64
    ) {
        let time = now - back.since
        guard !missing.isEmpty else {
            let text = time < 10_000 ? "\(time / 1_000).\(time % 1_000 / 100) s" : TimeText.span(time)
            // Why it was taken back stays with it.
            change(.takenBack, "taken-back", why: "\(back.why); all back after \(text)")
            return state.ends(.takenBack(why: back.why))
        }
        guard time > patience(control) else { return }
        let who = "\(missing.count.counted("agent")) did not say to be back: \(Self.names(missing))"
        // Who goes on from here has the reason, and looks who is missing by itself.
        change(nil, "unconfirmed", why: "\(back.why); \(who)") { $0.why = back.why }
        state.ends(.paused(why: "\(who); it is being taken back: \(back.why)"))
    }

    private mutating func finishPromoting(_ since: Int64, _ control: RolloutControl, at now: Int64) {
        let missing = fleet.names(notOn: control.next, at: now)
        let online = fleet.counts.online
        let found = "\(online - missing.count) of \(online.counted("agent"))"
        guard !missing.isEmpty else {
            state.promotionEnded(at: now)
            return change(.done, "done", why: found)
        }
        let late = now - since - 10 * patience(control)
        guard late > 0 else { return keepAlive(control, at: now) }
        let why = "\(found) say that they have the map; not \(Self.names(missing))"
        guard missing.count * 20 <= online else { return pause(why, at: now) }
        // What one does not say ends no watch over the others.
        guard late > options.tail.milliseconds else { return keepAlive(control, at: now) }
        change(nil, "unconfirmed", why: why)
        state.ends(.paused(why: "promoted, and \(why)"))
    }

    /// A few of them, and how many more there are.
    private static func names(_ agents: [String]) -> String {
        let shown = agents.sorted().prefix(20).joined(separator: ", ")
        return shown + (agents.count > 20 ? " and \(agents.count - 20) more" : "")
    }

    // MARK: The lease

    private mutating func checkLease(at now: Int64) {
        if let since = clock.leaseUnseen, now - since > options.lease.echo {
            // If our own lease does not come back, we would miss another controller's too.
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
        add(groupTopics.lease, lease.encoded())
    }

    // MARK: What it looks like

    /// What others can see of it: nil while the broker does not have the control document that it tells of.
    func publishedStatus(at now: Int64) -> RolloutStatus? {
        isPending(groupTopics.control) ? nil : status(at: now)
    }

    func status(at now: Int64) -> RolloutStatus? {
        guard let control else { return nil }
        var status = RolloutStatus(control, group: group)
        status.holder = holder.name
        status.stages = control.stages.enumerated().map { index, stage in
            RolloutStatus.Stage(
                name: stage.description,
                agents: chosenByStage.indices.contains(index) ? chosenByStage[index] : nil)
        }
        let counts = fleet.counts
        (status.online, status.chosen, status.onNext) = (counts.online, counts.chosen, counts.onNext)
        (status.notOnNext, status.missing) = (counts.notOnNext, fleet.fewMissing)
        status.gates = gates(at: now)
        status.standstill = standstill(at: now)
        (status.notices, status.unkept) = (notices.sentences, unkept)
        if control.state == .running {
            let elapsed = now - evidence.began - evidence.standstill
            status.remaining = max(0, options.dwell(of: control.stage) - elapsed)
        }
        if case .tail(let since) = state {
            status.remaining = max(0, options.tail.milliseconds - (now - since))
        }
        return status
    }
}
