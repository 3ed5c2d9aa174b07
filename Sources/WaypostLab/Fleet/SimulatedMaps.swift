import Threading
import Waypost
import WaypostAgent
import WaypostFleet
import WaypostMessages

/// The maps of an agent: of all agents that were sent the same, for they have them in common.
final class SimulatedMaps: Sendable {
    /// A document that was in force.
    struct Past: Sendable {
        var key: String
        var revision: MapRevision
        var entries: [UInt8]
    }

    /// What became of a document.
    enum Outcome: Sendable {
        case applied(layer: String, revision: Int64?, entries: Int)
        /// It is kept beside the map of its layer.
        case candidate
        /// These bytes were in force before.
        case inForce
        /// - isNew: whether this one was not refused before for the same reason.
        case refused(Failure, layer: String, isNew: Bool)
    }

    /// The name of the agent's own layer; no group has it, for it has no `@`.
    static let ownLayer = "agent"

    let build: SimulatedBuild
    let layers: MapLayers
    /// The newest first.
    let past: [Past]
    let compiled: CompiledRelocation
    /// As long as no condition asks for the agent.
    private let common: AppliedMap
    /// What came of URLs, which is the same for all.
    private let resolved = Guarded<[String: Failure?]>([:])
    private let documents = Guarded<SimulatedBuild.Documents?>(nil)

    /// No map yet.
    convenience init(_ build: SimulatedBuild, groups: [String]) throws {
        try self.init(build, MapLayers(agent: Self.ownLayer, groups: groups), past: [])
    }

    private convenience init(
        _ build: SimulatedBuild, _ layers: MapLayers, past: [Past]
    ) throws(RelocationError) {
        var list: [RelocationLayer] = []
        for record in layers.inForce { list.append(try layers.layer(record)) }
        self.init(build, layers, past, try build.compile(list))
    }

    private init(
        _ build: SimulatedBuild, _ layers: MapLayers, _ past: [Past], _ compiled: CompiledRelocation
    ) {
        self.build = build
        self.layers = layers
        self.past = past
        self.compiled = compiled
        common = layers.applied(build.report(compiled, for: nil))
    }

    /// Whether conditions decide, which each agent answers for itself.
    var isPersonal: Bool { !common.conditional.isEmpty }

    /// What is in force in an agent.
    func applied(by agent: String) -> AppliedMap {
        isPersonal ? layers.applied(build.report(compiled, for: agent)) : common
    }

    /// The uppermost layer with a revision.
    var inForce: FailureReport.MapInForce? {
        common.layers.reversed().lazy.compactMap { layer in
            layer.revision.map { FailureReport.MapInForce(layer: layer.name, revision: $0) }
        }.first
    }

    /// The answer to a `maps` of an agent.
    func page(_ request: MapsRequest, of agent: String, bytes: Int) -> Result<JSONValue, Failure> {
        build.look(self, agent) { router in
            let listing = MapListing(layers, applied(by: agent), in: router) { () throws(Failure) in
                self.past.map { past in
                    MapListing.Past(layer: past.key, revision: past.revision) { () throws(Failure) in
                        past.entries
                    }
                }
            }
            return Result { () throws(Failure) in try listing.page(request, bytes: bytes) }
        }
    }

    // MARK: Candidates

    /// The same with candidates in the place of some layers, as far as they fit, and why others do not.
    func choosing(_ wanted: [String]) -> (SimulatedMaps, refused: [String: Failure]) {
        var next = layers
        var refused: [String: Failure] = [:]
        let maps = next.choose(wanted) { (layers) throws(RelocationError) in
            try SimulatedMaps(build, layers, past: past)
        } refused: {
            refused[$0] = Failure($1)
        }
        return (maps ?? self, refused)
    }

    /// The same without the candidates of these layers.
    func droppingCandidates(of keys: [String]) -> SimulatedMaps {
        var next = layers
        next.dropCandidates(of: keys)
        return SimulatedMaps(build, next, past, compiled)
    }

    /// Why a URL would not be opened; nil when it would.
    func resolve(_ url: String, for agent: String) -> Failure? {
        if !isPersonal, let known = resolved.withLock({ $0[url] }) { return known }
        let error = build.look(self, agent) { $0.resolve(url).error }
        if !isPersonal { resolved.withLock { $0[url] = .some(error) } }
        return error
    }

    /// The routes and the contract of an agent.
    func documents(of agent: String) -> SimulatedBuild.Documents {
        if !isPersonal, let known = documents.withLock({ $0 }) { return known }
        let made = build.documents(self, agent)
        if !isPersonal { documents.withLock { $0 = made } }
        return made
    }

    // MARK: Documents

    /// Takes a document as an agent does, whole or not at all: the maps that follow, and what became of it.
    func taking(
        _ arrived: ArrivedMap, at now: Int64, isClockCorrect: Bool, _ rules: MapDocument.Rules
    ) -> (SimulatedMaps, Outcome) {
        var (arrived, next) = (arrived, layers)
        let name = layers.name(of: arrived.key)
        do throws(Failure) {
            guard try next.take(&arrived, rules, at: now, isClockCorrect: isClockCorrect) else {
                return (self, .inForce)
            }
            guard arrived.candidateOf == nil else {
                return (SimulatedMaps(build, next, past, compiled), .candidate)
            }
            do throws(RelocationError) {
                let maps = try SimulatedMaps(build, next, past: pastAfter(next, at: now))
                return (
                    maps,
                    .applied(
                        layer: name, revision: arrived.document?.revision,
                        entries: arrived.document?.entries.count ?? 0)
                )
            } catch {
                throw Failure(error)
            }
        } catch {
            next = layers
            let isNew = next.remember(arrived.refused(error, on: name, at: now))
            return (
                SimulatedMaps(build, next, past, compiled), .refused(error, layer: name, isNew: isNew)
            )
        }
    }

    /// The documents of the past when these layers are in force: what they take the place of came last.
    private func pastAfter(_ next: MapLayers, at now: Int64) -> [Past] {
        var all = past
        for (key, record) in layers.stored
        where next.stored[key] != record && !record.isEmptied && MapRecord.group(ofCandidate: key) == nil {
            var revision = MapRevision(record, layer: layers.name(of: key))
            revision.until = max(now, record.applied)
            all.insert(Past(key: key, revision: revision, entries: record.entries), at: 0)
        }
        var counts: [String: Int] = [:]
        return all.filter { document in
            counts[document.key, default: 0] += 1
            return counts[document.key, default: 0] <= AgentLimits.pastMaps
        }
    }
}
