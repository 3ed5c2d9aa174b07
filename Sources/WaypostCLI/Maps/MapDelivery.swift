import ArgumentParser
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

/// A document for agents: what it would change is shown, then it is sent, then what became of it is shown.
struct MapDelivery {
    let backend: Backend
    let audience: Audience
    let output: OutputOptions
    /// How long answers are waited for, where that was asked for.
    var deadline: Duration?
    /// What may speak against it: it is not asked about.
    var allowed: Set<MapObjection.Kind> = []

    /// Prints what a document would change, and what speaks against it.
    ///
    /// - Throws: ``Exit`` when something does that is not allowed.
    func preview(_ relocation: Relocation) async throws {
        let plan = try await plan(relocation)
        try check(plan.objections.filter { $0.kind == .unknownReceiver }, nearest: plan.nearest)
        if output.isJSON {
            Terminal.print(json: plan.json)
        } else {
            for line in text.lines(plan) + text.lines(plan.objections) { Terminal.print(line) }
            if let kept = fate(plan) { Terminal.print("\(kept)") }
        }
        // What is only asked about is no mistake.
        let left = plan.objections.filter { !allowed.contains($0.kind) && $0.kind != .loss }
        guard !left.isEmpty else { return }
        throw left.allSatisfy { $0.kind == .unchecked } ? Exit.noReply : Exit.failed
    }

    private func plan(_ relocation: Relocation) async throws -> MapPlan {
        try await Terminal.waiting(while: "reading what the broker keeps of the agents") {
            switch audience {
            case .agent(let name): try await backend.agent(name).plan(relocation)
            case .group(let name): try await backend.group(name).plan(relocation)
            }
        }
    }

    /// Shows what it would change, asks where that is called for, sends it and shows what agents say.
    ///
    /// - Throws: ``BackendError`` when it was not sent, ``Exit`` when an agent refused it.
    func send(_ relocation: Relocation) async throws {
        let plan = try await plan(relocation)
        try check(plan.objections.filter { $0.kind != .loss }, nearest: plan.nearest)
        if !output.isJSON { for line in text.lines(plan) { Terminal.note(line) } }
        if plan.hasNoRevision {
            Terminal.note(
                "waypost: the document has no rev: it replaces all that was sent before; \(plan.disappearing.counted("entry goes", "entries go"))"
            )
        }
        try confirm(plan)
        var (count, refused) = (0, 0)
        try await backend.relocate(plan, deadline: deadline) { answer in
            count += 1
            if !answer.isApplied { refused += 1 }
            show(answer, to: plan.relocation)
        }
        if count == 0 {
            if output.isJSON {
                Terminal.print(json: ["status": "sent"])
            } else {
                Terminal.print("sent to \(audience)")
            }
        }
        guard refused > 0 else { return }
        if plan.relocation.kind == .map, !output.isJSON {
            Terminal.note(
                "waypost: the broker keeps the refused map for \(audience) and offers it at each connection; to take it "
                    + "back: waypost map undo \(audience.option) (with --ask-as PROFILE where this sender may not ask "
                    + "agents)")
        }
        throw Exit.failed
    }

    private func show(_ answer: RelocationAnswer, to relocation: Relocation) {
        if output.isJSON {
            Terminal.print(json: answer.line)
            return
        }
        for line in text.lines(answer) { Terminal.print(line) }
        guard answer.refusal?.code == .expired, let expires = relocation.expires, expires > WallClock.now()
        else {
            return
        }
        Terminal.print(
            "  by this machine's clock its exp is at \(Timestamp.local(expires)): the agent's clock is ahead; set it, or send the document without exp"
        )
    }

    private var text: MapText { MapText(style: output.style) }

    /// - Parameter nearest: Names like the one that no agent has.
    /// - Throws: ``BackendError`` with all that speaks against it and is not allowed.
    private func check(_ objections: [MapObjection], nearest: [String]) throws {
        let left = objections.filter { !allowed.contains($0.kind) }
        guard !left.isEmpty else { return }
        let isUnknown = left.contains { $0.kind == .unknownReceiver }
        throw BackendError(
            .notSent,
            "not sent: \(left.map(\.text).joined(separator: "; "))"
                + (isUnknown ? ", and the broker would keep the map for the first that comes" : "")
                + "; \(left.options) \(left.count == 1 ? "sends" : "send") it"
                + "\(isUnknown ? NearestNames.question(nearest) : "")")
    }

    /// Asks before entries disappear, or a map at the broker is replaced.
    private func confirm(_ plan: MapPlan) throws {
        guard !allowed.contains(.loss) else { return }
        var reasons = plan.objections.filter { $0.kind == .loss }.map(\.text)
        if let retained = plan.retained, !plan.objections.contains(where: { $0.kind == .older }) {
            let name = retained.revision.map { "rev \($0)" } ?? "a map without rev"
            reasons.append("\(name), which the broker keeps for \(audience), is replaced")
        }
        guard !reasons.isEmpty else { return }
        let sentence = reasons.joined(separator: ", and ")
        guard Confirmation.canAsk else {
            throw BackendError(
                .notSent, "not sent: \(sentence); \(MapObjection.Kind.loss.option) sends it")
        }
        guard Confirmation.ask("\(sentence). Send it?") else { throw BackendError(.notSent, "not sent") }
    }

    /// What becomes of the retained document; nil for a patch, which is not retained.
    private func fate(_ plan: MapPlan) -> String? {
        guard plan.relocation.kind == .map else { return nil }
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
