import Waypost
import WaypostMessages

/// Keeps the relocation layers: checks a document, swaps it into the router, and stores it as last known good.
final class MapRoom: Sendable {
    /// The layer of single corrections, over all others.
    static let patchLayer = "patch"

    /// What a document did.
    enum Outcome: Sendable {
        case applied(layer: String, revision: Int64?, entries: Int, inactive: Int)
        /// The same document is in force already.
        case unchanged
        /// `isNews` is false for a document that was refused before for the same reason: a retained one comes with
        /// every connection.
        case refused(Rejection, layer: String, isNews: Bool)
    }

    struct State {
        var records: [String: MapRecord] = [:]
        var applied = AppliedMap()
        /// The newest refused document of each layer, by its name on the wire.
        var refused: [String: AppliedMap.Refused] = [:]
        /// Layers that are left out because their time is over.
        var reverted: Set<String> = []
        /// When a layer's end was last reported, on the monotonic clock.
        var reported: [String: Int64] = [:]
    }

    let agent: String
    private let order: [String]
    private let router: Router
    private let rules: MapDocument.Rules
    let expiry: MapExpiry
    let state = Guarded(State())

    init(
        agent: String, groups: [String], router: Router, limits: AgentLimits, trusted: TrustedKeys = .none,
        expiry: MapExpiry = .keep
    ) {
        self.agent = agent
        order =
            [Audience.all.description] + groups.map { Audience.group($0).description } + [
                agent, Self.patchLayer,
            ]
        self.router = router
        rules = MapDocument.Rules(maximumBytes: limits.mapBytes, limits: limits.json, trusted: trusted)
        self.expiry = expiry
    }

    /// The map in force.
    var applied: AppliedMap { state.withLock(\.applied) }

    /// Puts the stored layers in force, before the network is there.
    ///
    /// - Returns: why the stored map does not fit this build; it is then left out and the next map decides.
    func restore(from store: Store) throws(StoreError) -> Rejection? {
        let (records, refused) = try store.commit { (try $0.maps(), try $0.refusedMaps()) }
        return state.withLock { state -> Rejection? in
            state.records = Dictionary(uniqueKeysWithValues: records.map { ($0.layer, $0) })
            state.refused = refused
            do throws(Rejection) {
                state.applied = try put(state.records, state)
                return nil
            } catch {
                return error
            }
        }
    }

    /// Applies a document on `map` or `map/patch`, whole or not at all.
    ///
    /// - Throws: ``StoreError`` when it can't be made durable; the map in force then stays.
    func apply(
        _ payload: [UInt8], to topic: InboundTopic, at now: Int64, isClockSound: Bool = true, store: Store
    ) throws(StoreError) -> Outcome {
        let (audience, isPatch): (Audience, Bool) =
            switch topic {
            case .map(let audience): (audience, false)
            case .patch(let agent): (.agent(agent), true)
            case .command, .echo: (.agent(agent), false)
            }
        let layer = isPatch ? Self.patchLayer : audience.description
        let name = label(layer)
        let digest = SHA256.digest(of: payload)
        return try state.withLock { state throws(StoreError) -> Outcome in
            var revision: Int64?
            let next: State
            let entries: Int
            do throws(Rejection) {
                let document = try MapDocument(payload, isPatch: isPatch, rules)
                revision = document.revision
                guard
                    let changed = try layers(
                        after: document, on: layer, audience: audience, digest: digest, state, at: now,
                        isClockSound)
                else { return .unchanged }
                entries = document.entries.count
                next = try put(changed, on: layer, state)
            } catch {
                let refused = AppliedMap.Refused(
                    layer: name, revision: revision, digest: SHA256.label(digest), code: error.code,
                    detail: error.detail, at: now)
                return .refused(error, layer: name, isNews: state.note(refused, in: store))
            }
            do throws(StoreError) {
                try save(next, over: state, in: store)
            } catch {
                // What is not on disk is not in force: the old layers compiled before and do so again.
                _ = try? put(state.records, state)
                throw error
            }
            state = next
            return .applied(
                layer: name, revision: revision, entries: entries, inactive: next.applied.inactive.count)
        }
    }

    /// The state with a layer changed, its map in force in the router.
    private func put(
        _ records: [String: MapRecord], on layer: String, _ state: State
    ) throws(Rejection) -> State {
        var next = state
        next.records = records
        next.refused[label(layer)] = nil
        next.reverted.remove(layer)
        next.reported[layer] = nil
        next.applied = try put(records, next)
        return next
    }

    /// The layers as they would be; nil when the document is in force already.
    private func layers(
        after document: MapDocument, on layer: String, audience: Audience, digest: [UInt8], _ state: State,
        at now: Int64, _ isClockSound: Bool
    ) throws(Rejection) -> [String: MapRecord]? {
        if let named = document.audience, named != audience.description {
            throw Rejection(.badField, "aud is \(named.debugDescription), the topic is \(audience)'s")
        }
        let known = state.records[layer]
        if layer != Self.patchLayer {
            let floor = known?.revisionFloor ?? 0
            if let revision = document.revision, revision < floor {
                throw Rejection(.rollback, "rev \(revision) is below \(floor), which was applied before")
            }
            // Before its time is looked at: one in force stays in force, however often it comes again.
            if known?.digest == digest, document.revision == nil || document.revision == floor { return nil }
            if let revision = document.revision, revision == floor {
                throw Rejection(.equivocation, "rev \(revision) was applied before with other bytes")
            }
        }
        if let expires = document.expires {
            guard isClockSound else {
                throw Rejection(
                    .clock, "the agent's clock is not to be trusted now, and the document has an exp")
            }
            guard expires > now else { throw Rejection(.expired, "the document's exp has passed") }
        }
        var entries = document.entries
        if layer == Self.patchLayer {
            var patches = RelocationLayer(name: layer, entries: try list(known))
            patches.patch(entries)
            entries = patches.entries
            guard entries.count <= MapDocument.maximumEntries else {
                throw Rejection(
                    .tooLarge,
                    "patches hold at most \(MapDocument.maximumEntries) entries; send a map instead")
            }
        }
        var changed = state.records
        changed[layer] = MapRecord(
            layer: layer,
            revision: document.revision,
            revisionFloor: max(known?.revisionFloor ?? 0, document.revision ?? 0),
            digest: digest,
            applied: now,
            expires: document.expires,
            entries: JSONValue.array(entries.map(\.json)).serialized())
        if layer == agent { changed[Self.patchLayer] = nil }
        return changed
    }

    private func save(_ next: State, over before: State, in store: Store) throws(StoreError) {
        try store.commit { transaction in
            for (name, record) in next.records where before.records[name] != record {
                try transaction.save(record)
            }
            for name in before.records.keys where next.records[name] == nil {
                try transaction.removeMap(layer: name)
            }
            for name in before.refused.keys where next.refused[name] == nil {
                try transaction.removeRefusedMap(layer: name)
            }
        }
    }

    /// Compiles the layers in their order and swaps them into the router.
    func put(_ records: [String: MapRecord], _ state: State) throws(Rejection) -> AppliedMap {
        let inForce = order.filter { !state.reverted.contains($0) }.compactMap { records[$0] }
        var layers: [RelocationLayer] = []
        for record in inForce {
            layers.append(RelocationLayer(name: label(record.layer), entries: try list(record)))
        }
        let report: RelocationReport
        do {
            report = try router.relocate(layers)
        } catch {
            throw Rejection(error)
        }
        return AppliedMap(
            layers: inForce.map {
                AppliedMap.Layer(
                    name: label($0.layer), revision: $0.revision, digest: SHA256.label($0.digest),
                    at: $0.applied)
            },
            entries: report.entries,
            inactive: report.inactive.map {
                AppliedMap.Inactive(layer: $0.layer, index: $0.index, reason: $0.reason)
            },
            refused: state.newestRefused)
    }

    private func list(_ record: MapRecord?) throws(Rejection) -> [RelocationEntry] {
        guard let record else { return [] }
        do {
            let json = try JSONValue(parsing: record.entries, limits: .trustedFile)
            return try RelocationEntry.list(json, maximum: MapDocument.maximumEntries)
        } catch let error as RelocationError {
            throw Rejection(error)
        } catch {
            throw Rejection(.badJSON, "stored map \(record.layer): \(error)")
        }
    }

    /// The layer's name on the wire: the agent's own map is `agent`.
    func label(_ layer: String) -> String { layer == agent ? "agent" : layer }
}

extension MapRoom.State {
    /// Keeps a refused document in mind; false when that very one was refused before for the same reason.
    fileprivate mutating func note(_ document: AppliedMap.Refused, in store: Store) -> Bool {
        let known = refused[document.layer]
        guard known?.digest != document.digest || known?.code != document.code else { return false }
        refused[document.layer] = document
        applied.refused = newestRefused
        // For the next start only; that it is refused now is said anyway.
        _ = try? store.commit { try $0.save(document) }
        return true
    }

    fileprivate var newestRefused: AppliedMap.Refused? {
        refused.values.max { ($0.at, $0.layer) < ($1.at, $1.layer) }
    }
}
