import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

/// A document on its way to agents: what it would change is shown, then it is sent, then what became of it is shown.
struct MapDelivery {
    /// What is meant although it may be a mistake.
    struct Consent {
        /// Entries disappear, or a map at the broker is replaced: there is no question.
        var toLoss = false
        /// No agent has that name.
        var toUnknownReceiver = false
        /// An entry has no effect at any agent.
        var toInactiveEntries = false
    }

    let maps: MapClient
    let output: OutputOptions
    var consent = Consent()

    private var audience: Audience { maps.audience }

    /// What a document would change.
    ///
    /// - Returns: The plan; it is printed already.
    func preview(_ relocation: Relocation) async throws -> MapPlan {
        let plan = try await maps.plan(relocation)
        try checkReceivers(of: plan)
        if output.isJSON {
            Terminal.print(json: plan.json)
        } else {
            for line in text.lines(plan) { Terminal.print(line) }
            if let kept = fate(plan, relocation) { Terminal.print("\(kept)") }
        }
        return plan
    }

    /// Shows what it would change, asks where that is called for, sends it and shows what agents say.
    ///
    /// - Throws: ``BackendError`` when it was not sent, ``Exit`` when an agent refused it.
    func send(_ relocation: Relocation) async throws {
        let plan = try await maps.plan(relocation)
        try check(plan)
        if !output.isJSON { for line in text.lines(plan) { Terminal.note(line) } }
        if plan.hasNoRevision {
            Terminal.note(
                "waypost: the document has no rev: it replaces all that was sent before; \(plan.disappearing.counted("entry goes", "entries go"))"
            )
        }
        try confirm(plan)
        var refused = 0
        let count = try await maps.relocate(relocation) { answer in
            if !answer.isApplied { refused += 1 }
            if output.isJSON {
                Terminal.print(json: answer.line)
            } else {
                for line in text.lines(answer) { Terminal.print(line) }
                if answer.refusal?.code == .expired, let expires = relocation.expires,
                    expires > WallClock.now()
                {
                    Terminal.print(
                        "  by this machine's clock its exp is at \(Timestamp.local(expires)): the agent's clock is ahead; set it, or send the document without exp"
                    )
                }
            }
        }
        if count == 0 {
            if output.isJSON {
                Terminal.print(json: ["status": "sent"])
            } else {
                Terminal.print("sent to \(audience)")
            }
        }
        guard refused > 0 else { return }
        if relocation.kind == .map, !output.isJSON {
            Terminal.note(
                "waypost: the broker keeps the refused map for \(audience) and offers it at each connection; to take it "
                    + "back: waypost map undo \(audience.option)")
        }
        throw Exit.failed
    }

    private var text: MapText { MapText(style: output.style) }

    private func checkReceivers(of plan: MapPlan) throws {
        if let absence = plan.absence, !consent.toUnknownReceiver {
            throw BackendError(
                .notSent,
                "not sent: \(absence), and the broker would keep the map for the first that comes; --new-agent sends it"
                    + NearestNames.question(plan.nearest))
        }
    }

    private func check(_ plan: MapPlan) throws {
        try checkReceivers(of: plan)
        let idle = plan.inactiveEverywhere
        if !consent.toInactiveEntries, let first = idle.first {
            let more = idle.count > 1 ? " (and \(idle.count - 1) more)" : ""
            throw BackendError(
                .notSent,
                "not sent: entry \(first.number), \(first.entry.subjectPath), would have no effect on any agent: "
                    + "\(first.reason)\(more); --allow-inactive sends it")
        }
    }

    /// Asks before entries disappear or a map at the broker is replaced.
    private func confirm(_ plan: MapPlan) throws {
        guard !consent.toLoss else { return }
        var reasons: [String] = []
        if plan.disappearing > 0 {
            reasons.append("\(plan.disappearing.counted("entry disappears", "entries disappear"))")
        }
        if let retained = plan.retained {
            let name = retained.revision.map { "rev \($0)" } ?? "a map without rev"
            reasons.append("\(name), which the broker keeps for \(audience), is replaced")
        }
        guard !reasons.isEmpty else { return }
        let sentence = reasons.joined(separator: ", and ")
        guard Confirmation.canAsk else {
            throw BackendError(.notSent, "not sent: \(sentence); --yes sends it")
        }
        guard Confirmation.ask("\(sentence). Send it?") else { throw BackendError(.notSent, "not sent") }
    }

    /// What becomes of the retained document; nil for a patch, which is not retained.
    private func fate(_ plan: MapPlan, _ relocation: Relocation) -> String? {
        guard relocation.kind == .map else { return nil }
        let replaced =
            plan.retained.map { " instead of \($0.revision.map { "rev \($0)" } ?? "a map without rev")" }
            ?? ""
        return
            "nothing was sent; once sent, the broker keeps it for \(audience)\(replaced), even if agents refuse "
            + "it: then the map in force stays"
    }
}

extension Audience {
    /// `--agent k1`.
    var option: String {
        switch self {
        case .agent(let name): "--agent \(name)"
        case .group(let name): "--group \(name)"
        }
    }
}
