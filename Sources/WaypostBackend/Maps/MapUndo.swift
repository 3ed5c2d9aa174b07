import MQTTLink
public import Waypost
package import WaypostMessages

/// A map of the past as it is sent again, with the next revision.
public struct MapUndo: Sendable {
    /// Its entries, in order.
    public let entries: [RelocationEntry]
    /// Higher than all that are known.
    public let revision: Int64
    /// What it is, for people: `rev 41, in force until …`.
    public let origin: String
    /// Who sends it again.
    package fileprivate(set) var author = ""

    fileprivate init(entries: [RelocationEntry], revision: Int64, origin: String) {
        (self.entries, self.revision, self.origin) = (entries, revision, origin)
    }

    /// What may speak against it: it was in force before, with whatever it has.
    package static let allowed: Set<MapObjection.Kind> = [.unknownReceiver, .unchecked, .inactive, .loss]

    /// The document to send.
    public var relocation: Relocation { Relocation(map: entries, revision: revision, by: author) }
}

/// What the members of a group, or one agent, know of a layer.
package struct LayerHistory: Sendable {
    package let agent: String
    /// The newest first; the first one is in force unless it has an end.
    package let revisions: [MapRevision]

    package init(_ agent: String, _ revisions: [MapRevision]) {
        self.agent = agent
        self.revisions = revisions
    }

    var current: MapRevision? { revisions.first.flatMap { $0.until == nil ? $0 : nil } }

    /// The one before the one in force; the newest when none is.
    var previous: MapRevision? { revisions.first { $0.until != nil } }

    /// Whether there was nothing in the layer before what is in force now.
    var isFirst: Bool {
        guard let changes = current?.changes else { return false }
        return previous == nil && changes.removed == 0 && changes.changed == 0
    }
}

/// Finds the map before the one in force.
package struct MapUndoer {
    private let settings: BackendConfiguration
    private let audience: Audience
    private let reader: MapReader
    private let wait: ReplyWait

    package init(
        _ settings: BackendConfiguration, for audience: Audience, _ wait: ReplyWait
    ) {
        (self.settings, self.audience, self.wait) = (settings, audience, wait)
        reader = MapReader(settings, wait)
    }

    /// The map before the last change, or that of an earlier revision.
    ///
    /// Of one agent a patch counts as a change; the map then has what is left of the patches. When what was sent last
    /// was refused, it is the map in force: so the broker keeps that again.
    ///
    /// - Throws: ``BackendError`` when it is not kept, or the members of a group have different ones.
    package func undo(to revision: Int64? = nil) async throws -> MapUndo {
        let retained = try await retained()
        var undo =
            switch audience {
            case .agent(let agent): try await self.undo(of: agent, to: revision, retained)
            case .group: try await undoGroup(to: revision, retained)
            }
        undo.author = settings.name
        return undo
    }

    /// What the broker keeps for those that are away.
    private func retained() async throws -> Relocation? {
        let topic = settings.topics.map(of: audience)
        var payload: [UInt8]?
        try await BackendSession.with(settings, required: [], useful: [topic]) { session in
            _ = try await session.readRetained(within: .seconds(5)) { message in
                if message.topic == topic, message.retain { payload = message.payload }
            }
        }
        return payload.flatMap { $0.isEmpty ? nil : Relocation(document: $0, .map) }
    }

    // MARK: One agent

    private func undo(
        of agent: String, to revision: Int64?, _ retained: Relocation?
    ) async throws -> MapUndo {
        let answers = try await reader.history(of: audience)
        guard let all = answers.values.first?.value.map(\.wire) else {
            throw Self.nothing(answers, of: audience)
        }
        let own = LayerHistory(agent, all.filter { $0.layer == "agent" })
        let patches = LayerHistory(agent, all.filter { $0.layer == "patch" })
        let next = try Self.next(own.revisions.compactMap(\.revision) + [retained?.document?.revision ?? 0])
        func read(_ one: MapRevision?, _ layer: String) async throws -> [RelocationEntry] {
            guard let one else { return [] }
            return try await entries(of: one, layer, agent)
        }
        if let revision {
            let document = try await reader.document(.revision(revision), layer: "agent", of: agent)
            return MapUndo(
                entries: try Self.sendable(document), revision: next, origin: document.version.wire.shown)
        }
        if let retained, retained.digest != own.current?.digest {
            let kept = try await read(own.current, "agent")
            let over = try await read(patches.current, "patch")
            return MapUndo(
                entries: RelocationEntry.merged(kept, under: over), revision: next,
                origin: "\(own.current?.shown ?? "no map"): the last one sent is not in force")
        }
        if let patch = patches.current {
            // The patches before belong to the same map.
            let earlier = patches.previous.flatMap { $0.until == patch.from ? $0 : nil }
            let own = try await read(own.current, "agent")
            return MapUndo(
                entries: RelocationEntry.merged(own, under: try await read(earlier, "patch")), revision: next,
                origin: "the map without the patch of \(Timestamp.local(patch.from))")
        }
        guard let current = own.current else {
            throw BackendError(
                .notSent, "\(agent) has no map of its own and no patch; there is nothing to undo")
        }
        // A new map empties the patches.
        let emptied = patches.previous.flatMap { $0.until == current.from ? $0 : nil }
        guard own.previous != nil || own.isFirst else { throw Self.notKept(current, agent) }
        let before = try await read(own.previous, "agent")
        return MapUndo(
            entries: RelocationEntry.merged(before, under: try await read(emptied, "patch")), revision: next,
            origin: (own.previous?.shown ?? "no map")
                + (emptied == nil ? "" : ", with the patches of that time"))
    }

    // MARK: A group

    private func undoGroup(to revision: Int64?, _ retained: Relocation?) async throws -> MapUndo {
        let layer = audience.description
        let answers = try await reader.history(of: audience, layer: layer)
        let members = answers.values.map { LayerHistory($0.agent, $0.value.map(\.wire)) }
        let known = members.filter { $0.current != nil }
        let next = try Self.next(
            members.flatMap { $0.revisions.compactMap(\.revision) } + [retained?.document?.revision ?? 0])
        guard let first = known.first else {
            if !members.isEmpty, retained != nil {
                return MapUndo(
                    entries: [], revision: next,
                    origin: "no map: the last one sent is not in force anywhere")
            }
            if answers.values.isEmpty { throw Self.nothing(answers, of: audience) }
            throw BackendError(
                .notSent, "no member of \(layer) has a map of the group; there is nothing to undo")
        }
        if let retained, known.allSatisfy({ $0.current?.digest != retained.digest }), revision == nil {
            let current = try Self.agreed(known.map { ($0.agent, $0.current) }, "in force")
            return MapUndo(
                entries: try await entries(of: current ?? first.revisions[0], layer, first.agent),
                revision: next,
                origin: "\(first.revisions[0].shown): the last one sent is not in force anywhere")
        }
        // Those that have not taken the newest yet have nothing to undo.
        let newest =
            retained.map { retained in known.filter { $0.current?.digest == retained.digest } } ?? known
        if let revision {
            guard let holder = newest.first(where: { $0.revisions.contains { $0.revision == revision } })
            else {
                let kept = Set(newest.flatMap { $0.revisions.compactMap(\.revision) }).sorted(by: >)
                throw BackendError(
                    .notSent,
                    "no member of \(layer) keeps rev \(revision); kept are "
                        + kept.map(String.init).joined(separator: ", "))
            }
            let document = try await reader.document(.revision(revision), layer: layer, of: holder.agent)
            return MapUndo(
                entries: try Self.sendable(document), revision: next, origin: document.version.wire.shown)
        }
        if newest.allSatisfy(\.isFirst) {
            return MapUndo(entries: [], revision: next, origin: "no map")
        }
        let with = newest.filter { $0.previous != nil }
        guard let holder = with.first else { throw Self.notKept(first.revisions[0], layer) }
        guard let before = try Self.agreed(with.map { ($0.agent, $0.previous) }, "before it") else {
            throw Self.notKept(first.revisions[0], layer)
        }
        return MapUndo(
            entries: try await entries(of: before, layer, holder.agent), revision: next, origin: before.shown)
    }

    /// The document that all of them have.
    private static func agreed(
        _ documents: [(agent: String, revision: MapRevision?)], _ place: String
    ) throws(BackendError) -> MapRevision? {
        let groups = Dictionary(grouping: documents) { $0.revision?.digest ?? "" }
        guard groups.count > 1 else { return documents.first?.revision }
        let list = groups.values.sorted { $0.count > $1.count }.map { group in
            "\(group.first?.revision?.shown ?? "none") (\(group.map(\.agent).prefix(5).joined(separator: ", ")))"
        }
        throw BackendError(
            .notSent,
            "the members have different maps \(place): \(list.joined(separator: "; ")); choose one with --to REV"
        )
    }

    // MARK: Both

    private func entries(
        of revision: MapRevision, _ layer: String, _ agent: String
    ) async throws -> [RelocationEntry] {
        let document = try await reader.document(.digest(revision.digest), layer: layer, of: agent)
        return try Self.sendable(document)
    }

    private static func sendable(_ document: KeptMap) throws(BackendError) -> [RelocationEntry] {
        guard document.isMasked else { return document.entries }
        throw BackendError(
            .notSent,
            "\(document.version.wire.shown) has values of secret keys, which the agent does not show; "
                + "send its file again: waypost relocate --file")
    }

    private static func next(_ revisions: [Int64]) throws(BackendError) -> Int64 {
        let newest = revisions.max() ?? 0
        guard newest < Fields.largestInteger else {
            throw BackendError(.notSent, "rev \(newest) is the highest possible")
        }
        return newest + 1
    }

    private static func notKept(_ revision: MapRevision, _ place: String) -> BackendError {
        BackendError(
            .notSent,
            "the map before \(revision.shown) of \(place) is not kept; see: waypost map history. To remove all its "
                + "entries send {\"type\":\"map\",\"rev\":N,\"entries\":[]}")
    }

    private static func nothing<Value>(
        _ answers: MapReader.Answers<Value>, of audience: Audience
    ) -> BackendError {
        if let silence = answers.silence { return silence }
        let reason = answers.refusals.first.map { "\($0.agent): \($0.reply.code): \($0.reply.detail ?? "")" }
        return BackendError(.refused, reason ?? "no agent of \(audience) answered")
    }
}

extension MapRevision {
    /// For people: `rev 41, in force since …`.
    package var shown: String {
        let name = revision.map { "rev \($0)" } ?? "the map \(digest.prefix(15))…"
        return until.map { "\(name), in force until \(Timestamp.local($0))" }
            ?? "\(name), in force since \(Timestamp.local(from))"
    }
}
