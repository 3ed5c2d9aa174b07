import Waypost
import WaypostMessages

/// The gates of a stage: evidence in, verdicts with their numbers out.
struct RolloutGates {
    let evidence: RolloutEvidence
    let fleet: RolloutFleet
    let control: RolloutControl
    let options: RolloutOptions
    /// In milliseconds on the monotonic clock.
    let now: Int64

    typealias Gate = RolloutStatus.Gate

    /// All of them, in the order of the design.
    var all: [Gate] {
        [candidate, resolve, notFound, failures, opens, lost, guarded, reports, health]
    }

    /// Since when the stage runs, without the time that does not count.
    var elapsed: Int64 { now - evidence.began - evidence.standstill }

    private var hasApplied: Bool { !evidence.applied.isEmpty }

    private var candidate: Gate {
        let count = evidence.refused.count + evidence.unforeseen.count
        var found = "\(evidence.refused.count) refused"
        if let (index, agent) = evidence.unforeseen.min(by: { $0.key < $1.key }) {
            found += ", entry \(index + 1) has no effect on \(agent)"
        } else if let agent = evidence.refused.min() {
            found += " (\(agent))"
        }
        return Gate(
            name: "candidate", verdict: count > 0 ? .breach : hasApplied ? .pass : .inconclusive,
            found: found, limit: "1 agent", consequence: .pause)
    }

    private var resolve: Gate {
        let differences = evidence.differences
        return Gate(
            name: "resolve",
            verdict: differences.map { $0.isEmpty ? .pass : .breach } ?? .inconclusive,
            found: differences.map { list in
                list.first.map { "\(list.count) differ: \($0)" } ?? "as foretold"
            } ?? "no canary was asked",
            limit: "1 URL", consequence: .pause)
    }

    private var notFound: Gate {
        let agents = Set(
            evidence.notFound.filter { now - $0.at <= RolloutEvidence.window }.map(\.agent))
        return Gate(
            name: "not-found",
            verdict: agents.count >= 3 ? .breach : hasTraffic ? .pass : .inconclusive,
            found: "\(agents.count.counted("agent")) in 60 s", limit: "3 agents", consequence: .takeBack)
    }

    private var failures: Gate {
        let comparison = evidence.comparison
        let isBad = evidence.value >= options.evidence && evidence.failing.count >= 3
        let isConclusive =
            comparison.isConclusive
            && (hasTraffic || comparison.cohort.events + comparison.control.events > 0)
        let rounded = evidence.value < 100 ? (evidence.value * 100).rounded() / 100 : evidence.value.rounded()
        return Gate(
            name: "failures", verdict: isBad ? .breach : isConclusive ? .pass : .inconclusive,
            found: comparison.isConclusive
                ? "e \(Self.short(rounded)), \(comparison.cohort.events) against \(comparison.control.events), "
                    + "\(evidence.failing.count.counted("agent"))"
                : isBad
                    ? "e \(Self.short(rounded)), \(evidence.failing.count.counted("agent"))"
                    : "no control group",
            limit: "e \(Self.short(options.evidence)) and 3 agents", consequence: .takeBack)
    }

    private static func short(_ number: Double) -> String {
        number >= 1e9 ? "over 10^9" : number == number.rounded() ? "\(Int64(number))" : "\(number)"
    }

    /// Opens of the URLs that the candidate changes: of how many agents, and how many failed.
    private var opened: (agents: Int, all: Int64, failed: Int64) {
        evidence.opens.values.reduce(into: (0, 0, 0)) { sums, opens in
            if opens.opened > 0 { sums.0 += 1 }
            sums.1 += opens.opened
            sums.2 += opens.failed
        }
    }

    /// Whether somebody opened a URL that the candidate changes.
    private var hasTraffic: Bool { opened.all > 0 }

    private var opens: Gate {
        let (agents, all, failed) = opened
        let isEnough = all >= 20 && agents >= 3
        let isBad = isEnough && failed * 100 > all * 5
        return Gate(
            name: "opens", verdict: isBad ? .breach : isEnough ? .pass : .inconclusive,
            found: "\(failed) of \(all) failed, \(agents.counted("agent"))",
            limit: "5 % of 20 in 3 agents", consequence: .takeBack)
    }

    private var lost: Gate {
        let gone = evidence.lost.count { now - $0.value > options.grace }
        let others = evidence.lostOthers.count { now - $0.value > options.grace }
        let total = evidence.applied.count
        let share = Self.part(gone, of: total)
        let usual = Self.part(others, of: evidence.others.count)
        let isBad = gone >= 2 && share > 0.05 && share > 3 * usual
        return Gate(
            name: "lost", verdict: isBad ? .breach : total > 0 ? .pass : .inconclusive,
            found: "\(gone) of \(total), \(others) of \(evidence.others.count) others",
            limit: "2 and 5 % and 3 × others", consequence: .takeBack)
    }

    private var guarded: Gate {
        Gate(
            name: "guard",
            verdict: evidence.guarded.count >= 2 ? .breach : hasApplied ? .pass : .inconclusive,
            found: evidence.guarded.count.counted("agent")
                + (evidence.guarded.min().map { " (\($0))" } ?? ""),
            limit: "2 agents", consequence: .takeBack)
    }

    /// The agents that are chosen and online, and those of them that have not said that they have the candidate.
    private var chosen: (all: Int, silent: Int) {
        var (all, silent) = (0, 0)
        for (name, agent) in fleet.agents where agent.isOnline && control.chooses(name, agent.number) {
            // One that went back or refused has said so.
            let isKnown =
                agent.report?.place == .next || evidence.guarded.contains(name)
                || evidence.refused.contains(name)
            all += 1
            if !isKnown { silent += 1 }
        }
        return (all, silent)
    }

    /// Whether so many chosen agents say nothing that the stage can't pass.
    var areReportsMissing: Bool { chosen.silent * 10 > chosen.all }

    private var reports: Gate {
        let (all, silent) = chosen
        let isMissing = areReportsMissing
        let isDue = elapsed > options.grace + control.spread
        return Gate(
            name: "reports",
            verdict: all == 0
                ? .inconclusive : !isMissing ? .pass : isDue ? .breach : .inconclusive,
            found: "\(silent) of \(all) missing", limit: "10 %", consequence: .pause)
    }

    private var health: Gate {
        var (red, all, redOthers, others) = (0, 0, 0, 0)
        for (name, agent) in fleet.agents where agent.isOnline {
            let isNewlyRed = agent.isRed && !evidence.redBefore.contains(name)
            if agent.report?.place == .next {
                all += 1
                if isNewlyRed { red += 1 }
            } else if !control.chooses(name, agent.number) {
                others += 1
                if isNewlyRed { redOthers += 1 }
            }
        }
        let share = Self.part(red, of: all)
        // Of few agents one alone is more than 5 %.
        let isBad = red >= 2 && share > 0.05 && share > 3 * Self.part(redOthers, of: others)
        return Gate(
            name: "health", verdict: isBad ? .breach : all > 0 ? .pass : .inconclusive,
            found: "\(red) of \(all) newly red, \(redOthers) of \(others) others",
            limit: "5 % and 3 × others", consequence: .pause)
    }

    private static func part(_ count: Int, of all: Int) -> Double {
        all == 0 ? 0 : Double(count) / Double(all)
    }

    /// Whether there is evidence of traffic and of reports, so that a stage without a breach may end.
    var areConclusive: Bool {
        guard reports.verdict == .pass else { return false }
        if options.allowsNoTraffic { return true }
        return hasTraffic && (opens.verdict == .pass || failures.verdict == .pass)
    }
}
