import Threading
import Waypost
public import WaypostFleet
import WaypostMessages

/// Roll-outs: a map in stages, each watched, and taken back by itself when it does harm.
extension GroupClient {
    /// What a roll-out would do; nothing is changed.
    ///
    /// - Parameters:
    ///   - relocation: A whole map with a revision above the one in force; the backend's signer signs it, unless it is signed.
    ///   - id: The id that it would have: it says which agents come first.
    ///   - options: Its stages.
    ///   - lost: The map that members have in force, byte for byte, where the broker has lost it; nil for none.
    ///   - only: The clients that it is shown of; nil for all. What speaks against it is found of all in any case.
    /// - Throws: ``BackendError``; of kind `invalid` when the id, the map or the file of the audit is none.
    public func planRollout(
        _ relocation: Relocation, id: String, _ options: RolloutOptions = RolloutOptions(),
        republishing lost: Relocation? = nil, only: RolloutPlan.Selection? = nil
    ) async throws -> RolloutPlan {
        guard Name.isValid(id) else {
            throw BackendError(.invalid, "an id is 1 to 64 characters of A-Z a-z 0-9 _ -; found \(id.quoted)")
        }
        return try await rollout {
            // Before agents are asked: the file may be another one.
            _ = try options.audit()
            return try await RolloutPlanner($0, group: name, options, republishing: lost, only: only)
                .plan(relocation.signedOnce(for: .group(name), $0), id: id)
        }
    }

    /// Rolls a map out, and returns when that has ended, or has stopped until it is decided on.
    ///
    ///     let outcome = try await backend.group("lobby").rollOut(map, id: "r-7")
    ///
    /// Nothing is lost when the program ends meanwhile: ``resumeRollout(_:observe:)`` goes on.
    /// - Parameters:
    ///   - relocation: A whole map with a revision above the one in force; the backend's signer signs it, unless it is signed.
    ///   - id: Its id: 1 to 64 of `A-Z a-z 0-9 _ -`, another one each time.
    ///   - options: Its stages, and what stops it.
    ///   - lost: The map that members have in force, byte for byte, where the broker has lost it: the broker gets it again
    ///     before the first stage, see ``RolloutPlan/republished``. Nil for none.
    ///   - why: A word about it, for people.
    ///   - observe: Gets what it looks like, each time that this differs; on the actor that it belongs to, if any. The
    ///     roll-out waits for it, so it must return quickly.
    /// - Throws: ``BackendError``; of kind `notSent` when something speaks against it.
    public func rollOut(
        _ relocation: Relocation, id: String, _ options: RolloutOptions = RolloutOptions(),
        republishing lost: Relocation? = nil, because why: String? = nil,
        @_inheritActorContext observe: @escaping @isolated(any) @Sendable (RolloutStatus) -> Void = { _ in }
    ) async throws -> RolloutOutcome {
        try await rollOut(
            try await planRollout(relocation, id: id, options, republishing: lost), because: why,
            observe: observe)
    }

    /// Rolls a map out as it was planned, and returns as ``rollOut(_:id:_:republishing:because:observe:)`` does.
    ///
    /// - Parameters:
    ///   - plan: One of this group's, from ``planRollout(_:id:_:republishing:only:)``, just now.
    ///   - why: A word about it, for people.
    ///   - observe: Gets what it looks like, each time that this differs.
    /// - Throws: ``BackendError``; of kind `notSent` when the plan says that something speaks against it, of kind `invalid`
    ///   for the plan of another group.
    public func rollOut(
        _ plan: RolloutPlan, because why: String? = nil,
        @_inheritActorContext observe: @escaping @isolated(any) @Sendable (RolloutStatus) -> Void = { _ in }
    ) async throws -> RolloutOutcome {
        try plan.check()
        let subject = plan.subject
        guard plan.group == name, let document = RolloutDirector.Document(subject.relocation.payload) else {
            throw BackendError(.invalid, "the plan is for @\(plan.group), not for @\(name)")
        }
        return try await rollout {
            try await RolloutPlanner($0, group: name, subject.options, republishing: subject.lost)
                .republish(as: plan)
            return try await RolloutController(
                $0, group: name, subject.options, foreseen: plan.foreseen, observe: observe
            ).run(.start(id: subject.id, document, why: why))
        }
    }

    /// Goes on with a roll-out that paused, or whose controller is gone.
    ///
    /// - Throws: ``BackendError``; of kind `notSent` when there is none, or another one steers it.
    public func resumeRollout(
        _ options: RolloutOptions = RolloutOptions(),
        @_inheritActorContext observe: @escaping @isolated(any) @Sendable (RolloutStatus) -> Void = { _ in }
    ) async throws -> RolloutOutcome {
        try await steer(.resume, options, observe)
    }

    /// Goes on to the next stage now, and steers from there.
    ///
    /// - Throws: ``BackendError``; of kind `notSent` when there is no roll-out.
    public func advanceRollout(
        _ options: RolloutOptions = RolloutOptions(),
        @_inheritActorContext observe: @escaping @isolated(any) @Sendable (RolloutStatus) -> Void = { _ in }
    ) async throws -> RolloutOutcome {
        try await steer(.advance, options, observe)
    }

    /// Puts the new map in force in the whole group now, and watches it for ``RolloutOptions/tail``.
    ///
    /// - Throws: ``BackendError``; of kind `notSent` when there is no roll-out.
    public func promoteRollout(
        _ options: RolloutOptions = RolloutOptions(),
        @_inheritActorContext observe: @escaping @isolated(any) @Sendable (RolloutStatus) -> Void = { _ in }
    ) async throws -> RolloutOutcome {
        try await steer(.promote, options, observe)
    }

    /// Stops a roll-out where it is: the agents that have the new map keep it.
    ///
    /// - Throws: ``BackendError``; of kind `notSent` when there is none.
    @discardableResult
    public func pauseRollout(
        because why: String, _ options: RolloutOptions = RolloutOptions(),
        @_inheritActorContext observe: @escaping @isolated(any) @Sendable (RolloutStatus) -> Void = { _ in }
    ) async throws -> RolloutOutcome {
        try await steer(.pause(why: why), options, observe)
    }

    /// Has all agents go back to the map before.
    ///
    /// - Throws: ``BackendError``; of kind `notSent` when there is no roll-out.
    @discardableResult
    public func takeRolloutBack(
        because why: String, _ options: RolloutOptions = RolloutOptions(),
        @_inheritActorContext observe: @escaping @isolated(any) @Sendable (RolloutStatus) -> Void = { _ in }
    ) async throws -> RolloutOutcome {
        try await steer(.takeBack(why: why), options, observe)
    }

    /// What the roll-out looks like; nil when there was none.
    public func rolloutStatus() async throws -> RolloutStatus? {
        try await rollout { try await RolloutReader($0, group: name).status() }
    }

    /// What the roll-out looks like, and again each time that this changes.
    public func rolloutStatuses() -> BackendStream<RolloutStatus> {
        BackendStream(buffer: 100) { [self] element in
            var pause = ReconnectPause()
            while true {
                do {
                    pause.connectionMade()
                    return try await RolloutReader(backend.settings, group: name).follow { status in
                        status.map { element($0) } ?? true
                    }
                } catch let error as BackendError where error.kind == .noBroker {
                    try await MonotonicTime.sleep(for: pause.next())
                }
            }
        }
    }

    /// What became of the last roll-outs, checked.
    public func rolloutHistory() async throws -> RolloutHistory {
        try await rollout { try await RolloutReader($0, group: name).history() }
    }

    private func steer(
        _ order: RolloutDirector.Order, _ options: RolloutOptions,
        _ observe: @escaping @isolated(any) @Sendable (RolloutStatus) -> Void
    ) async throws -> RolloutOutcome {
        try await rollout {
            try await RolloutController($0, group: name, options, observe: observe).run(order)
        }
    }

    private func rollout<Value: Sendable>(
        _ body: @escaping @Sendable (BackendConfiguration) async throws -> Value
    ) async throws -> Value {
        try checkName()
        return try await PublicCall.run { [settings = backend.settings] in try await body(settings) }
    }
}
