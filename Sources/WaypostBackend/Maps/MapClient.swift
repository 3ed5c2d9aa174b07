import MQTTLink
package import Waypost
package import WaypostMessages

/// The maps of one agent, or of the members of a group: what is in force, what was, and what is sent.
package struct MapClient: Sendable {
    package let settings: BackendConfiguration
    let audience: Audience
    private let wait: ReplyWait

    /// - Parameter settings: Their signer signs what is asked and sent.
    package init(_ settings: BackendConfiguration, of audience: Audience, _ wait: ReplyWait = ReplyWait()) {
        (self.settings, self.audience, self.wait) = (settings, audience, wait)
    }

    /// What is in force.
    ///
    /// - Parameter url: For one agent: a URL, to learn where it leads.
    /// - Throws: ``BackendError`` when there is no broker.
    package func maps(
        layer: String? = nil, at url: String? = nil
    ) async throws -> MapReader.Answers<AgentMaps> {
        var answers = try await MapReader(settings, wait).layers(of: audience, layer: layer)
        guard let url, !answers.values.isEmpty else { return answers }
        answers.values[0].value.resolved = try await resolve([url]).first
        return answers
    }

    /// The last documents that were in force, of each layer the newest first.
    ///
    /// - Throws: ``BackendError`` when there is no broker.
    package func history(layer: String? = nil) async throws -> MapReader.Answers<[MapVersion]> {
        try await MapReader(settings, wait).history(of: audience, layer: layer)
    }

    /// One of these documents, of one agent.
    ///
    /// - Throws: ``BackendError`` when the agent does not have it, or does not answer.
    package func document(_ subject: MapsRequest.Subject, layer: String) async throws -> KeptMap {
        try await MapReader(settings, wait).document(subject, layer: layer, of: audience.agentFilter)
    }

    /// Where URLs lead at one agent.
    ///
    /// - Throws: ``BackendError`` when the agent refuses, such as one of an older version, or does not answer.
    package func resolve(
        _ urls: [String], parameters: [String: JSONValue] = [:], as caller: String? = nil
    ) async throws -> [ResolvedRoute] {
        try await URLResolver(settings, wait)
            .resolve(urls, parameters: parameters, as: caller, at: audience.agentFilter)
    }

    /// What calls would run at one agent; see ``resolve(_:parameters:as:)``.
    package func resolve(
        calls: [RelocationEntry.Method], parameters: [String: JSONValue] = [:]
    ) async throws -> [ResolvedRoute] {
        try await URLResolver(settings, wait)
            .resolve(calls: calls, parameters: parameters, at: audience.agentFilter)
    }

    /// What a document would change; nothing is sent.
    ///
    /// A patch for a group is put over its map first.
    /// - Throws: ``BackendError`` when it can't be sent, or when there is no broker.
    func plan(_ relocation: Relocation) async throws -> MapPlan {
        let relocation = try await merged(relocation)
        // What can't be sent is found before a connection is made.
        _ = try relocation.message(to: audience, settings.topics)
        return try await MapPlanner(settings, for: audience).plan(relocation)
    }

    /// Sends a document unless something speaks against it, and hands over what each agent says of it.
    ///
    /// - Parameter allowed: What may speak against it.
    /// - Throws: ``BackendError`` of kind `notSent` with what speaks against it; with what is known of the agents that
    ///   did not answer in time.
    func relocate(
        _ relocation: Relocation, allowing allowed: Set<MapObjection.Kind>,
        _ each: (RelocationAnswer) -> Void
    ) async throws {
        let plan = try await plan(relocation)
        try plan.objections.check(allowed)
        try await send(plan, each)
    }

    /// The same after it was decided by its plan: what comes meanwhile is not allowed.
    func send(_ plan: MapPlan, _ each: (RelocationAnswer) -> Void) async throws {
        let allowed = Set(plan.objections.map(\.kind))
        _ = try await RelocationRequest(plan.relocation, to: audience, settings, wait, allowing: allowed)
            .perform(each)
    }

    /// A whole map of the group's with the next revision: the entries of a patch over the map in force.
    ///
    /// That is what the broker keeps for the group; where it keeps nothing, what the members say, but for one at most.
    /// - Throws: ``BackendError`` when it can't be known which map is in force.
    private func merged(_ patch: Relocation) async throws -> Relocation {
        guard case .group(let group) = audience, patch.kind == .patch, let document = patch.document else {
            return patch
        }
        var entries: [RelocationEntry] = []
        var revision: Int64 = 0
        let kept = try await keptMap(of: group)
        if let base = try kept?.content(for: settings.signer, orElse: Self.wholeMap) {
            (entries, revision) = (base.entries, base.revision ?? 0)
        } else {
            (entries, revision) = try await said(of: audience.description)
        }
        var layer = RelocationLayer(name: audience.description, entries: entries)
        layer.patch(document.entries)
        let map = MapDocument.map(
            id: Identifier.ulid(), revision: revision + 1, entries: .array(layer.entries.map(\.json)),
            by: document.author ?? settings.name)
        return try Relocation(file: map, name: "the map of \(audience)")
    }

    /// What the members say to have in force of the group's map, but for one at most; nothing where they have none.
    private func said(of layer: String) async throws -> (entries: [RelocationEntry], revision: Int64) {
        struct Said: Hashable, Sendable {
            var revision: Int64?
            var entries: [RelocationEntry] = []
        }
        let answers = try await maps(layer: layer).values
        let said = answers.map { answer in
            let found = answer.value.layers.first { $0.wire.name == layer }?.wire
            return (answer.agent, Said(revision: found?.revision, entries: found?.relocationEntries ?? []))
        }
        guard let word = MembersWord(said, of: said.count) else {
            guard !said.isEmpty else { return ([], 0) }
            let list = said.map { "\($0.0) has \($0.1.revision.map { "rev \($0)" } ?? "none")" }
            throw BackendError(
                .notSent,
                "not sent: the broker keeps no map of \(layer), and its members have different ones: "
                    + "\(list.sorted().named); send a whole map")
        }
        return (word.value.entries, word.value.revision ?? 0)
    }

    private static let wholeMap: Wording =
        "send a whole map with a higher rev\(shell: ": --file"), or name the key that signed it: \(library: "Signer.trust", shell: "--trust-key")"

    /// The map that the broker keeps for a group; nil when it keeps none.
    private func keptMap(of group: String) async throws -> KeptDocument<MapDocument>? {
        let topic = settings.topics.map(of: .group(group))
        return try await BackendSession.with(settings, required: [], useful: [topic]) { session in
            var kept: KeptDocument<MapDocument>?
            try await session.readRetained { message in
                kept = message.payload.isEmpty ? nil : KeptDocument(map: message.payload, of: audience)
            }
            return kept
        }
    }

    /// The map before the last change, or that of an earlier revision; nothing is sent.
    ///
    /// - Throws: ``BackendError`` when it is not kept, or the members of a group have different ones.
    func undo(to revision: Int64? = nil) async throws -> MapUndo {
        try await MapUndoer(settings, for: audience, wait).undo(to: revision)
    }
}
