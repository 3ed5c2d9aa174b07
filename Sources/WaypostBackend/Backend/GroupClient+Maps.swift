import Threading
import Waypost
import WaypostMessages

/// What the members of a group answered, and which did not.
public struct GroupAnswers<Value: Sendable>: Sendable {
    /// The answers, by the names of the agents.
    public internal(set) var values: [Value] = []
    /// The replies of those that refused, such as agents of an older version.
    public internal(set) var refusals: [CommandReply] = []
    /// The members that are known and did not answer.
    public internal(set) var silent: [SilentAgent] = []
    /// Whether all known members answered.
    public var isComplete: Bool { silent.isEmpty && refusals.isEmpty }
}

/// Maps: what is in force, what was, and what is sent.
extension GroupClient {
    /// The relocation layers in force at the members, in the order in which they act, with their entries.
    ///
    /// - Parameters:
    ///   - layer: Only this one: `agent`, `patch`, `@` and the name of a group; nil for all.
    ///   - deadline: How long answers are waited for, of members that are offline too; nil for 10 s, without these.
    /// - Throws: ``BackendError`` when nothing was asked, or no member is known.
    public func maps(
        layer: String? = nil, deadline: Duration? = nil
    ) async throws -> GroupAnswers<AgentMaps> {
        try await reading(deadline) { try await GroupAnswers($0.maps(layer: layer)) { $1 } }
    }

    /// The last documents that were in force at the members, of each layer the newest first.
    ///
    /// - Parameters:
    ///   - layer: Only this one: `@` and the name of the group for its own maps; nil for all.
    ///   - deadline: How long answers are waited for, of members that are offline too; nil for 10 s, without these.
    /// - Throws: ``BackendError`` when nothing was asked, or no member is known.
    public func mapHistory(
        layer: String? = nil, deadline: Duration? = nil
    ) async throws -> GroupAnswers<MapHistory> {
        try await reading(deadline) {
            try await GroupAnswers($0.history(layer: layer)) { MapHistory(agent: $0, versions: $1) }
        }
    }

    /// What is known before a document is sent: what it would change at the members, and what speaks against it; nothing is
    /// sent.
    ///
    /// A patch is put over the group's map in force: what is planned is the whole map with the next revision.
    /// ``Backend/relocate(_:deadline:observe:)`` sends it as it was planned, after somebody has looked at it.
    /// - Returns: One ``MapDiff`` for all members with the same routes and maps, and those of which it is not known.
    /// - Throws: ``BackendError``; of kind `notSent` for a patch when it can't be known which map is in force.
    public func plan(_ relocation: Relocation) async throws -> MapPlan {
        try await reading(nil) { try await $0.plan(relocation) }
    }

    /// Sends a document to all members, unless something speaks against it: see ``plan(_:)`` for what it would change.
    ///
    /// The broker keeps the map for those that are offline.
    /// - Parameters:
    ///   - relocation: The document.
    ///   - deadline: How long answers are waited for, of members that are offline too; nil for 10 s, without these.
    ///   - allowed: What may speak against it; nothing unless given.
    /// - Returns: What the agents say of it, good or bad, and which said nothing yet.
    /// - Throws: ``BackendError`` when it was not sent, of kind `notSent` with ``BackendError/objections`` when something
    ///   speaks against it.
    @discardableResult
    public func relocate(
        _ relocation: Relocation, deadline: Duration? = nil, allowing allowed: Set<MapObjection.Kind> = []
    ) async throws -> GroupAnswers<RelocationAnswer> {
        try await reading(deadline) { client in
            var answers = GroupAnswers<RelocationAnswer>()
            do {
                try await client.relocate(relocation, allowing: allowed) { answers.values.append($0) }
            } catch let error as BackendError where error.kind == .noReply && !error.silent.isEmpty {
                answers.silent = error.silent
            }
            answers.values.sort { $0.agent < $1.agent }
            return answers
        }
    }

    /// The group's map before the one in force, ready to be sent again; nothing is sent.
    ///
    /// - Parameters:
    ///   - revision: The map of this revision instead.
    ///   - deadline: How long answers are waited for, of members that are offline too; nil for 10 s, without these.
    /// - Throws: ``BackendError``; of kind `notSent` when no member keeps it, or members have different ones.
    public func previousMap(
        revision: Int64? = nil, deadline: Duration? = nil
    ) async throws -> MapUndo {
        try await reading(deadline) { try await $0.undo(to: revision) }
    }

    /// Sends the group's map before the one in force again, with the next revision.
    ///
    /// - Parameters:
    ///   - revision: The map of this revision instead, see ``previousMap(revision:deadline:)``.
    ///   - deadline: How long answers are waited for, of members that are offline too; nil for 10 s, without these.
    /// - Returns: What the agents say of it, good or bad, and which said nothing yet.
    /// - Throws: ``BackendError``; of kind `notSent` when no member keeps it, or members have different ones.
    @discardableResult
    public func undoMap(
        to revision: Int64? = nil, deadline: Duration? = nil
    ) async throws -> GroupAnswers<RelocationAnswer> {
        let undo = try await previousMap(revision: revision, deadline: deadline)
        return try await relocate(undo.relocation, deadline: deadline, allowing: MapUndo.allowed)
    }

    private func reading<Value: Sendable>(
        _ deadline: Duration?, _ body: @escaping @Sendable (MapClient) async throws -> Value
    ) async throws -> Value {
        try checkName()
        return try await MapClient.reading(.group(name), backend.settings, deadline, body)
    }
}

extension Backend {
    /// Sends a document as it was planned: with what speaks against it by its plan, and with nothing that came meanwhile.
    ///
    ///     let plan = try await backend.group("lobby").plan(map)
    ///     if await isConfirmed(plan.diffs) { try await backend.relocate(plan) }
    ///
    /// - Parameters:
    ///   - plan: From ``AgentClient/plan(_:)`` or ``GroupClient/plan(_:)``.
    ///   - deadline: How long answers are waited for; nil for 10 s, and shorter for agents known to be offline; zero to wait for
    ///     none.
    ///   - observe: Gets what each agent says of it, good or bad, as it comes.
    /// - Throws: ``BackendError`` when it was not sent; of kind `noReply` when agents did not answer in time, with
    ///   ``BackendError/silent``.
    public func relocate(
        _ plan: MapPlan, deadline: Duration? = nil,
        observe: (RelocationAnswer) -> Void = { _ in }
    ) async throws {
        let (answers, feed) = AsyncStream.makeStream(of: RelocationAnswer.self)
        let work = Task.immediate { [settings] in
            defer { feed.finish() }
            try await MapClient.reading(plan.audience, settings, deadline) {
                try await $0.send(plan) { feed.yield($0) }
            }
        }
        try await withTaskCancellationHandler {
            for await answer in answers { observe(answer) }
            try await work.value
        } onCancel: {
            Scheduling.undisturbed { work.cancel() }
        }
    }
}

extension GroupAnswers {
    /// - Throws: ``BackendError`` when no agent answered, and none is known.
    fileprivate init<Read>(
        _ answers: MapReader.Answers<Read>, _ value: (_ agent: String, Read) -> Value
    ) throws(BackendError) {
        if let silence = answers.silence, silence.silent.isEmpty, answers.values.isEmpty { throw silence }
        values = answers.values.map { value($0.agent, $0.value) }
        refusals = answers.refusals
        silent = answers.silence?.silent ?? []
    }
}
