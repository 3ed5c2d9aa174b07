public import Waypost
import WaypostMessages

/// Maps: what is in force, what was, and what is sent.
extension AgentClient {
    /// The relocation layers in force, in the order in which they act, with their entries.
    ///
    /// - Parameters:
    ///   - layer: Only this one: `agent`, `patch`, `@` and the name of a group; nil for all.
    ///   - url: A URL for which ``AgentMaps/acting`` says which entries act on it.
    ///   - deadline: How long the answer is waited for; nil for 10 s, and shorter for an agent known to be offline.
    /// - Throws: ``BackendError``; of kind `noReply` when the agent does not answer.
    public func maps(
        layer: String? = nil, at url: String? = nil, deadline: Duration? = nil
    ) async throws -> AgentMaps {
        try await reading(deadline) { try await $0.maps(layer: layer, at: url).only(of: name) }
    }

    /// The last documents that were in force, of each layer the newest first; the agent keeps eight of each.
    ///
    /// - Parameters:
    ///   - layer: Only this one: `agent`, `patch`, `@` and the name of a group; nil for all.
    ///   - deadline: How long the answer is waited for; nil for 10 s, and shorter for an agent known to be offline.
    /// - Throws: ``BackendError``; of kind `noReply` when the agent does not answer.
    public func mapHistory(
        layer: String? = nil, deadline: Duration? = nil
    ) async throws -> [MapVersion] {
        try await reading(deadline) { try await $0.history(layer: layer).only(of: name) }
    }

    /// One document of the history, with its entries.
    ///
    /// - Parameters:
    ///   - version: One of ``mapHistory(layer:deadline:)``.
    ///   - deadline: How long the answer is waited for; nil for 10 s, and shorter for an agent known to be offline.
    /// - Throws: ``BackendError``; of kind `refused` when the agent does not keep it.
    public func map(
        _ version: MapVersion, deadline: Duration? = nil
    ) async throws -> KeptMap {
        try await reading(deadline) { try await $0.document(.digest(version.digest), layer: version.layer) }
    }

    /// The newest document of that revision, with its entries.
    ///
    /// - Parameters:
    ///   - revision: That of the document.
    ///   - layer: `agent`, or `@` and the name of a group.
    ///   - deadline: How long the answer is waited for; nil for 10 s, and shorter for an agent known to be offline.
    /// - Throws: ``BackendError``; of kind `refused` when the agent does not keep it.
    public func map(
        revision: Int64, layer: String = "agent", deadline: Duration? = nil
    ) async throws -> KeptMap {
        try await reading(deadline) { try await $0.document(.revision(revision), layer: layer) }
    }

    /// Where URLs would lead now, with the maps in force; nothing is opened.
    ///
    /// - Parameters:
    ///   - urls: Any number of them.
    ///   - parameters: What an open would have beside the URL's own.
    ///   - caller: Who would open them; this backend unless given.
    ///   - deadline: How long the answer is waited for; nil for 10 s, and shorter for an agent known to be offline.
    /// - Throws: ``BackendError``; of kind `noReply` when the agent does not answer.
    public func resolve(
        _ urls: [String], parameters: [String: JSONValue] = [:], caller: String? = nil,
        deadline: Duration? = nil
    ) async throws -> [ResolvedRoute] {
        try await reading(deadline) { try await $0.resolve(urls, parameters: parameters, as: caller) }
    }

    /// What calls would run now, with the maps in force; nothing is called.
    ///
    ///     let found = try await agent.resolve(calls: [.init("PrinterService", "print(document:)")])
    ///
    /// - Parameters:
    ///   - calls: Any number of them, by service and method.
    ///   - parameters: Arguments by label, by which conditions of maps may decide.
    ///   - deadline: How long the answer is waited for; nil for 10 s, and shorter for an agent known to be offline.
    /// - Throws: ``BackendError``; of kind `noReply` when the agent does not answer.
    public func resolve(
        calls: [RelocationEntry.Method], parameters: [String: JSONValue] = [:], deadline: Duration? = nil
    ) async throws -> [ResolvedRoute] {
        try await reading(deadline) { try await $0.resolve(calls: calls, parameters: parameters) }
    }

    /// What is known before a document is sent: what it would change and replace, and what speaks against it; nothing is
    /// sent.
    ///
    /// ``Backend/relocate(_:deadline:observe:)`` sends it as it was planned, after somebody has looked at it.
    /// - Throws: ``BackendError`` when the document can't be sent to an agent, or there is no broker.
    public func plan(_ relocation: Relocation) async throws -> MapPlan {
        try await reading(nil) { try await $0.plan(relocation) }
    }

    /// What a document would change; nothing is sent.
    ///
    /// It is found from the maps that the agent reports and from the routes that the broker keeps of it. Conditions are
    /// taken to hold.
    /// - Throws: ``BackendError``; of kind `unknownReceiver` when there is no such agent, of kind `noReply` when neither
    ///   the agent nor the broker says what is in force.
    public func diff(_ relocation: Relocation) async throws -> MapDiff {
        let plan = try await plan(relocation)
        try plan.checkMembers()
        guard let diff = plan.diffs.first else {
            let reason = plan.unknowns.first?.reason ?? "the broker does not show who is there"
            throw BackendError(.noReply, "what the document would change is not known: \(reason)")
        }
        return diff
    }

    /// Sends a document, unless something speaks against it: see ``diff(_:)`` for what it would change.
    ///
    /// The broker keeps a whole map for an agent that is away, where that is allowed also for one that it does not know
    /// yet.
    /// - Parameters:
    ///   - relocation: The document.
    ///   - deadline: How long the answer is waited for; nil for 10 s, and shorter for an agent known to be offline.
    ///   - allowed: What may speak against it; nothing unless given.
    /// - Returns: What the agent says of it, good or bad.
    /// - Throws: ``BackendError`` when it was not sent, of kind `notSent` with ``BackendError/objections`` when something
    ///   speaks against it; of kind `noReply` when there is no answer yet.
    @discardableResult
    public func relocate(
        _ relocation: Relocation, deadline: Duration? = nil, allowing allowed: Set<MapObjection.Kind> = []
    ) async throws -> RelocationAnswer {
        try await reading(deadline) { [name] client in
            var answer: RelocationAnswer?
            try await client.relocate(relocation, allowing: allowed) { answer = $0 }
            guard let answer else { throw BackendError(.noReply, "no answer from \(name)") }
            return answer
        }
    }

    /// Sends entries over the map in force, as a patch in the name of this backend.
    ///
    /// - Parameters:
    ///   - entries: In order: each takes the place of an earlier one about the same path.
    ///   - deadline: How long the answer is waited for; nil for 10 s, and shorter for an agent known to be offline.
    ///   - allowed: What may speak against it; nothing unless given.
    /// - Returns: What the agent says of it, good or bad.
    /// - Throws: ``BackendError`` as for a document.
    @discardableResult
    public func relocate(
        _ entries: [RelocationEntry], deadline: Duration? = nil, allowing allowed: Set<MapObjection.Kind> = []
    ) async throws -> RelocationAnswer {
        try await relocate(
            .patch(entries, by: backend.settings.name), deadline: deadline, allowing: allowed)
    }

    /// The map before the last change, ready to be sent again; nothing is sent.
    ///
    /// A patch is a change too: then it is the map with the patches before. When what was sent last was refused, it is
    /// the map in force.
    /// - Parameters:
    ///   - revision: The map of this revision instead.
    ///   - deadline: How long the answer is waited for; nil for 10 s, and shorter for an agent known to be offline.
    /// - Throws: ``BackendError``; of kind `notSent` when it is not kept, or has values that the agent does not show.
    public func previousMap(
        revision: Int64? = nil, deadline: Duration? = nil
    ) async throws -> MapUndo {
        try await reading(deadline) { try await $0.undo(to: revision) }
    }

    /// Sends the map before the last change again, with the next revision; a second undo takes the first one back.
    ///
    /// - Parameters:
    ///   - revision: The map of this revision instead, see ``previousMap(revision:deadline:)``.
    ///   - deadline: How long the answer is waited for; nil for 10 s, and shorter for an agent known to be offline.
    /// - Throws: ``BackendError``; of kind `notSent` when it is not kept.
    @discardableResult
    public func undoMap(
        to revision: Int64? = nil, deadline: Duration? = nil
    ) async throws -> RelocationAnswer {
        let undo = try await previousMap(revision: revision, deadline: deadline)
        return try await relocate(undo.relocation, deadline: deadline, allowing: MapUndo.allowed)
    }

    private func reading<Value: Sendable>(
        _ deadline: Duration?, _ body: @escaping @Sendable (MapClient) async throws -> Value
    ) async throws -> Value {
        try checkName()
        return try await MapClient.reading(.agent(name), backend.settings, deadline, body)
    }
}

extension MapClient {
    /// Does `body` with a client.
    static func reading<Value: Sendable>(
        _ audience: Audience, _ settings: BackendConfiguration, _ deadline: Duration?,
        _ body: @escaping @Sendable (MapClient) async throws -> Value
    ) async throws -> Value {
        let wait = ReplyWait(deadline.map { TimeSpan(milliseconds: $0.milliseconds) })
        return try await PublicCall.run { try await body(MapClient(settings, of: audience, wait)) }
    }
}

extension MapPlan {
    /// - Throws: ``BackendError`` when the broker knows no such agent or group.
    func checkMembers() throws(BackendError) {
        guard let absence else { return }
        var error = BackendError(.unknownReceiver, "\(absence)\(NearestNames.question(nearest))")
        error.nearest = nearest
        throw error
    }
}

extension MapReader.Answers {
    /// The answer of the one agent that was asked.
    fileprivate func only(of agent: String) throws(BackendError) -> Value {
        if let answer = values.first?.value { return answer }
        if let refusal = refusals.first { throw BackendError(refusal: refusal) }
        throw silence ?? BackendError(.noReply, "no answer from \(agent)")
    }
}
