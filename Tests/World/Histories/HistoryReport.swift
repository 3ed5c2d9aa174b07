import Glibc

/// What came of a history, or of one life of it.
package struct HistoryReport: Codable, Sendable {
    /// Its digest, how much of it there was, and what broke a law.
    package var text: String
    package var isGood: Bool
    /// Whether it goes on in another process.
    var goesOn = false
    /// How often what went wrong met the agent in which state.
    package var met: [String: Int] = [:]
    /// How much time it took in its world, in milliseconds.
    package var milliseconds: UInt64 = 0
    /// How many agents are in it.
    package var agents: UInt64 = 1
    /// What it took of a processor here, all its lives together.
    package var seconds = 0.0

    init(text: String, isGood: Bool) { (self.text, self.isGood) = (text, isGood) }

    init(
        _ plan: HistoryPlan, _ scheduler: SeededScheduler, _ ending: SeededScheduler.Ending?, _ found: String
    ) {
        let summary = scheduler.summary
        milliseconds = summary.milliseconds
        text =
            "\(plan.kind) \(plan.seed) \(String(summary.digest, radix: 16)) \(summary.steps) steps, "
            + "\(summary.switches) switches, \(summary.milliseconds) ms"
        isGood = ending == .done && found.isEmpty
        if !found.isEmpty {
            text += ": \(found)"
        } else if ending != .done {
            let end = ending.map { "\($0)" } ?? "a thread waits outside of the world"
            text = (["\(text): \(end)"] + scheduler.threads).joined(separator: "\n")
        }
    }

    /// What was broken, without what differs from one history to another: `law 2`.
    var law: String? {
        guard !isGood else { return nil }
        let line = text.prefix { $0 != "\n" }
        let parts = line.split(separator: ": ", maxSplits: 2)
        return parts.count > 1 ? String(parts[1]) : text
    }
}

extension HistoryPlan {
    /// Runs it, or a life of it, in a process that has run none yet, and in the folder that the life before has left.
    func live(showsNotes: Bool) -> HistoryReport {
        switch kind {
        case .threads:
            let scheduler = SeededScheduler(seed: seed, showsNotes: showsNotes)
            return report(scheduler) { ThreadsHistory(scheduler).run() ? "" : "numbers are missing" }
        case .race:
            let scheduler = SeededScheduler(seed: seed, showsNotes: showsNotes)
            return report(scheduler) { RaceHistory().run() ? "" : "one was not counted" }
        case .fleet, .hour:
            do {
                return try fleetLife(showsNotes)
            } catch {
                return HistoryReport(text: "\(error)", isGood: false)
            }
        case .agent, .crashes, .weak:
            do {
                return try agentLife(Life.read(self), showsNotes)
            } catch {
                return HistoryReport(text: "\(error)", isGood: false)
            }
        }
    }

    private func report(
        _ scheduler: SeededScheduler, _ body: @escaping @Sendable () -> String
    ) -> HistoryReport {
        let found = Found()
        let ending = scheduler.run { found.text = body() }
        return HistoryReport(self, scheduler, ending, found.text)
    }

    /// The folder in which all is.
    private func folder() throws -> String {
        guard let folder = realpath(".", nil) else { throw Fault(description: "there is no folder") }
        defer { free(folder) }
        return String(cString: folder)
    }

    private func fleetLife(_ showsNotes: Bool) throws -> HistoryReport {
        var draws = Draws(seed: seed, stream: 10)
        let scheduler = SeededScheduler(seed: draws.next(), showsNotes: showsNotes)
        let history = FleetHistory(scheduler, kind, folder: try folder(), seed: seed)
        var report = report(scheduler) { [self] in
            do {
                try history.run(Draws(seed: seed, stream: 1_000), count: deeds, without: without)
                return ""
            } catch {
                return "\(error)"
            }
        }
        report.met = history.met
        report.agents = UInt64(history.agents.count)
        checkAtRest(&report) { try history.checkRemains() }
        return report
    }

    /// One start of an agent, of which all but the last may come to their end anywhere.
    private func agentLife(_ life: Life, _ showsNotes: Bool) throws -> HistoryReport {
        var draws = Draws(seed: seed, stream: UInt64(10 + life.number))
        let isLast = life.number + 1 >= lives
        // A quarter each: at a step, at something that the disk does, at a stop; the last one always there.
        let drawnPlace = Int.random(in: 0...3, using: &draws)
        let place = isLast || without.contains(.power) ? 3 : drawnPlace
        let crashStep = UInt64.random(in: 1...4_000, using: &draws)
        let scheduler = SeededScheduler(
            seed: draws.next(), after: life.past, crash: place < 2 ? crashStep : .max, showsNotes: showsNotes)
        let disk = WorldDisk(folder: try folder() + "/state", seed: draws.next())
        let crashOperation = Int.random(in: 1...200, using: &draws)
        if place == 2 {
            disk.crashes(scheduler)
            disk.die(after: crashOperation)
        }
        var life = life
        life.mayEnd = !isLast && !without.contains(.power)
        life.starts(with: WorldStore.reports(in: "state"))
        let history = AgentHistory(
            scheduler, disk, life,
            CertificateDeeds(Draws(seed: seed, stream: UInt64(2_000 + life.number)), without: without))
        let downtime = Int64.random(in: 0...90_000, using: &draws)
        let deeds = Deeds(
            Draws(seed: seed, stream: UInt64(1_000 + life.number)), without: without,
            signer: life.traits.isSigned ? Signer("release", 7) : nil)
        let report = report(scheduler) { [self] in
            do {
                try history.run(deeds, count: isLast && lives > 1 ? 3 : self.deeds, isLast: isLast)
                return ""
            } catch {
                return "\(error)"
            }
        }
        return try ended(report, life, history, scheduler, disk, isLast: isLast, downtime)
    }

    /// What must be so behind the end of a history that holds all else.
    private func checkAtRest(_ report: inout HistoryReport, _ check: () throws -> Void) {
        guard report.isGood else { return }
        do { try check() } catch { (report.text, report.isGood) = ("\(report.text): \(error)", false) }
    }

    private func ended(
        _ report: HistoryReport, _ life: Life, _ history: AgentHistory, _ scheduler: SeededScheduler,
        _ disk: WorldDisk, isLast: Bool, _ downtime: Int64
    ) throws -> HistoryReport {
        var report = report
        var (people, broker) = history.left
        let hasCrashed = scheduler.hasCrashed
        if hasCrashed { people.meets(.power) }
        report.met = people.met
        if isLast {
            checkAtRest(&report) {
                try history.checkRetained()
                try history.checkRemains()
            }
        }
        guard !isLast, report.isGood || hasCrashed else { return report }
        // What was not synced goes with the power.
        disk.die()
        var draws = Draws(seed: seed, stream: UInt64(3_000 + life.number))
        let certificates = history.certificates?.rest(&draws)
        try life.next(after: scheduler, people, broker, certificates, downtime: downtime)
        report.goesOn = true
        return report
    }

    /// What a history has found, `Sendable` for it is read behind the end; a lock of ours would be a part of the history.
    private final class Found: @unchecked Sendable { var text = "" }
}
