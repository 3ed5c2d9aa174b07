import Threading
import Waypost
import WaypostBackend
import WaypostFleet
import WaypostMessages

/// When nothing fails any more.
extension FleetHistory {
    /// The roll-out ends, the newest map comes in force everywhere, and what is shown is so.
    func comeToRest(_ sender: WorldClient) throws {
        heal()
        try endLies(sender)
        try endRollout(sender)
        try endCalls(sender)
        if traits.isSigned { try writeGroupsAnew(sender) }
        try bringNewestMap(sender)
        try checkShown(sender)
        // So long that no id needs to be known any more.
        guard traits.isLong else { return }
        for backend in backends { backend.kill() }
        try take(from: sender, for: .seconds(1_200)) { _ in false }
    }

    /// What agents that have stopped keep.
    func checkRemains() throws {
        // By a clock that was ahead an id is kept for longer.
        let isLong = traits.isLong && !met.keys.contains { $0.hasPrefix("\(HistoryPart.clock) ") }
        for agent in agents {
            let remains = WorldStore.remains(in: "state-\(agent.name)", isLong: isLong)
            guard remains.isEmpty else { throw Breach.leftOver(agent.name, remains) }
        }
    }

    /// Where it stayed, each promotion would wait for it.
    private func endLies(_ sender: WorldClient) throws {
        for _ in 0..<20 where liar.withLock({ $0?.leaves() ?? false }) {
            // A broker that is away does not hear it.
            try take(from: sender, for: .seconds(5)) { _ in false }
        }
    }

    private func endCalls(_ sender: WorldClient) throws {
        for backend in backends {
            guard try wait(sender, until: { backend.open.isEmpty }) else {
                throw Breach.callWithoutEnd("\(backend.name): \(backend.open)")
            }
        }
    }

    /// False when it is not so by then, in an hour unless given.
    private func wait(
        _ sender: WorldClient, _ time: Duration = .seconds(3_600), until isSo: () -> Bool
    ) throws -> Bool {
        let limit = MonotonicTime.after(time)
        while !isSo(), MonotonicTime.now < limit { try take(from: sender, for: .seconds(1)) { _ in isSo() } }
        return isSo()
    }

    /// Does something with the first backend, and looks meanwhile at what happens; nil when it failed.
    private func result<Value: Sendable>(
        _ what: String, _ sender: WorldClient,
        _ body: @escaping @Sendable (WorldBackend.Run) async throws -> Value
    ) throws -> Value? {
        let box = Box<Value>()
        let backend = backends[0]
        backend.perform(what) { run in
            defer { box.hasEnded.withLock { $0 = true } }
            let found = try await body(run)
            box.value.withLock { $0 = found }
            return "\(found)"
        }
        guard try wait(sender, until: { box.hasEnded.withLock(\.self) }) else {
            throw Breach.callWithoutEnd("\(backend.name): \(what)")
        }
        return box.value.withLock(\.self)
    }

    /// Whoever steered it may be gone: it is resumed, and taken back where it pauses again and again.
    private func endRollout(_ sender: WorldClient) throws {
        var last = "nothing is known of it"
        var options = traits.options
        options.pauseLimit = .seconds(10)
        var (round, waits) = (0, 0)
        while round < 12, waits < 30 {
            let status = try result("status", sender) { run in
                try await run.backend.group(FleetTruth.group).rolloutStatus().map { "\($0.state)" } ?? "none"
            }
            last = status ?? "its status can't be read"
            if ["none", "done", "taken-back"].contains(last) {
                // Who is about to roll out has perhaps not begun yet.
                if try wait(sender, .seconds(120), until: { backends.allSatisfy(\.open.isEmpty) }) { return }
                waits += 1
                continue
            }
            _ = try result("end of the roll-out", sender) { [options, round] run in
                let group = run.backend.group(FleetTruth.group)
                return round < 4
                    ? "\(try await group.resumeRollout(options))"
                    : "\(try await group.takeRolloutBack(because: "the end"))"
            }
            round += 1
        }
        throw Breach.rolloutWithoutEnd(last)
    }

    /// Where something else lies in the place of what people wrote.
    private func writeGroupsAnew(_ sender: WorldClient) throws {
        for agent in truth.withLock(\.outside) {
            _ = try result("groups of \(agent)", sender) { run in
                let change = GroupsChange(adding: [], startsAnew: true)
                return "\(try await run.backend.agent(agent).changeGroups(change))"
            }
        }
    }

    private func bringNewestMap(_ sender: WorldClient) throws {
        for _ in 0..<20 {
            _ = try result("last map", sender) { [self] run in
                let answers = try await run.backend.group(FleetTruth.group).relocate(
                    map(), allowing: [.unchecked, .inactive, .older])
                return "\(answers.values.filter(\.isApplied).count) have it"
            }
            try take(from: sender, for: .seconds(120)) { $0.isAtRest }
            if truth.withLock(\.isAtRest) { return }
        }
        let (waiting, offline, outside) = truth.withLock { ($0.waiting, $0.offline, $0.outside) }
        guard offline.isEmpty else { throw Breach.notOnline(offline) }
        guard outside.isEmpty else { throw Breach.noGroups(outside) }
        throw Breach.noMap(waiting)
    }

    /// What a new reader is shown of what is at rest.
    private func checkShown(_ sender: WorldClient) throws {
        let names = agents.map(\.name)
        var text = ""
        for _ in 0..<10 {
            let shown = try result("agents", sender) { try await $0.backend.agents() }
            let wrong = (shown ?? []).filter {
                names.contains($0.name) && [.lost, .stopped, .unknown].contains($0.condition)
            }
            let missing = missingOnScreen()
            if Set(shown?.map(\.name) ?? []).isSuperset(of: names), wrong.isEmpty, missing.isEmpty {
                return try checkAudit(sender)
            }
            text = "\(shown?.map { "\($0.name) \($0.condition)" }.sorted() ?? []), on the screen \(missing)"
            try take(from: sender, for: .seconds(30)) { _ in false }
        }
        throw Breach.shownWrong(text)
    }

    /// The agents of which the console does not show what is so.
    private func missingOnScreen() -> [String] {
        let revision = truth.withLock(\.newest.revision)
        guard let state = reader.withLock(\.self)?.snapshot() else { return ["nothing"] }
        return agents.map(\.name).filter { name in
            guard let row = state.rows[name]?.summary else { return true }
            return row.isOnline != true || FleetTruth.revision(shownIn: row.map) != revision
        }
    }

    /// What a broker has forgotten, only a controller brings back.
    private func checkAudit(_ sender: WorldClient) throws {
        guard traits.broker.persists else { return }
        let faults = try result("history", sender) { run in
            try await run.backend.group(FleetTruth.group).rolloutHistory().faults
        }
        if let faults, !faults.isEmpty { throw Breach.auditBroken(faults) }
    }

    private final class Box<Value: Sendable>: Sendable {
        let value = Guarded<Value?>(nil)
        let hasEnded = Guarded(false)
    }
}
