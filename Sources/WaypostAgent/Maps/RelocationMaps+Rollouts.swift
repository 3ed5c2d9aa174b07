import MQTTLink
import Synchronization
import Threading
import Waypost
import WaypostFleet
import WaypostMessages

/// Roll-outs: a group's candidate in the place of its map, where the control document chooses this agent, as
/// ``RolloutMembers`` decides.
extension RelocationMaps {
    func storedKey(_ key: String) -> String { "rollout/\(key)" }

    // MARK: In force

    /// Puts in force what the control documents choose, as far as it fits, and reports what has changed.
    ///
    /// - Parameter delayed: Whether reports are spread: many agents change at once.
    func decide(delayed: Bool) {
        assert(exclusive.enter())
        defer { assert(exclusive.leave()) }
        let now = clock.monotonic()
        var (layers, rollouts) = state.withLock { ($0.layers, $0.rollouts) }
        guard !rollouts.isEmpty else { return }
        // A candidate that did not fit beside others may fit now.
        rollouts.unfit = rollouts.unfit.filter { !$0.value.dependsOnOthers }
        let before = layers.chosen
        let choices = rollouts.choices(layers, at: now)
        let wanted = layers.keysInOrder.filter { choices[$0]?.isCandidateInForce == true }
        var compiled: CompiledRelocation?
        if Set(wanted) != before {
            let tried = layers
            compiled = layers.choose(wanted, compile: { (next) throws(RelocationError) in try compile(next) })
            {
                refuseCandidate(of: $0, Failure($1), tried, &rollouts)
            }
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
        var (layers, rollouts) = state.withLock { ($0.layers, $0.rollouts) }
        let stale = rollouts.stale(layers)
        guard !stale.isEmpty else { return }
        layers.dropCandidates(of: stale)
        // What stays on a full disk is dropped the next time.
        guard (try? commit(layers, at: clock.wall())) != nil else { return }
        state.withLock { $0.layers = layers }
    }

    private func refuseCandidate(
        of key: String, _ failure: Failure, _ layers: MapLayers, _ rollouts: inout RolloutMembers
    ) {
        guard let record = layers.stored[MapRecord.candidateKey(of: key)] else { return }
        let isNew = state.withLock { $0.rollouts.unfit[key]?.digest != record.digest }
        rollouts.unfit[key] = .init(digest: record.digest, dependsOnOthers: true)
        guard isNew else { return }
        refuse(
            AppliedMap.Refused(
                layer: key, revision: record.revision, digest: SHA256.label(record.digest),
                code: failure.code, detail: failure.detail, at: clock.wall()), failure,
            on: "the candidate of \(key)")
    }

    private func changes(of layers: MapLayers, _ rollouts: RolloutMembers) -> [String: ChangedURLs] {
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

    /// Publishes what the roll-outs have come to, when that is not what was said before.
    private func report(delayed: Bool) {
        let now = clock.monotonic()
        let wait = state.withLock { state -> Int64? in
            state.applied.rollouts = state.rollouts.reports(state.layers, at: now)
            guard state.rollouts.report(state.applied.rollouts) else { return nil }
            return delayed ? state.rollouts.delay : 0
        }
        if let wait { onChange(wait) }
    }

    /// The reports with the counts of now.
    var rolloutReports: [RolloutReport] {
        let now = clock.monotonic()
        return state.withLock { $0.rollouts.reports($0.layers, at: now) }
    }

    // MARK: The link

    /// Sets what subscribes to the candidates of groups, and gives that up.
    func connect(subscriptions: @escaping @Sendable (_ groups: [String], _ isWanted: Bool) -> Void) {
        onSubscriptions.set { subscriptions($0.groups, $0.isWanted) }
    }

    /// Subscribes to the candidates that are chosen and not there, and to no others.
    private func subscribe() {
        let now = clock.monotonic()
        let (new, old) = state.withLock { $0.rollouts.takeSubscriptions($0.layers, at: now) }
        if !new.isEmpty { onSubscriptions((new, true)) }
        if !old.isEmpty { onSubscriptions((old, false)) }
    }

    /// Sets what subscribes to the topics of groups, and gives them up.
    func connect(groups: @escaping @Sendable (_ joined: [String], _ left: [String]) -> Void) {
        onGroups.set { groups($0.joined, $0.left) }
    }

    /// There is a connection: with a new session, retained maps come now.
    func connected(isNewSession: Bool) {
        assert(exclusive.enter())
        defer { assert(exclusive.leave()) }
        let now = clock.monotonic()
        state.withLock { $0.rollouts.connected(isNewSession: isNewSession, at: now) }
        subscribe()
    }

    /// A map came.
    func mapCame() {
        let wasWanted = state.withLock { state in
            state.rollouts.mapCame()
            defer { state.applied.isWanted = false }
            return state.applied.isWanted
        }
        if wasWanted { onChange(0) }
    }

    // MARK: Time and opens

    /// A turn of the link's loop.
    func tickRollouts() {
        let now = clock.monotonic()
        let (isMissing, isSilent) = state.withLock { state in
            let isMissing = state.rollouts.timePassed(at: now)
            if isMissing { state.applied.isWanted = true }
            return (isMissing, state.rollouts.isSilent(state.layers, at: now))
        }
        if isMissing { onRefusedAgain() }
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
        let guarded = state.withLock { $0.rollouts.opened(keys, isFailing: isFailing, at: now) }
        for (key, member) in guarded {
            // That it went back must be known after a restart, too; in force it is even without.
            try? store.commit { try $0.setText(storedKey(key), member.stored) }
            reporter.failed(.rolloutGuard, "\(key): \(member.guardText)", in: .map)
            mustDecide.store(true, ordering: .releasing)
        }
    }

    /// Whether there are opens that were not reported; they count as reported then.
    func takeOpens() -> Bool { state.withLock { $0.rollouts.takeOpens() } }

    // MARK: At the start

    /// Takes what was stored of roll-outs, before the network is there.
    func restoreRollouts() {
        restoreRollouts(of: state.withLock { $0.layers.keysInOrder.filter { $0.hasPrefix("@") } })
    }

    /// The same for some groups.
    func restoreRollouts(of keys: [String]) {
        let now = clock.monotonic()
        for key in keys {
            guard let text = try? store.commit({ try $0.text(storedKey(key)) }) else { continue }
            state.withLock { $0.rollouts.restored(text, of: key, at: now) }
        }
        decide(delayed: false)
    }
}
