public import Waypost
import WaypostMessages
import WaypostTools

/// What a document would change at agents that have the same routes and the same maps, found without sending it.
public struct MapDiff: Sendable, Hashable {
    /// An entry whose effect would change.
    public struct Change: Sendable, Hashable {
        /// The entry in force.
        public let before: RelocationEntry
        /// The one in its place.
        public let after: RelocationEntry
    }

    /// A URL that would lead elsewhere.
    public struct Destination: Sendable, Hashable {
        /// The origin or the route, as it is written.
        public let subject: String
        /// The route that takes it now, or the code and the name of the reason why none does: `404 NO_ROUTE`.
        public let before: String
        /// The same afterwards.
        public let after: String
    }

    /// An entry of the document that would have no effect.
    public struct Inactive: Sendable, Hashable {
        /// Its number in its layer, from 1.
        public let number: Int
        /// What it would do.
        public let entry: RelocationEntry
        /// Why it would have none.
        public let reason: String
    }

    /// The agents for which it holds, by name.
    public package(set) var agents: [String] = []
    /// How the entries of the layer would change.
    package private(set) var changes: RelocationChanges
    /// How many entries of patches would go: a new map of the agent's own empties them.
    public private(set) var emptiedPatches = 0
    /// What would lead elsewhere; nil when the agent's routes are not known.
    public private(set) var destinations: [Destination]?
    /// The document's entries without effect; nil when the agent's routes are not known.
    public private(set) var inactive: [Inactive]?
    /// Why the agent would refuse the document, for instance 422 `CYCLE`; nil when nothing speaks against it.
    public private(set) var refusal: Failure?

    /// The entries that would be new.
    public var added: [RelocationEntry] {
        changes.list.compactMap { $0.before == nil ? $0.after : nil }
    }
    /// The entries that would go.
    public var removed: [RelocationEntry] {
        changes.list.compactMap { $0.after == nil ? $0.before : nil }
    }
    /// The entries that would be replaced by others about the same path.
    public var changed: [Change] {
        changes.list.compactMap { change in
            guard let before = change.before, let after = change.after else { return nil }
            return Change(before: before, after: after)
        }
    }
    /// How many entries would disappear, those of patches too.
    public var disappearing: Int { changes.removed + emptiedPatches }
    /// Whether no entry would change.
    public var isEmpty: Bool { changes.list.isEmpty && emptiedPatches == 0 }

    /// - Parameters:
    ///   - digest: Of the document's bytes.
    ///   - contract: What the agent opens; nil when it is not known.
    ///   - layers: What is in force.
    ///   - layer: The layer to which the document goes, by its name on the wire.
    init(
        of document: MapDocument, digest: String, isPatch: Bool, to layer: String, over layers: [MapLayer],
        _ contract: RouterContract?
    ) {
        let current = layers.first { $0.name == layer }
        let before = current?.relocationEntries ?? []
        var next = RelocationLayer(name: layer, entries: before)
        if isPatch { next.patch(document.entries) } else { next.entries = document.entries }
        changes = RelocationChanges(from: before, to: next.entries)
        if !isPatch, layer == "agent" {
            emptiedPatches = layers.first { $0.name == "patch" }?.count ?? 0
        }
        if let revision = document.revision, !isPatch, let known = current?.revision {
            if revision < known {
                refusal = Failure(.rollback, "rev \(revision) is below \(known), which is in force")
            } else if revision == known, let inForce = current?.digest, inForce != digest {
                refusal = Failure(
                    .equivocation, "rev \(revision) is in force with other content; give it a higher one")
            }
        }
        guard let contract else { return }
        // Nothing else is to be said of what an older agent does not read.
        if let unknown = contract.unknownKind(in: document.entries) {
            refusal = refusal ?? unknown
            return
        }
        guard let routers = MapStage(contract, layers) else { return }
        compare(routers, next, document)
    }

    private mutating func compare(_ stage: MapStage, _ next: RelocationLayer, _ document: MapDocument) {
        let report: RelocationReport
        do throws(RelocationError) {
            report = try stage.relocate(next)
        } catch {
            refusal = refusal ?? Failure(error)
            return
        }
        // Of a patch only its own entries are the sender's concern.
        let own = Set(document.entries)
        inactive = report.inactive.compactMap { found in
            guard found.layer == next.name, next.entries.indices.contains(found.index),
                case let entry = next.entries[found.index], own.contains(entry)
            else { return nil }
            // Destinations without a path are in no contract.
            if case .add = entry.kind { return nil }
            return Inactive(number: found.index + 1, entry: entry, reason: found.reason)
        }
        destinations = stage.compare(changes.list.compactMap { $0.after ?? $0.before })
    }

    /// Whether what is to be said is the same.
    func isSame(as other: MapDiff) -> Bool {
        changes == other.changes && emptiedPatches == other.emptiedPatches
            && destinations == other.destinations && inactive == other.inactive && refusal == other.refusal
    }
}

/// Two routers with an agent's routes: one with its maps as they are, one as they would be.
struct MapStage {
    /// The most URLs that are compared.
    private static let maximumSubjects = 5_000

    private let routes: [String]
    private let services: [ServiceDescription]
    private let layers: [RelocationLayer]
    private let before: Router
    private let after: Router

    /// Nil when the contract makes no sense here, such as one of a newer agent.
    init?(_ contract: RouterContract, _ maps: [MapLayer]) {
        let active = maps.filter { $0.state == .active }
        layers = active.map { RelocationLayer(name: $0.name, entries: $0.relocationEntries.map(\.always)) }
        let base = Self.routes(of: contract, below: active)
        (routes, services) = (base.map(\.path), contract.services)
        func router() -> Router? {
            let router = Router(configuration: contract.settings.configuration)
            let known = base.filter { $0.missingConverter(router.configuration) == nil }
            guard
                (try? router.register(known.map { Route($0) { _ in .opened(.null) } }, replacing: true))
                    != nil, (try? router.registerStandIns(for: contract)) != nil
            else { return nil }
            return router
        }
        guard let before = router(), let after = router() else { return nil }
        (self.before, self.after) = (before, after)
        _ = try? before.relocate(layers)
    }

    /// The routes without those that maps added, and with those that maps took away.
    private static func routes(of contract: RouterContract, below layers: [MapLayer]) -> [RouteDescription] {
        var routes = contract.routes
        for entry in layers.flatMap(\.entries) where entry.state == .active {
            switch (try? RelocationEntry(entry.content))?.kind {
            case .add(let path, _): routes.removeAll { $0.path == path }
            case .delete(let path): routes.append(RouteDescription(path: path, className: ""))
            default: break
            }
        }
        return routes
    }

    /// Lays the maps over the routes as they would be.
    func relocate(_ next: RelocationLayer) throws(RelocationError) -> RelocationReport {
        var list = layers
        let always = RelocationLayer(name: next.name, entries: next.entries.map(\.always))
        if next.name == "agent" { list.removeAll { $0.name == "patch" } }
        if let place = list.firstIndex(where: { $0.name == next.name }) {
            list[place] = always
        } else {
            list.insert(always, at: place(of: next.name, in: list))
        }
        return try after.relocate(list)
    }

    private func place(of name: String, in list: [RelocationLayer]) -> Int {
        func rank(_ name: String) -> Int {
            switch name {
            case "patch": 4
            case "agent": 3
            case "@all": 1
            default: name.hasPrefix("@") ? 2 : 0
            }
        }
        return list.firstIndex { rank($0.name) > rank(name) } ?? list.count
    }

    /// Where a URL would lead, after ``relocate(_:)``.
    func resolve(_ url: String) -> String { Self.end(after.resolve(url)) }

    /// The origins and routes that would lead elsewhere.
    func compare(_ changed: [RelocationEntry]) -> [MapDiff.Destination] {
        let all =
            changed.map { (subject: $0.subjectPath, sample: $0.sample) }
            + routes.map { (subject: $0, sample: RelocationEntry.sample(of: $0)) }
        var seen: Set<String> = []
        let pages = all.prefix(Self.maximumSubjects).compactMap { subject, sample -> MapDiff.Destination? in
            guard let sample, seen.insert(sample).inserted else { return nil }
            return destination(subject) { $0.resolve(sample) }
        }
        let calls = Set(changed.flatMap(methods)).sorted { $0.text < $1.text }
        return pages
            + calls.prefix(Self.maximumSubjects).compactMap { method in
                destination(method.text) { $0.resolveCall(method.service, method.name) }
            }
    }

    private func destination(_ subject: String, _ resolve: (Router) -> Resolution) -> MapDiff.Destination? {
        let (old, new) = (Self.end(resolve(before)), Self.end(resolve(after)))
        return old == new ? nil : MapDiff.Destination(subject: subject, before: old, after: new)
    }

    /// The methods that an entry is about.
    private func methods(_ entry: RelocationEntry) -> [RelocationEntry.Method] {
        switch entry.subject {
        case .method(let method): [method]
        case .service(let name):
            (services.first { $0.name == name }?.methods ?? []).map { .init(name, $0.name) }
        case .pages, nil: []
        }
    }

    /// The route or the method, behind which gate, or the code and the name of the reason why there is none.
    private static func end(_ resolution: Resolution) -> String {
        if let error = resolution.error { return "\(error.code.number) \(error.code.name)" }
        if let answer = resolution.answer { return "answer \(answer.text.cut(to: 120))" }
        if let service = resolution.service, let method = resolution.method {
            return "\(service).\(method.name)"
        }
        let gate = resolution.interceptors.first.map { " through \($0)" } ?? ""
        return (resolution.route ?? resolution.url) + gate
    }
}

extension RelocationEntry {
    /// The same without its condition: what it does where that holds.
    fileprivate var always: RelocationEntry {
        var entry = self
        if entry.when != nil { entry.when = [:] }
        return entry
    }
}
