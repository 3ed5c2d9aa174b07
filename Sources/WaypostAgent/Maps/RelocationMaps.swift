import MQTTLink
import Synchronization
import Threading
import Waypost
import WaypostFleet
import WaypostMessages

/// The relocation maps of an agent: a document is checked and compiled, then committed, and only then in force.
///
/// Everything that changes them runs on the link's thread, one after another, as ``exclusive`` sees; others only read
/// ``applied``.
final class RelocationMaps: Sendable {
    /// How often the end of a map is reported, in milliseconds.
    private static let reportInterval: Int64 = 3_600_000

    struct State {
        var layers: MapLayers
        var applied = AppliedMap()
        var rollouts: RolloutMembers
        /// Whether the router has another map than ``applied`` says, for a moment.
        fileprivate var isInstalling = false
        fileprivate var budget: MapBudget
        private var lastTime: Int64 = 0

        /// Of two documents in one batch the history must say which came first: no two have one time.
        fileprivate mutating func ownTime(at now: Int64) -> Int64 {
            lastTime = (lastTime - 1_000...lastTime).contains(now) ? lastTime + 1 : now
            return lastTime
        }

        fileprivate init(agent: String, groups: [String], rate: Int) {
            layers = MapLayers(agent: agent, groups: groups)
            rollouts = RolloutMembers(agent: agent)
            budget = MapBudget(rate: rate)
        }
    }

    let router: Router
    let store: Store
    let agent: String
    let rules: MapDocument.Rules
    /// Documents a second that are read for one layer.
    private let rate: Int
    /// The most bytes of the documents that were in force before.
    private let historyBytes: Int
    let expiry: MapExpiry
    let clock: AgentClock
    let clockMonitor: ClockMonitor
    let reporter: Reporter
    let onChange = Callback<Int64, Void> { _ in }
    let onRefusedAgain = Callback<Void, Void> {}
    let onSubscriptions = Callback<(groups: [String], isWanted: Bool), Void> { _ in }
    let onGroups = Callback<(joined: [String], left: [String]), Void> { _ in }
    let groups: AgentGroups
    let state: Guarded<State>
    /// What changes them takes a copy out of ``state``, works, and puts it back.
    let exclusive = ExclusiveThread()
    private let mustCheckTime = Atomic<Bool>(false)
    private let mustTryAgain = Atomic<Bool>(false)
    /// Something that another thread found changes which candidates are in force.
    let mustDecide = Atomic<Bool>(false)
    /// Whether opens are counted: a candidate is in force.
    let isWatching = Atomic<Bool>(false)

    init(
        _ configuration: AgentConfiguration, groups: AgentGroups, router: Router, store: Store,
        clock: AgentClock, clockMonitor: ClockMonitor, reporter: Reporter
    ) {
        agent = configuration.agent
        self.groups = groups
        self.router = router
        self.store = store
        rules = MapDocument.Rules(
            maximumBytes: configuration.limits.mapBytes, limits: configuration.limits.json,
            trusted: configuration.trust.keys)
        rate = configuration.limits.mapRate
        historyBytes = configuration.limits.storeBytes.share(AgentLimits.pastMapsShare)
        expiry = configuration.mapExpiry
        self.clock = clock
        self.clockMonitor = clockMonitor
        self.reporter = reporter
        state = Guarded(
            State(
                agent: configuration.agent, groups: groups.names, rate: configuration.limits.mapRate))
    }

    /// Calls `onChange` when another map is in force, or when a document was refused, with how long reports of it wait,
    /// in milliseconds, and `onRefusedAgain` when the newest refused document came again.
    func connect(
        onChange change: @escaping @Sendable (_ delay: Int64) -> Void,
        onRefusedAgain refusedAgain: @escaping @Sendable () -> Void
    ) {
        onChange.set(change)
        onRefusedAgain.set(refusedAgain)
    }

    /// The map in force.
    var applied: AppliedMap {
        let reports = rolloutReports
        return state.withLock { state in
            state.applied.rollouts = reports
            return state.applied
        }
    }

    /// The layer of a roll-out that is under way, else the uppermost layer with a revision.
    var inForce: FailureReport.MapInForce? {
        let (layers, rollout) = state.withLock { state in
            let keys = state.layers.keysInOrder.reversed()
            let rollout = keys.first(where: state.rollouts.isUnderWay)
            return (state.applied.layers, rollout)
        }
        let ordered = layers.filter { $0.name != rollout } + layers.filter { $0.name == rollout }
        return ordered.reversed().lazy.compactMap { layer in
            layer.revision.map { FailureReport.MapInForce(layer: layer.name, revision: $0) }
        }.first
    }

    /// The layers in force; nil while others are put in force.
    var layersInForce: [AppliedMap.Layer]? { state.withLock { $0.isInstalling ? nil : $0.applied.layers } }

    /// The names of stored layers that are left out, because they do not fit this build.
    var unfit: [String] {
        state.withLock { $0.layers.leftOut(damaged: false) }
    }

    /// The names of stored layers that are left out, because too few trusted keys have signed them.
    var untrusted: [String] {
        state.withLock { state in state.layers.untrusted.map { state.layers.name(of: $0) }.sorted() }
    }

    /// The names of stored layers that are left out, because the disk has changed them.
    var damaged: [String] { state.withLock { $0.layers.leftOut(damaged: true) } }

    /// The names of the layers whose time is over.
    func expired(at now: Int64) -> [String] {
        state.withLock { $0.layers.expired(at: now).map(\.name) }
    }

    /// The layers, and what is in force of them.
    var current: (layers: MapLayers, applied: AppliedMap) { state.withLock { ($0.layers, $0.applied) } }

    // MARK: Documents

    /// What a document changes, before it is stored.
    private enum Change {
        case map(MapLayers, CompiledRelocation, MapDocument?, key: String)
        case candidate(MapLayers, of: String)
        /// - stored: what is stored of it; nil when it was taken before.
        case control(RolloutControl, of: String, digest: String, stored: String?)
    }

    /// Takes a document, whole or not at all: a map, a patch, and of a roll-out the candidate and the control document;
    /// false when it can't be stored.
    func take(_ message: MQTTMessage, on key: String, for audience: Audience, at now: Int64) -> Bool {
        assert(exclusive.enter())
        defer { assert(exclusive.leave()) }
        let group = audience.description
        let isControl = key == MapRecord.controlKey(of: group)
        guard !message.payload.isEmpty else {
            let isMap = !isControl && key != MapRecord.groupsKey && MapRecord.group(ofCandidate: key) == nil
            reporter.log(
                isMap ? .warning : .info, "Map",
                "an empty payload on \(message.topic) changes nothing"
                    + (isMap ? "; to empty the map, send entries:[]" : ""))
            return true
        }
        guard mayRead(message, on: key, for: audience, at: now) else { return true }
        if key == MapRecord.groupsKey {
            guard !takeGroups(message) else { return true }
            // The broker sends it again.
            state.withLock { $0.budget.refund(key) }
            return false
        }
        let now = state.withLock { $0.ownTime(at: now) }
        let change =
            isControl
            ? readControl(message, of: group, for: audience)
            : readMap(message, ArrivedMap(message.payload, on: key, for: audience), at: now)
        guard let change else { return true }
        do throws(StoreError) {
            try commit(change, at: now)
        } catch {
            // The broker sends it again.
            state.withLock { $0.budget.refund(key) }
            return false
        }
        put(change)
        return true
    }

    /// Reads a map, a patch or a candidate; nil when it changes nothing.
    private func readMap(_ message: MQTTMessage, _ arrived: ArrivedMap, at now: Int64) -> Change? {
        var arrived = arrived
        let (key, base) = (arrived.key, arrived.candidateOf)
        if base == nil { mapCame() }
        let (stored, rollouts) = state.withLock { ($0.layers, $0.rollouts) }
        var layers = stored
        do throws(Failure) {
            if let base, try !rollouts.needs(arrived.digest, layers, of: base) {
                reporter.log(.debug, "Map", "\(message.topic): not needed here")
                return nil
            }
            guard
                try layers.take(
                    &arrived, rules, at: now, isClockCorrect: clockMonitor.isCorrect(at: now))
            else { return inForce(message, on: key) }
            if let refusal = store.disk.refusal { throw refusal }
            if let base { return .candidate(layers, of: base) }
            let compiled = try compileCounted(&layers, key)
            return .map(layers, compiled, arrived.document, key: key)
        } catch {
            refuse(arrived.refused(error, on: layers.name(of: key), at: now), error, on: message.topic)
            if let base {
                let unfit = RolloutMembers.Unfit(digest: arrived.digest, dependsOnOthers: false)
                state.withLock { $0.rollouts.unfit[base] = unfit }
                decide(delayed: true)
            }
            return nil
        }
    }

    /// Only with the layers in force: those that are left out can't keep a good map out.
    private func compileCounted(
        _ layers: inout MapLayers, _ key: String
    ) throws(Failure) -> CompiledRelocation {
        do throws(RelocationError) {
            let compiled = try compileWithCandidates(&layers)
            state.withLock { $0.budget.checked(key, effort: compiled.effort) }
            return compiled
        } catch {
            if error.code == .chain { state.withLock { $0.budget.checked(key, effort: 100) } }
            throw Failure(error)
        }
    }

    /// Reads a control document; nil when it is refused.
    private func readControl(_ message: MQTTMessage, of key: String, for audience: Audience) -> Change? {
        let digest = SHA256.label(SHA256.digest(of: message.payload))
        do throws(Failure) {
            let control = try RolloutControl(message.payload)
            var member = state.withLock { $0.rollouts[key] }
            let taken = try member.take(control, for: audience, digest: digest, at: clock.monotonic())
            return .control(control, of: key, digest: digest, stored: taken == .new ? member.stored : nil)
        } catch {
            reporter.failed(
                error.code, "control document of \(key) refused: \(error.detail)", in: .map)
            return nil
        }
    }

    private func commit(_ change: Change, at now: Int64) throws(StoreError) {
        switch change {
        case .map(let next, _, _, _), .candidate(let next, _): try commit(next, at: now)
        case .control(_, let key, _, let stored?): try store.commit { try $0.setText(storedKey(key), stored) }
        case .control: break
        }
    }

    /// Puts in force what was stored.
    private func put(_ change: Change) {
        switch change {
        case .map(let next, let compiled, let document, let key):
            install(next, compiled)
            // What did not fit beside the old map may fit beside the new one.
            if !next.unfit.isEmpty { tryAgain() }
            decide(delayed: false)
            let revision = document?.revision.map { " rev \($0)" } ?? ""
            let count = (document?.entries.count ?? 0).counted("entry", "entries")
            let inactive = applied.inactive.count
            let state = inactive == 0 ? "all active" : "\(inactive) of all layers inactive"
            reporter.log(.info, "Map", "\(next.name(of: key))\(revision) applied: \(count), \(state)")
        case .candidate(let next, let base):
            state.withLock { state in
                state.layers = next
                state.rollouts.unfit[base] = nil
            }
            decide(delayed: true)
        case .control(let control, let key, let digest, let stored):
            if stored != nil {
                let next = control.stage + 1
                reporter.log(
                    .info, "Map",
                    "roll-out \(control.id) of \(key): \(control.state.rawValue), stage \(next) of "
                        + "\(max(next, control.stages.count)), \(control.chooses(agent) ? "chosen" : "not chosen")"
                )
            }
            let now = clock.monotonic()
            state.withLock { $0.rollouts.controlWasStored(control, of: key, digest: digest, at: now) }
            decide(delayed: true)
        }
    }

    private func inForce(_ message: MQTTMessage, on key: String) -> Change? {
        reporter.log(.debug, "Map", "\(message.topic): already in force")
        // It may be the one that was postponed.
        let isRefusalOver = state.withLock { state in
            guard let refused = state.applied.refused, refused.code == .busy,
                refused.layer == state.layers.name(of: key)
            else { return false }
            state.applied.refused = state.layers.newestRefused
            return true
        }
        if isRefusalOver { onChange(0) }
        return nil
    }

    /// Whether a document must be read now: that costs time on the link's thread, and no topic names its sender.
    private func mayRead(
        _ message: MQTTMessage, on key: String, for audience: Audience, at now: Int64
    ) -> Bool {
        let isPatch = key == MapRecord.patchLayer
        let (decision, name) = state.withLock { state in
            let map = MapBudget.Postponed(message: message, key: key, audience: audience)
            return (
                state.budget.documentCame(isPatch ? nil : map, on: key, at: clock.monotonic()),
                state.layers.name(of: key)
            )
        }
        guard decision != .read else { return true }
        let detail =
            "more than \(rate) documents per second; "
            + (isPatch ? "send the patch again" : "the newest is read later")
        if decision == .report, key != MapRecord.groupsKey {
            let digest = SHA256.label(SHA256.digest(of: message.payload))
            state.withLock {
                $0.applied.refused = AppliedMap.Refused(
                    layer: name, revision: nil, digest: digest, code: .busy, detail: detail, at: now)
            }
        }
        // Each time: however many they are, they are one report with their number.
        let what = key == MapRecord.groupsKey ? "document of groups" : "map of \(name)"
        reporter.failed(.busy, "\(what) refused: \(detail)", in: .map)
        if decision == .report { onChange(0) }
        return false
    }

    /// Reads the documents that came too fast, the newest of each layer.
    private func takePostponed() {
        for postponed in state.withLock({ $0.budget.takePostponed(at: clock.monotonic()) })
        where !take(postponed.message, on: postponed.key, for: postponed.audience, at: clock.wall()) {
            state.withLock { $0.budget.postpone(postponed) }
        }
    }

    func refuse(_ document: AppliedMap.Refused, _ rejection: Failure, on topic: String) {
        let isNew = state.withLock { state in
            let isNew = state.layers.remember(document)
            state.applied.refused = state.layers.newestRefused
            return isNew
        }
        // A retained document comes again with every connection.
        guard isNew else {
            // Its sender may have sent it again.
            onRefusedAgain()
            return reporter.log(.debug, "Map", "\(topic): already refused, \(rejection.code.name)")
        }
        // Only for the next start; that it is refused is reported in any case.
        try? store.commit { try $0.save(document) }
        reporter.failed(
            rejection.code, "map of \(document.layer) refused: \(rejection.detail)", in: .map)
        onChange(0)
    }

    func commit(_ next: MapLayers, at now: Int64) throws(StoreError) {
        let before = state.withLock(\.layers)
        try store.commit { transaction in
            for (key, record) in next.stored where before.stored[key] != record {
                try keepPast(before.stored[key], at: now, transaction)
                try transaction.save(record)
            }
            for key in before.untrusted.union(before.stored.keys)
            where next.stored[key] == nil && !next.untrusted.contains(key) {
                try keepPast(before.stored[key], at: now, transaction)
                try transaction.removeMap(layer: key)
            }
            for name in before.refused.keys where next.refused[name] == nil {
                try transaction.removeRefusedMap(layer: name)
            }
        }
    }

    /// A document goes out of force; it can be taken back to for a while.
    private func keepPast(
        _ map: MapRecord?, at now: Int64, _ transaction: Store.Transaction
    ) throws {
        // What a roll-out tried is no map to go back to.
        guard let map, MapRecord.group(ofCandidate: map.layer) == nil else { return }
        try transaction.keepPast(map, until: max(now, map.applied))
        try transaction.forgetPastMaps(of: map.layer, beyond: AgentLimits.pastMaps, bytes: historyBytes)
    }

    // MARK: In force

    func compile(_ layers: MapLayers) throws(RelocationError) -> CompiledRelocation {
        var list: [RelocationLayer] = []
        for record in layers.inForce { list.append(try layers.layer(record)) }
        return try router.compile(delivered: list)
    }

    /// With the candidates that the layer's new document still lets be chosen; without any when they do not fit: a
    /// candidate must not keep a good map out.
    private func compileWithCandidates(_ next: inout MapLayers) throws(RelocationError) -> CompiledRelocation
    {
        guard !next.chosen.isEmpty else { return try compile(next) }
        let choices = state.withLock(\.rollouts).choices(next, at: clock.monotonic())
        next.chosen = next.chosen.filter { choices[$0]?.isCandidateInForce == true }
        if let all = try? compile(next) as CompiledRelocation { return all }
        next.chosen = []
        return try compile(next)
    }

    /// - Parameter delay: How long the reports of it wait, in milliseconds; nil when the caller reports it.
    func install(_ layers: MapLayers, _ compiled: CompiledRelocation, after delay: Int64? = 0) {
        state.withLock { $0.isInstalling = true }
        let applied = layers.applied(router.install(compiled))
        state.withLock { state in
            state.isInstalling = false
            let isWanted = state.applied.isWanted
            state.layers = layers
            state.applied = applied
            state.applied.isWanted = isWanted
        }
        if let delay { onChange(delay) }
    }

    /// Puts in force what fits, each layer by itself: one that does not fit keeps no other out.
    func fit(_ layers: inout MapLayers) {
        // Most often all fit, and each try may take as much work as a map may.
        layers.unfit = [:]
        if let all = try? compile(layers) as CompiledRelocation { return install(layers, all) }
        if !layers.chosen.isEmpty {
            layers.chosen = []
            if let all = try? compile(layers) as CompiledRelocation { return install(layers, all) }
        }
        let candidates = layers.candidates
        layers.unfit = Dictionary(
            candidates.map { ($0, RelocationError(.badField, detail: "")) }, uniquingKeysWith: { $1 })
        var compiled = CompiledRelocation?.none
        for key in candidates {
            layers.unfit[key] = nil
            do throws(RelocationError) {
                compiled = try compile(layers)
            } catch {
                layers.unfit[key] = error
            }
        }
        if let compiled {
            install(layers, compiled)
        } else if let nothing = try? router.compile(delivered: []) as CompiledRelocation {
            install(layers, nothing)
        }
    }

    private func tryAgain() {
        var layers = state.withLock(\.layers)
        guard !layers.stored.isEmpty else { return onChange(0) }
        let before = Set(layers.unfit.keys)
        fit(&layers)
        for key in before.subtracting(layers.unfit.keys) {
            reporter.log(.info, "Map", "\(layers.name(of: key)) applied, which did not fit before")
        }
        decide(delayed: false)
    }

    // MARK: Time and routes

    /// Checks for expired maps in the next turn of the link's loop.
    func checkTimeSoon() { mustCheckTime.store(true, ordering: .relaxed) }

    /// Routes have changed: tries what did not fit again, in the next turn of the link's loop.
    func tryAgainSoon() { mustTryAgain.store(true, ordering: .releasing) }

    /// A turn of the link's loop.
    func tick() {
        assert(exclusive.enter())
        defer { assert(exclusive.leave()) }
        if mustTryAgain.exchange(false, ordering: .acquiring) { tryAgain() }
        takePostponed()
        tickRollouts()
        if mustCheckTime.exchange(false, ordering: .relaxed) { checkExpiry() }
    }

    private func checkExpiry() {
        let now = clock.wall()
        // With a wrong clock no map expires.
        guard clockMonitor.isCorrect(at: now) else { return }
        var layers = state.withLock(\.layers)
        let reverted = layers.reverted
        let due = layers.timePassed(
            wall: now, monotonic: clock.monotonic(), every: Self.reportInterval, reverts: expiry == .revert)
        let whatHappens = expiry == .keep ? "it stays in force" : "it is left out"
        for map in due {
            let name = map.name + (map.revision.map { " rev \($0)" } ?? "")
            reporter.log(.warning, "Map", "expired \(name); \(whatHappens)", isError: true)
            reporter.failed(
                .mapExpired,
                "the map of \(name) was valid until \(map.expires); \(whatHappens) until a new one comes",
                in: .map)
        }
        if layers.reverted != reverted {
            fit(&layers)
        } else if !due.isEmpty {
            state.withLock { $0.layers = layers }
            onChange(0)
        }
    }
}
