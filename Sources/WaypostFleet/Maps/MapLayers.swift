package import Waypost
package import WaypostMessages

/// Which relocation layers are stored, and which of them are in force: decisions only, no router and no disk.
package struct MapLayers: Sendable {
    /// A layer whose time is over.
    package struct Expired: Sendable, Hashable {
        package var name: String
        package var revision: Int64?
        /// Milliseconds since 1970.
        package var expires: Int64
    }

    private let agent: String
    /// The keys of all layers, the later over the earlier.
    private var order: [String] = []

    /// The last good document of each layer.
    package var stored: [String: MapRecord] = [:]
    /// The newest refused document of each layer, by its name on the wire.
    package var refused: [String: AppliedMap.Refused] = [:]
    /// Stored layers that do not fit this build, each with the reason; they are tried again when routes change.
    package var unfit: [String: RelocationError] = [:]
    /// Layers that are left out because their time is over.
    package var reverted: Set<String> = []
    /// Layers on disk that are left out, because too few trusted keys have signed them.
    ///
    /// Their revisions do not count.
    package var untrusted: Set<String> = []
    /// When the end of a layer was last reported, on the monotonic clock.
    package var reported: [String: Int64] = [:]
    /// The layers in whose place their candidates are in force.
    package var chosen: Set<String> = []

    package init(agent: String, groups: [String]) {
        self.agent = agent
        setGroups(groups)
    }

    /// The agent is in these groups from now on, beside `all`; what is stored of others waits until it comes back.
    package mutating func setGroups(_ groups: [String]) {
        defer { assert(isConsistent) }
        order =
            [Audience.all.description] + groups.map { Audience.group($0).description }
            + [agent, MapRecord.patchLayer]
        chosen.formIntersection(order)
        reverted.formIntersection(order)
        untrusted.formIntersection(order)
        unfit = unfit.filter { order.contains($0.key) }
        refused = refused.filter { isLayer(named: $0.key) }
    }

    /// Whether a name on the wire is that of one of the layers.
    package func isLayer(named name: String) -> Bool { order.contains { self.name(of: $0) == name } }

    /// The layer's name on the wire: `@group`, `agent` or `patch`.
    package func name(of key: String) -> String {
        switch key {
        case agent: "agent"
        case MapRecord.patchLayer: "patch"
        default: MapRecord.group(ofCandidate: key) ?? key
        }
    }

    /// Whether each document lies in its place, and none is both taken and left out.
    private var isConsistent: Bool {
        stored.allSatisfy { $0.value.layer == $0.key } && untrusted.isDisjoint(with: stored.keys)
            && reverted.isSubset(of: order)
    }

    // MARK: Candidates

    /// All keys, the later over the earlier.
    package var keysInOrder: [String] { order }

    /// The document that acts as a layer: its own, or the candidate in its place.
    package func record(of key: String) -> MapRecord? {
        chosen.contains(key) ? stored[MapRecord.candidateKey(of: key)] : stored[key]
    }

    /// The document of a layer by its revision and its bytes; nil when there is none.
    func mapID(of key: String) -> RolloutControl.MapID? {
        stored[key].flatMap { record in
            record.isEmptied
                ? nil
                : RolloutControl.MapID(revision: record.revision, digest: SHA256.label(record.digest))
        }
    }

    /// Puts candidates in the place of their layers, each as far as it fits beside those before it.
    ///
    /// - Returns: what was compiled last of those that fit; nil when nothing fits.
    package mutating func choose<Compiled>(
        _ wanted: [String], compile: (MapLayers) throws(RelocationError) -> Compiled,
        refused: (String, RelocationError) -> Void
    ) -> Compiled? {
        defer { assert(isConsistent) }
        chosen = []
        var compiled: Compiled?
        for key in wanted {
            chosen.insert(key)
            do throws(RelocationError) {
                compiled = try compile(self)
            } catch {
                chosen.remove(key)
                refused(key, error)
            }
        }
        guard chosen.isEmpty else { return compiled }
        return try? compile(self) as Compiled
    }

    /// Forgets the candidates of layers.
    package mutating func dropCandidates(of keys: [String]) {
        defer { assert(isConsistent) }
        for key in keys { stored[MapRecord.candidateKey(of: key)] = nil }
    }

    // MARK: Layers

    /// Takes what is on disk, except what is not signed as it must be.
    package mutating func restore(_ records: [MapRecord], trusted: TrustedKeys) {
        defer { assert(isConsistent) }
        for record in records {
            if !trusted.arePinned || record.signers.allSatisfy(trusted.areEnough) {
                stored[record.layer] = record
            } else if !record.isEmptied, MapRecord.group(ofCandidate: record.layer) == nil {
                untrusted.insert(record.layer)
            }
        }
    }

    /// The keys of the stored layers whose time is not over, in their order.
    package var candidates: [String] {
        order.filter { key in
            record(of: key).map { !$0.isEmptied && !reverted.contains(key) } ?? false
        }
    }

    /// The layers in force, in their order.
    package var inForce: [MapRecord] { candidates.filter { unfit[$0] == nil }.compactMap(record(of:)) }

    /// The names of stored layers that are left out, because they do not fit or because they are damaged.
    package func leftOut(damaged: Bool) -> [String] {
        unfit.keys.filter { stored[$0]?.isDamaged == damaged }.map(name(of:)).sorted()
    }

    /// The layers whose time is over.
    package func expired(at now: Int64) -> [Expired] {
        order.compactMap { key in
            guard let record = record(of: key), let expires = record.expires, expires <= now else {
                return nil
            }
            return Expired(name: name(of: key), revision: record.revision, expires: expires)
        }
    }

    /// Leaves out every layer that ends at some time: the clock can't say whether that has come.
    package mutating func revertAllThatEnd() {
        defer { assert(isConsistent) }
        reverted = Set(order.filter { record(of: $0)?.expires != nil })
    }

    /// Leaves out what has expired, when `reverts`; returns what must be reported now.
    package mutating func timePassed(
        wall now: Int64, monotonic: Int64, every interval: Int64, reverts: Bool
    ) -> [Expired] {
        defer { assert(isConsistent) }
        let over = expired(at: now)
        let due = over.filter { monotonic - (reported[$0.name] ?? .min / 2) >= interval }
        for layer in due { reported[layer.name] = monotonic }
        reverted = []
        if reverts { revertExpired(at: now) }
        return due
    }

    /// Leaves out what has expired.
    package mutating func revertExpired(at now: Int64) {
        defer { assert(isConsistent) }
        let over = Set(expired(at: now).map(\.name))
        reverted = Set(order.filter { record(of: $0) != nil && over.contains(name(of: $0)) })
    }

    /// Whether these very bytes are in the layer already; one that the disk has damaged is not.
    func isInForce(_ digest: [UInt8], on key: String) -> Bool {
        stored[key].map { $0.digest == digest && !$0.isDamaged } ?? false
    }

    /// Takes a document into its layer, or keeps it beside that as a candidate, which does not count as a revision; false
    /// when it is there already.
    ///
    /// - Throws: ``Failure`` when it is no such document, is older than what was applied, has expired, or is meant for
    ///   another audience.
    package mutating func take(
        _ arrived: inout ArrivedMap, _ rules: MapDocument.Rules, at now: Int64, isClockCorrect: Bool
    ) throws(Failure) -> Bool {
        defer { assert(isConsistent) }
        let (key, digest, base) = (arrived.key, arrived.digest, arrived.candidateOf)
        // What is in force needs no second look at its signatures.
        guard arrived.isPatch || !isInForce(digest, on: key) else { return false }
        let document = try arrived.read(rules)
        if let named = document.audience, named != arrived.audience.description {
            throw Failure(.badField, "aud is \(named.quoted), the topic is \(arrived.audience)'s")
        }
        let known = stored[key]
        // A map in force stays in force, however often it comes again after its exp.
        // A patch without a revision is applied as often as it comes.
        // Only the document can bring back what the disk damaged.
        let isRepair = known?.digest == digest && known?.isDamaged == true
        if known?.digest == digest, !isRepair, document.revision != nil { return false }
        let floor = stored[base ?? key]?.revisionFloor ?? 0
        if !isRepair || base != nil { try check(document, arrived, above: floor) }
        try check(document.expires, at: now, isClockCorrect: isClockCorrect)
        let patched = arrived.isPatch ? known.flatMap { $0.isEmptied ? nil : $0 } : nil
        let entries = try entries(of: document, on: key, over: patched)
        stored[key] = MapRecord(
            layer: key, revision: document.revision ?? patched?.revision,
            revisionFloor: base == nil ? max(floor, document.revision ?? 0) : 0, digest: digest, applied: now,
            expires: document.expires, entries: JSONValue.array(entries.map(\.json)).serialized(),
            signers: (patched?.signers ?? []).union([document.signers]), author: arrived.author,
            bytes: Int64(arrived.payload.count),
            changes: changes(from: base.map { stored[$0] } ?? known, to: entries))
        guard base == nil else { return true }
        if key == agent { emptyPatches() }
        refused[name(of: key)] = nil
        reverted.remove(key)
        unfit[key] = nil
        untrusted.remove(key)
        reported[name(of: key)] = nil
        return true
    }

    /// Whether its revision comes after what was applied.
    private func check(
        _ document: MapDocument, _ arrived: ArrivedMap, above floor: Int64
    ) throws(Failure) {
        if arrived.isPatch { return try checkChain(document) }
        if arrived.candidateOf != nil, document.revision ?? 0 <= floor {
            throw Failure(
                .rollback, "rev \(document.revision ?? 0) of the candidate is not above \(floor)")
        }
        guard let revision = document.revision else { return }
        guard revision >= floor else {
            throw Failure(.rollback, "rev \(revision) is below \(floor), which was already applied")
        }
        guard revision > floor else {
            throw Failure(.equivocation, "rev \(revision) was already applied with different content")
        }
    }

    private func check(_ expires: Int64?, at now: Int64, isClockCorrect: Bool) throws(Failure) {
        guard let expires else { return }
        guard isClockCorrect else {
            throw Failure(
                .clock,
                "the agent's clock can't be trusted now, and the document has an exp; set the clock, or send it without exp"
            )
        }
        guard expires > now else { throw Failure(.expired, "the document's exp has passed") }
    }

    /// What the next patch with a revision must contain.
    package var nextPatch: AppliedMap.NextPatch {
        let patches = stored[MapRecord.patchLayer]
        let base = patches?.revision ?? stored[agent]?.revision ?? 0
        return AppliedMap.NextPatch(base: base, revision: max(base, patches?.revisionFloor ?? 0) + 1)
    }

    private func checkChain(_ document: MapDocument) throws(Failure) {
        guard let base = document.base, let revision = document.revision else { return }
        let next = nextPatch
        guard base == next.base else {
            throw Failure(
                .rollback, "the patch builds on rev \(base); the map in force is rev \(next.base)")
        }
        guard revision >= next.revision else {
            throw Failure(
                .rollback,
                "rev \(revision) of the patch is not above \(next.revision - 1), which was used before")
        }
    }

    /// A new map of the agent's own takes the place of the patches; the revisions that they used stay used.
    private mutating func emptyPatches() {
        let key = MapRecord.patchLayer
        unfit[key] = nil
        reverted.remove(key)
        untrusted.remove(key)
        guard var patches = stored[key], patches.revisionFloor > 0 else {
            stored[key] = nil
            return
        }
        patches.revision = nil
        patches.digest = []
        patches.expires = nil
        patches.entries = Array("[]".utf8)
        (patches.author, patches.bytes, patches.changes) = (nil, nil, nil)
        stored[key] = patches
    }

    /// How entries differ from those before them; nil when these can't be read.
    private func changes(
        from known: MapRecord?, to entries: [RelocationEntry]
    ) -> MapRevision.Changes? {
        var before: [RelocationEntry] = []
        if let known, !known.isEmptied {
            guard let read = known.readEntries else { return nil }
            before = read
        }
        let changes = RelocationChanges(from: before, to: entries)
        return MapRevision.Changes(
            added: changes.added, removed: changes.removed, changed: changes.changed)
    }

    private func entries(
        of document: MapDocument, on key: String, over known: MapRecord?
    ) throws(Failure) -> [RelocationEntry] {
        guard key == MapRecord.patchLayer else { return document.entries }
        var patches = RelocationLayer(name: name(of: key), entries: [])
        do throws(RelocationError) {
            if let known { patches = try layer(known) }
        } catch {
            // Patches that do not fit this build any more are replaced.
            patches.entries = []
        }
        patches.patch(document.entries)
        guard patches.entries.count <= MapDocument.maximumEntries else {
            throw Failure(
                .tooLarge, "patches hold at most \(MapDocument.maximumEntries) entries; send a map instead")
        }
        return patches.entries
    }

    /// The layers as they are listed, in the order in which they act: their keys.
    package var listed: [String] {
        order.filter { key in
            record(of: key).map { !$0.isEmptied } ?? false || untrusted.contains(key)
                || refused[name(of: key)] != nil
        }
    }

    /// A stored layer as the router takes it.
    package func layer(_ record: MapRecord) throws(RelocationError) -> RelocationLayer {
        let name = name(of: record.layer)
        guard !record.isDamaged else {
            throw RelocationError(.badField, layer: name, detail: "the stored map is damaged on the disk")
        }
        do {
            let json = try JSONValue(parsing: record.entries, limits: .trustedFile)
            return RelocationLayer(
                name: name,
                entries: try RelocationEntry.list(json, maximum: MapDocument.maximumEntries))
        } catch let error as RelocationError {
            throw error
        } catch {
            throw RelocationError(
                .badField, layer: name, detail: "the stored map can't be read: \(error.words)")
        }
    }

    /// Remembers a refused document; false when that very one was refused before for the same reason, and then it is
    /// the newest again.
    package mutating func remember(_ document: AppliedMap.Refused) -> Bool {
        defer { assert(isConsistent) }
        let known = refused[document.layer]
        guard known?.digest != document.digest || known?.code != document.code else {
            refused[document.layer]?.at = document.at
            return false
        }
        refused[document.layer] = document
        return true
    }

    /// What is in force, for `map/applied`.
    package func applied(_ report: RelocationReport) -> AppliedMap {
        let leftOut = order.compactMap { key in
            unfit[key].map { error in
                RelocationReport.Inactive(
                    layer: name(of: key), index: error.index ?? 0,
                    reason: "the whole layer is left out, because it does not fit this build: \(error)")
            }
        }
        let unsigned = order.filter(untrusted.contains).map { key in
            RelocationReport.Inactive(
                layer: name(of: key), index: 0,
                reason: "the whole layer is left out, because too few trusted keys have signed it")
        }
        var report = report
        report.inactive = unsigned + leftOut + report.inactive
        return AppliedMap(
            layers: inForce.map {
                AppliedMap.Layer(
                    name: name(of: $0.layer), revision: $0.revision, digest: SHA256.label($0.digest),
                    at: $0.applied)
            },
            report, refused: newestRefused, nextPatch: nextPatch)
    }

    package var newestRefused: AppliedMap.Refused? {
        refused.values.max { ($0.at, $0.layer) < ($1.at, $1.layer) }
    }
}
