import MQTTLink
import Synchronization
import Threading
import Waypost
import WaypostMessages

/// Roll-outs: a group's candidate in the place of its map, where the control document chooses this agent.
extension RelocationMaps {
    /// What is known of the roll-outs of this agent's groups; behind the lock of the maps.
    struct Rollouts: Sendable {
        /// By the key of the layer.
        var members: [String: RolloutMember] = [:]
        /// The candidates that did not fit here, by layer: their digests, and why.
        var unfit: [String: Unfit] = [:]
        /// The URLs that the candidates in force change.
        var changed: [String: ChangedURLs] = [:]
        /// What was reported last, without the counts.
        var reported: [RolloutReport] = []
        /// How many opens were reported.
        var reportedOpens: Int64 = 0
        /// The groups to whose candidates the link is subscribed.
        var subscribed: Set<String> = []
        /// Until when a retained map is waited for, on the monotonic clock.
        var awaitsMap: Int64?
    }

    /// A candidate that is not put in force here.
    struct Unfit: Sendable {
        var digest: [UInt8]
        /// Whether it may fit when other maps or the routes change.
        var dependsOnOthers: Bool
    }

    /// How long a retained map may take with a new session, in milliseconds.
    private static let patience: Int64 = 5_000

    private func storedKey(_ key: String) -> String { "rollout/\(key)" }

    // MARK: Documents

    /// Takes a control document; false when it can't be stored.
    func takeControl(_ message: MQTTMessage, of key: String, for audience: Audience) -> Bool {
        guard !message.payload.isEmpty else { return noteEmpty(message) }
        let now = clock.monotonic()
        let digest = SHA256.label(SHA256.digest(of: message.payload))
        do throws(Failure) {
            let control = try RolloutControl(message.payload)
            var member = state.withLock { $0.rollouts.members[key] } ?? RolloutMember(agent: agent)
            let taken = try member.take(control, for: audience, digest: digest, at: now)
            if taken == .new {
                let stored = member.stored
                do throws(StoreError) {
                    try store.commit { try $0.setText(storedKey(key), stored) }
                } catch {
                    return false
                }
                let next = control.stage + 1
                reporter.log(
                    .info, "Map",
                    "roll-out \(control.id) of \(key): \(control.state.rawValue), stage \(next) of "
                        + "\(max(next, control.stages.count)), \(control.chooses(agent) ? "chosen" : "not chosen")"
                )
            }
            // Again, and not the copy: opens are counted meanwhile.
            state.withLock { state in
                _ = try? state.rollouts.members[key, default: RolloutMember(agent: agent)]
                    .take(control, for: audience, digest: digest, at: now)
            }
        } catch {
            reporter.failed(
                error.code, "control document of \(key) refused: \(error.detail)", in: .map)
            return true
        }
        decide(delayed: true)
        return true
    }

    /// Takes a candidate; false when it can't be stored.
    func takeCandidate(_ message: MQTTMessage, of key: String, for audience: Audience, at now: Int64) -> Bool
    {
        guard !message.payload.isEmpty else { return noteEmpty(message) }
        let digest = SHA256.digest(of: message.payload)
        let (member, layers) = state.withLock { ($0.rollouts.members[key], $0.layers) }
        let place = MapRecord.candidateKey(of: key)
        guard let control = member?.control, control.state.hasCandidate, control.chooses(agent),
            layers.stored[place]?.digest != digest || layers.stored[place]?.isDamaged == true
        else {
            reporter.log(.debug, "Map", "\(message.topic): not needed here")
            return true
        }
        var next = layers
        var revision: Int64?
        do throws(Failure) {
            guard SHA256.label(digest) == control.next.digest else {
                throw Failure(
                    .equivocation,
                    "the candidate of \(key) is not the document that roll-out \(control.id) names")
            }
            let document = try MapDocument(message.payload, isPatch: false, rules)
            revision = document.revision
            try next.takeCandidate(
                document, of: key, for: audience, digest: digest, bytes: message.payload.count,
                by: author(of: document), at: now, isClockCorrect: clockMonitor.isCorrect(at: now))
            if let refusal = store.disk.refusal { throw refusal }
        } catch {
            refuse(
                AppliedMap.Refused(
                    layer: key, revision: revision, digest: SHA256.label(digest), code: error.code,
                    detail: error.detail, at: now), error, on: message.topic)
            state.withLock { $0.rollouts.unfit[key] = Unfit(digest: digest, dependsOnOthers: false) }
            decide(delayed: true)
            return true
        }
        do throws(StoreError) {
            try commit(next, at: now)
        } catch {
            return false
        }
        state.withLock { state in
            state.layers = next
            state.rollouts.unfit[key] = nil
        }
        decide(delayed: true)
        return true
    }

    private func noteEmpty(_ message: MQTTMessage) -> Bool {
        reporter.log(.info, "Map", "an empty payload on \(message.topic) changes nothing")
        return true
    }

    // MARK: In force

    /// The layers in whose place the candidate lies, as far as the control documents go.
    func chosen(_ layers: MapLayers, _ rollouts: Rollouts, at now: Int64) -> [String: RolloutMember.Choice] {
        rollouts.members.reduce(into: [:]) { choices, element in
            let (key, member) = element
            let candidate = layers.stored[MapRecord.candidateKey(of: key)]
            let digest = candidate.flatMap { $0.isDamaged ? nil : $0.digest }
            let refused = rollouts.unfit[key]?.digest
            let wanted = member.control?.next.digest
            choices[key] = member.choice(
                base: layers.mapID(of: key), candidate: digest.map(SHA256.label),
                isRefused: refused != nil && refused.map(SHA256.label) == wanted, at: now)
        }
    }

    /// Puts in force what the control documents choose, as far as it fits, and reports what has changed.
    ///
    /// - Parameter delayed: Whether reports are spread: many agents change at once.
    func decide(delayed: Bool) {
        let now = clock.monotonic()
        var (layers, rollouts) = state.withLock { ($0.layers, $0.rollouts) }
        guard !rollouts.members.isEmpty else { return }
        // A candidate that did not fit beside others may fit now.
        rollouts.unfit = rollouts.unfit.filter { !$0.value.dependsOnOthers }
        let before = layers.chosen
        let choices = chosen(layers, rollouts, at: now)
        let wanted = layers.keysInOrder.filter { choices[$0]?.isCandidateInForce == true }
        var compiled: CompiledRelocation?
        if Set(wanted) != before {
            layers.chosen = []
            for key in wanted {
                layers.chosen.insert(key)
                do throws(RelocationError) {
                    compiled = try compile(layers)
                } catch {
                    layers.chosen.remove(key)
                    refuseCandidate(of: key, Failure(error), layers, &rollouts)
                }
            }
            if layers.chosen.isEmpty { compiled = try? compile(layers) as CompiledRelocation }
            guard compiled != nil || layers.chosen == before else { return }
        }
        rollouts.changed = changes(of: layers, rollouts)
        state.withLock { state in
            (state.rollouts.unfit, state.rollouts.changed) = (rollouts.unfit, rollouts.changed)
            isWatching.store(!rollouts.changed.isEmpty, ordering: .relaxed)
        }
        if layers.chosen != before, let compiled {
            install(layers, compiled, after: nil)
            let changed = layers.chosen.symmetricDifference(before).sorted().map {
                "\(layers.chosen.contains($0) ? "candidate" : "base") of \($0) in force"
            }
            reporter.log(.info, "Map", changed.joined(separator: ", "))
        }
        dropCandidates()
        report(delayed: delayed)
        subscribe()
    }

    /// Forgets candidates that no control document names any more.
    private func dropCandidates() {
        var (layers, members) = state.withLock { ($0.layers, $0.rollouts.members) }
        let stale = members.keys.filter { key in
            let place = MapRecord.candidateKey(of: key)
            guard let record = layers.stored[place], !layers.chosen.contains(key) else { return false }
            let next = members[key]?.control?.next.digest
            return members[key]?.control?.state.isOver != false || SHA256.label(record.digest) != next
                || layers.mapID(of: key)?.digest == next
        }
        guard !stale.isEmpty else { return }
        for key in stale { layers.stored[MapRecord.candidateKey(of: key)] = nil }
        // What stays on a full disk is dropped the next time.
        guard (try? commit(layers, at: clock.wall())) != nil else { return }
        state.withLock { $0.layers = layers }
    }

    private func refuseCandidate(
        of key: String, _ failure: Failure, _ layers: MapLayers, _ rollouts: inout Rollouts
    ) {
        guard let record = layers.stored[MapRecord.candidateKey(of: key)] else { return }
        let isNew = state.withLock { $0.rollouts.unfit[key]?.digest != record.digest }
        rollouts.unfit[key] = Unfit(digest: record.digest, dependsOnOthers: true)
        guard isNew else { return }
        refuse(
            AppliedMap.Refused(
                layer: key, revision: record.revision, digest: SHA256.label(record.digest),
                code: failure.code, detail: failure.detail, at: clock.wall()), failure,
            on: "the candidate of \(key)")
    }

    private func changes(of layers: MapLayers, _ rollouts: Rollouts) -> [String: ChangedURLs] {
        layers.chosen.reduce(into: [:]) { changed, key in
            let next = layers.stored[MapRecord.candidateKey(of: key)]
            if let known = rollouts.changed[key], state.withLock({ $0.layers.chosen.contains(key) }) {
                changed[key] = known
                return
            }
            let base = layers.stored[key].flatMap { $0.isEmptied ? nil : $0.readEntries } ?? []
            changed[key] = ChangedURLs(from: base, to: next?.readEntries ?? [])
        }
    }

    /// How long reports wait.
    private func delay(_ rollouts: Rollouts) -> Int64 {
        rollouts.members.values.compactMap { $0.control?.delay(of: agent) }.max() ?? 0
    }

    /// Publishes what the roll-outs have come to, when that is not what was said before.
    private func report(delayed: Bool) {
        let now = clock.monotonic()
        let wait = state.withLock { state -> Int64? in
            let reports = Self.reports(state, self.chosen(state.layers, state.rollouts, at: now))
            let isNew = reports.map(\.withoutCounts) != state.rollouts.reported
            state.applied.rollouts = reports
            state.rollouts.reported = reports.map(\.withoutCounts)
            return isNew ? (delayed ? delay(state.rollouts) : 0) : nil
        }
        if let wait { onChange(wait) }
    }

    private static func reports(
        _ state: State, _ choices: [String: RolloutMember.Choice]
    ) -> [RolloutReport] {
        state.layers.keysInOrder.compactMap { key in
            guard let member = state.rollouts.members[key], var choice = choices[key] else { return nil }
            // It is about to be put in force, or to be found unfit beside another: until then it is neither.
            if choice.isCandidateInForce, !state.layers.chosen.contains(key) { choice = .base(.chosen) }
            return member.report(choice)
        }
    }

    /// The reports with the counts of now.
    var rolloutReports: [RolloutReport] {
        let now = clock.monotonic()
        return state.withLock { state in
            guard !state.rollouts.members.isEmpty else { return [] }
            return Self.reports(state, chosen(state.layers, state.rollouts, at: now))
        }
    }

    // MARK: The link

    /// Sets what subscribes to the candidates of groups, and gives that up.
    func connect(subscriptions: @escaping @Sendable (_ groups: [String], _ isWanted: Bool) -> Void) {
        onSubscriptions.set { subscriptions($0.groups, $0.isWanted) }
    }

    /// Subscribes to the candidates that are chosen and not there, and to no others.
    private func subscribe() {
        let now = clock.monotonic()
        let (new, old) = state.withLock { state in
            let needed = Set(
                chosen(state.layers, state.rollouts, at: now).filter(\.value.needsCandidate)
                    .map { String($0.key.dropFirst()) })
            defer { state.rollouts.subscribed = needed }
            return (
                needed.subtracting(state.rollouts.subscribed), state.rollouts.subscribed.subtracting(needed)
            )
        }
        if !new.isEmpty { onSubscriptions((new.sorted(), true)) }
        if !old.isEmpty { onSubscriptions((old.sorted(), false)) }
    }

    /// There is a connection: with a new session, retained maps come now.
    func connected(isNewSession: Bool) {
        state.withLock { state in
            state.rollouts.awaitsMap = isNewSession ? clock.monotonic() + Self.patience : nil
            // Before the first connection there was no one to ask.
            state.rollouts.subscribed = []
        }
        subscribe()
    }

    /// A map came.
    func mapCame() {
        let wasWanted = state.withLock { state in
            state.rollouts.awaitsMap = nil
            defer { state.applied.isWanted = false }
            return state.applied.isWanted
        }
        if wasWanted { onChange(0) }
    }

    // MARK: Time and opens

    /// A turn of the link's loop.
    func tickRollouts() {
        let now = clock.monotonic()
        let isMissing = state.withLock { state -> Bool in
            guard let end = state.rollouts.awaitsMap, now >= end else { return false }
            state.rollouts.awaitsMap = nil
            state.applied.isWanted = true
            return true
        }
        if isMissing { onRefusedAgain() }
        let isSilent = state.withLock { state in
            state.layers.chosen.contains { state.rollouts.members[$0]?.isSilent(at: now) == true }
        }
        if mustDecide.exchange(false, ordering: .acquiring) || isSilent { decide(delayed: isSilent) }
    }

    /// A URL was opened, well or not; called on any thread.
    func opened(_ opening: Opening) {
        guard isWatching.load(ordering: .relaxed) else { return }
        let changed = state.withLock { $0.rollouts.changed }
        let keys = changed.filter { $0.value.contains(opening.requested) }.map(\.key)
        guard !keys.isEmpty else { return }
        let isFailing = !opening.isSuccess
        let now = clock.monotonic()
        let guarded = state.withLock { state in
            keys.filter { state.rollouts.members[$0]?.count(failing: isFailing, at: now) == true }
                .compactMap { key in state.rollouts.members[key].map { (key, $0) } }
        }
        for (key, member) in guarded {
            // That it went back must be known after a restart, too; in force it is even without.
            try? store.commit { try $0.setText(storedKey(key), member.stored) }
            reporter.failed(.rolloutGuard, "\(key): \(member.guardText)", in: .map)
            mustDecide.store(true, ordering: .releasing)
        }
    }

    /// Whether there are opens that were not reported; they count as reported then.
    func takeOpens() -> Bool {
        state.withLock { state in
            let opens = state.rollouts.members.values.reduce(0) { $0 + $1.opened }
            defer { state.rollouts.reportedOpens = opens }
            return opens != state.rollouts.reportedOpens
        }
    }

    // MARK: At the start

    /// Takes what was stored of roll-outs, before the network is there.
    func restoreRollouts() {
        let now = clock.monotonic()
        for key in state.withLock({ $0.layers.keysInOrder }) where key.hasPrefix("@") {
            guard let text = try? store.commit({ try $0.text(storedKey(key)) }) else { continue }
            var member = RolloutMember(agent: agent)
            member.restore(text, at: now)
            if member.control != nil { state.withLock { $0.rollouts.members[key] = member } }
        }
        decide(delayed: false)
    }
}

extension RolloutReport {
    fileprivate var withoutCounts: RolloutReport {
        var report = self
        (report.opened, report.failed, report.epoch, report.sequence) = (0, 0, 0, 0)
        return report
    }
}
