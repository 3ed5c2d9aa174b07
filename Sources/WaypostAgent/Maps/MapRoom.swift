import FoundationEssentials
import Synchronization
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
        case refused(Refusal, layer: String)
    }

    private struct State {
        var records: [String: MapRecord] = [:]
        var applied = AppliedMap()
    }

    private let agent: String
    private let order: [String]
    private let router: Router
    private let limits: AgentLimits
    private let state = Mutex(State())

    init(agent: String, groups: [String], router: Router, limits: AgentLimits) {
        self.agent = agent
        order =
            [Audience.all.description] + groups.map { Audience.group($0).description } + [
                agent, Self.patchLayer,
            ]
        self.router = router
        self.limits = limits
    }

    /// The map in force.
    var applied: AppliedMap { state.withLock(\.applied) }

    /// Puts the stored layers in force, before the network is there.
    ///
    /// - Returns: why the stored map does not fit this build; it is then left out and the next map decides.
    func restore(from store: Store) throws(StoreError) -> Refusal? {
        let records = try store.commit { try $0.maps() }
        return state.withLock { state -> Refusal? in
            state.records = Dictionary(uniqueKeysWithValues: records.map { ($0.layer, $0) })
            do throws(Refusal) {
                state.applied = try put(state.records, refused: nil)
                return nil
            } catch {
                return error
            }
        }
    }

    /// Applies a document on `map` or `map/patch`, whole or not at all.
    ///
    /// - Throws: ``StoreError`` when it can't be made durable; the map in force then stays.
    func apply(_ payload: [UInt8], to topic: InboundTopic, at now: Int64, store: Store) throws(StoreError)
        -> Outcome
    {
        let (audience, isPatch): (Audience, Bool) =
            switch topic {
            case .map(let audience): (audience, false)
            case .patch(let agent): (.agent(agent), true)
            case .command, .echo: (.agent(agent), false)
            }
        let layer = isPatch ? Self.patchLayer : audience.description
        let digest = SHA256.digest(of: payload)
        return try state.withLock { state throws(StoreError) -> Outcome in
            var revision: Int64?
            do {
                let document = try decode(payload, isPatch: isPatch)
                revision = document.revision
                let before = state.records
                guard
                    let changed = try layers(
                        after: document, on: layer, audience: audience, digest: digest, state, at: now)
                else { return .unchanged }
                let applied = try put(changed, refused: nil)
                do {
                    try store.commit { transaction in
                        for (name, record) in changed where before[name] != record {
                            try transaction.save(record)
                        }
                        for name in before.keys where changed[name] == nil {
                            try transaction.removeMap(layer: name)
                        }
                    }
                } catch {
                    // What is not on disk is not in force: the old layers compiled before and do so again.
                    _ = try? put(before, refused: nil)
                    throw error
                }
                state.records = changed
                state.applied = applied
                return .applied(
                    layer: layer, revision: document.revision, entries: document.entries.count,
                    inactive: applied.inactive.count)
            } catch let refusal as Refusal {
                state.applied.refused = AppliedMap.Refused(
                    layer: layer, revision: revision, code: refusal.code, detail: refusal.detail, at: now)
                return .refused(refusal, layer: layer)
            } catch let error as StoreError {
                throw error
            } catch {
                return .refused(Refusal(.badField, String(describing: error)), layer: layer)
            }
        }
    }

    private func decode(_ payload: [UInt8], isPatch: Bool) throws(Refusal) -> MapDocument {
        guard payload.count <= limits.mapBytes else {
            throw Refusal(.tooLarge, "a map has at most \(limits.mapBytes) bytes; found \(payload.count)")
        }
        let json: JSONValue
        do {
            json = try JSONValue(parsing: payload, limits: limits.json.allowing(bytes: limits.mapBytes))
        } catch {
            throw error.refusal
        }
        return isPatch ? try MapDocument(patch: json) : try MapDocument(map: json)
    }

    /// The layers as they would be; nil when the document is in force already.
    private func layers(
        after document: MapDocument, on layer: String, audience: Audience, digest: [UInt8], _ state: State,
        at now: Int64
    ) throws(Refusal) -> [String: MapRecord]? {
        if let named = document.audience, named != audience.description {
            throw Refusal(.badField, "aud is \(named.debugDescription), the topic is \(audience)'s")
        }
        if let expires = document.expires, expires <= now {
            throw Refusal(.expired, "the document's exp has passed")
        }
        let known = state.records[layer]
        var entries = document.entries
        if layer == Self.patchLayer {
            var patches = RelocationLayer(name: layer, entries: try list(known))
            patches.patch(entries)
            entries = patches.entries
            guard entries.count <= MapDocument.maximumEntries else {
                throw Refusal(
                    .tooLarge,
                    "patches hold at most \(MapDocument.maximumEntries) entries; send a map instead")
            }
        } else if let revision = document.revision, let floor = known?.revisionFloor {
            if revision < floor {
                throw Refusal(.rollback, "rev \(revision) is below \(floor), which was applied before")
            }
            if revision == floor {
                if known?.digest == digest { return nil }
                throw Refusal(.equivocation, "rev \(revision) was applied before with other bytes")
            }
        } else if known?.digest == digest {
            return nil
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

    /// Compiles the layers in their order and swaps them into the router.
    private func put(_ records: [String: MapRecord], refused: AppliedMap.Refused?) throws(Refusal)
        -> AppliedMap
    {
        var layers: [RelocationLayer] = []
        for name in order {
            guard let record = records[name] else { continue }
            layers.append(RelocationLayer(name: label(name), entries: try list(record)))
        }
        let report: RelocationReport
        do {
            report = try router.relocate(layers)
        } catch {
            throw Refusal(error)
        }
        return AppliedMap(
            layers: order.compactMap { records[$0] }.map {
                AppliedMap.Layer(
                    name: label($0.layer), revision: $0.revision, digest: SHA256.label($0.digest),
                    at: $0.applied)
            },
            entries: report.entries,
            inactive: report.inactive.map {
                AppliedMap.Inactive(layer: $0.layer, index: $0.index, reason: $0.reason)
            },
            refused: refused)
    }

    private func list(_ record: MapRecord?) throws(Refusal) -> [RelocationEntry] {
        guard let record else { return [] }
        do {
            let json = try JSONValue(parsing: record.entries, limits: .trustedFile)
            return try RelocationEntry.list(json, maximum: MapDocument.maximumEntries)
        } catch let error as RelocationError {
            throw Refusal(error)
        } catch {
            throw Refusal(.badJSON, "stored map \(record.layer): \(error)")
        }
    }

    /// The layer's name on the wire: the agent's own map is `agent`.
    private func label(_ layer: String) -> String { layer == agent ? "agent" : layer }
}

extension JSONLimits {
    func allowing(bytes: Int) -> JSONLimits {
        var limits = self
        limits.maximumBytes = bytes
        return limits
    }
}
