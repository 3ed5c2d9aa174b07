import Logging
import MQTTLink
public import Waypost
import WaypostMessages

/// A map of the past as it is sent again, with the next revision.
public struct MapUndo: Sendable {
    /// Its entries, in order.
    public let entries: [RelocationEntry]
    /// Higher than all that are known.
    public let revision: Int64
    /// What it is, for people: `rev 41, in force until …`.
    public let origin: String
    /// Who sends it again.
    fileprivate(set) var author = ""

    fileprivate init(entries: [RelocationEntry], revision: Int64, origin: String) {
        (self.entries, self.revision, self.origin) = (entries, revision, origin)
    }

    /// What may speak against it: it was in force before, with whatever it has.
    package static let allowed: Set<MapObjection.Kind> = [.unknownReceiver, .unchecked, .inactive, .loss]

    /// The document to send.
    public var relocation: Relocation { Relocation(map: entries, revision: revision, by: author) }
}

/// What the members of a group, or one agent, know of a layer.
struct LayerHistory: Sendable {
    let agent: String
    /// The newest first; the first one is in force unless it has an end.
    let revisions: [MapRevision]

    init(_ agent: String, _ revisions: [MapRevision]) {
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

/// The documents of one agent that make up the map before its last change; decisions only.
struct MapBefore: Equatable {
    /// The map of its own; nil for none.
    var own: MapRevision?
    /// The patches over it, those of that map and of no other; nil for none.
    var patches: MapRevision?
    /// What it is, for people.
    var origin: String

    /// - Parameter sent: the digest of what was sent last, as the broker keeps it; nil when it keeps nothing.
    /// - Throws: ``BackendError`` when there is nothing to undo, or when the map before is not kept.
    init(own: LayerHistory, patches: LayerHistory, sent: String?) throws(BackendError) {
        if let sent, sent != own.current?.digest {
            self.own = own.current
            self.patches = patches.current
            origin = "\(own.current?.shown ?? "no map"): the last one sent is not in force"
        } else if let patch = patches.current {
            self.own = own.current
            // Those that a map ended were of the map before that, though a patch of its own came at once.
            self.patches = patches.previous.flatMap {
                $0.until == patch.from && $0.until != own.current?.from ? $0 : nil
            }
            origin = "the map without the patch of \(Timestamp.local(patch.from))"
        } else if let current = own.current {
            guard own.previous != nil || own.isFirst else { throw MapUndoer.notKept(current, own.agent) }
            self.own = own.previous
            // A new map empties the patches.
            self.patches = patches.previous.flatMap { $0.until == current.from ? $0 : nil }
            origin =
                (own.previous?.shown ?? "no map")
                + (self.patches == nil ? "" : ", with the patches of that time")
        } else {
            throw BackendError(
                .notSent, "\(own.agent) has no map of its own and no patch; there is nothing to undo")
        }
    }
}

/// Finds the map before the one in force.
struct MapUndoer {
    private let settings: BackendConfiguration
    private let audience: Audience
    private let reader: MapReader
    private let wait: ReplyWait

    init(
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
    func undo(to revision: Int64? = nil) async throws -> MapUndo {
        let retained = try await retained()
        var undo =
            switch audience {
            case .agent(let agent): try await self.undo(of: agent, to: revision, retained)
            case .group: try await undoGroup(to: revision, retained)
            }
        undo.author = settings.name
        return undo
    }

    /// What the broker keeps for those that are away, with the highest revision of who may send them one.
    private struct Retained {
        var map: Relocation?
        var revision: Int64 = 0
    }

    private func retained() async throws -> Retained {
        let topics = settings.topics
        let topic = topics.map(of: audience)
        let control: String? = if case .group(let group) = audience { topics.rollout(of: group) } else { nil }
        var retained = Retained()
        var tried: Int64 = 0
        try await BackendSession.with(
            settings, required: [], useful: [topic] + [control].compactMap(\.self)
        ) { session in
            try await session.readRetained { message in
                guard message.retain, !message.payload.isEmpty else { return }
                if message.topic == topic { retained.map = Relocation(document: message.payload, .map) }
                if message.topic == control {
                    tried = (try? RolloutControl(message.payload))?.next.revision ?? 0
                }
            }
        }
        retained.revision = max(retained.map?.document?.revision ?? 0, tried)
        return retained
    }

    // MARK: One agent

    private func undo(
        of agent: String, to revision: Int64?, _ retained: Retained
    ) async throws -> MapUndo {
        let answers = try await reader.history(of: audience)
        guard let all = answers.values.first?.value.map(\.wire) else {
            throw Self.nothing(answers, of: audience)
        }
        let own = LayerHistory(agent, all.filter { $0.layer == "agent" })
        let patches = LayerHistory(agent, all.filter { $0.layer == "patch" })
        let next = try Self.next(after: own.revisions.compactMap(\.revision).max() ?? 0, retained.revision)
        if let revision {
            let document = try await reader.document(.revision(revision), layer: "agent", of: agent)
            return MapUndo(
                entries: try Self.sendable(document), revision: next, origin: document.version.wire.shown)
        }
        let before = try MapBefore(own: own, patches: patches, sent: retained.map?.digest)
        func read(_ one: MapRevision?, _ layer: String) async throws -> [RelocationEntry] {
            guard let one else { return [] }
            return try await entries(of: one, layer, agent)
        }
        return MapUndo(
            entries: RelocationEntry.merged(
                try await read(before.own, "agent"), under: try await read(before.patches, "patch")),
            revision: next, origin: before.origin)
    }

    // MARK: A group

    /// What one member alone says decides nothing for the others.
    private func undoGroup(to revision: Int64?, _ retained: Retained) async throws -> MapUndo {
        let layer = audience.description
        let answers = try await reader.history(of: audience, layer: layer)
        let members = answers.values.map { LayerHistory($0.agent, $0.value.map(\.wire)) }
        if members.isEmpty { throw Self.nothing(answers, of: audience) }
        let next = try nextRevision(of: members, retained)
        let known = members.filter { $0.current != nil }
        let taken = known.filter { $0.current?.digest == retained.map?.digest }
        let isTaken = retained.map == nil || taken.count > (known.count > 1 ? 1 : 0)
        guard !known.isEmpty else {
            guard retained.map != nil else {
                throw BackendError(
                    .notSent, "no member of \(layer) has a map of the group; there is nothing to undo")
            }
            return MapUndo(
                entries: [], revision: next, origin: "no map: the last one sent is not in force anywhere")
        }
        if !isTaken, revision == nil {
            let current = try agreed(known.map { ($0.agent, $0.current) }, of: members, "in force")
            return MapUndo(
                entries: try await entries(of: current, layer), revision: next,
                origin: "\(current.value.shown): the last one sent is not in force anywhere")
        }
        // Those that have not taken the newest yet have nothing to undo.
        let newest = retained.map == nil || !isTaken ? known : taken
        if let revision { return try await undoGroup(to: revision, of: newest, layer, next) }
        let others = newest.count { !$0.isFirst }
        if others == 0 || (others == 1 && newest.count > 2) {
            return MapUndo(entries: [], revision: next, origin: "no map")
        }
        guard newest.contains(where: { $0.previous != nil }), let last = newest.first?.revisions.first else {
            throw Self.notKept(known[0].revisions[0], layer)
        }
        let before = try agreed(newest.map { ($0.agent, $0.previous) }, of: newest, "before \(last.shown)")
        return MapUndo(
            entries: try await entries(of: before, layer), revision: next, origin: before.value.shown)
    }

    private func undoGroup(
        to revision: Int64, of members: [LayerHistory], _ layer: String, _ next: Int64
    ) async throws -> MapUndo {
        let kept = members.map { ($0.agent, $0.revisions.first { $0.revision == revision }) }
        guard kept.contains(where: { $0.1 != nil }) else {
            let kept = Set(members.flatMap { $0.revisions.compactMap(\.revision) }).sorted(by: >)
            throw BackendError(
                .notSent,
                "no member of \(layer) keeps rev \(revision); kept are \(kept.map(String.init).joined(separator: ", "))"
            )
        }
        let document = try agreed(kept, of: members, "under rev \(revision)")
        return MapUndo(
            entries: try await entries(of: document, layer), revision: next, origin: document.value.shown)
    }

    private func nextRevision(of members: [LayerHistory], _ retained: Retained) throws -> Int64 {
        let claims = MembersNumbers(
            Dictionary(members.map { ($0.agent, $0.revisions.compactMap(\.revision).max() ?? 0) }) { $1 })
        let newest = claims.newest(above: retained.revision)
        let ignored = claims.beyond(newest)
        if !ignored.isEmpty {
            settings.logger.warning(
                "\(ignored.named) \(ignored.count == 1 ? "claims" : "claim") a higher rev of \(audience) than \(newest); it is ignored"
            )
        }
        return try Self.next(after: newest, retained.revision)
    }

    /// The document that they have, but for one at most; those without one have none to choose.
    private func agreed(
        _ documents: [(agent: String, revision: MapRevision?)], of heard: [LayerHistory], _ place: String
    ) throws -> MembersWord<SaidRevision> {
        let said = documents.compactMap { agent, revision in
            revision.map { (agent, SaidRevision(revision: $0)) }
        }
        guard let word = MembersWord(said, of: heard.count) else {
            let groups = Dictionary(grouping: said, by: \.1).sorted { $0.value.count > $1.value.count }
            let list = groups.map { "\($0.key.shown) (\($0.value.map(\.0).sorted().named))" }
            let silent = documents.filter { $0.revision == nil }.map(\.agent)
            let maps = (list + (silent.isEmpty ? [] : ["none (\(silent.sorted().named))"]))
                .joined(separator: "; ")
            let advice: Wording = "\(library: "undoMap(to:)", shell: "--to REV")"
            throw BackendError(
                .notSent,
                "the members have different maps \(place): \(maps); choose one with \(advice), or send its file"
            )
        }
        if let other = word.dissenter {
            settings.logger.warning(
                "\(other) says to have another map \(place) than all others; it is ignored")
        }
        return word
    }

    /// How many of those that have a document are asked for it.
    private static let asked = 3

    /// The entries of a document as those show them that have it.
    private func entries(of word: MembersWord<SaidRevision>, _ layer: String) async throws
        -> [RelocationEntry]
    {
        var shown: [(agent: String, value: [RelocationEntry])] = []
        var fault: (any Error)?
        for agent in word.agents.prefix(Self.asked) {
            do {
                shown.append((agent, try await entries(of: word.value.revision, layer, agent)))
            } catch let error as BackendError {
                fault = error
            }
        }
        guard let entries = MembersWord(shown, of: word.agents.count) else {
            throw fault
                ?? BackendError(
                    .notSent,
                    "\(shown.map(\.agent).named) show different entries for \(word.value.shown); send its file again"
                        + "\(shell: ": waypost relocate --file")")
        }
        if let other = entries.dissenter {
            settings.logger.warning(
                "\(other) shows other entries for \(word.value.shown) than all others; it is ignored")
        }
        return entries.value
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
                + "send its file again\(shell: ": waypost relocate --file")")
    }

    private static func next(after revisions: Int64...) throws(BackendError) -> Int64 {
        let newest = revisions.max() ?? 0
        guard newest < Fields.largestInteger else {
            throw BackendError(.notSent, "rev \(newest) is the highest possible")
        }
        return newest + 1
    }

    fileprivate static func notKept(_ revision: MapRevision, _ place: String) -> BackendError {
        BackendError(
            .notSent,
            "the map before \(revision.shown) of \(place) is not kept\(library: "; mapHistory() lists those that are", shell: "; see: waypost map history"). "
                + "To remove all its entries send {\"type\":\"map\",\"rev\":N,\"entries\":[]}")
    }

    private static func nothing<Value>(
        _ answers: MapReader.Answers<Value>, of audience: Audience
    ) -> BackendError {
        if let silence = answers.silence { return silence }
        let reason = answers.refusals.first.map { "\($0.agent): \($0.reply.code): \($0.reply.detail ?? "")" }
        return BackendError(.refused, "\(reason ?? "no agent of \(audience) answered")")
    }
}

/// A document as members name it: its times are each member's own.
private struct SaidRevision: Hashable, Sendable {
    let revision: MapRevision

    var shown: String { revision.shown }

    static func == (one: SaidRevision, other: SaidRevision) -> Bool {
        one.revision.digest == other.revision.digest
    }

    func hash(into hasher: inout Hasher) { hasher.combine(revision.digest) }
}

extension MapRevision {
    /// For people: `rev 41, in force since …`.
    var shown: String {
        let name = revision.map { "rev \($0)" } ?? "the map \(digest.prefix(15))…"
        return until.map { "\(name), in force until \(Timestamp.local($0))" }
            ?? "\(name), in force since \(Timestamp.local(from))"
    }
}
