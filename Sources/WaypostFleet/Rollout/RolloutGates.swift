import Waypost
package import WaypostMessages

/// The gates of a stage: evidence in, verdicts with their numbers out.
///
/// What one agent says stops a roll-out at most: it takes nothing back for others, and lets nothing go on.
package struct RolloutGates {
    package typealias Gate = RolloutStatus.Gate

    let evidence: RolloutEvidence
    let fleet: RolloutFleet
    let control: RolloutControl
    let options: RolloutOptions
    /// In milliseconds on the monotonic clock.
    let now: Int64
    /// Agents that have, or had, the candidate, or are to have it.
    private let cohort: Int
    private let hasApplied: Bool

    package init(
        evidence: RolloutEvidence, fleet: RolloutFleet, control: RolloutControl, options: RolloutOptions,
        now: Int64
    ) {
        (self.evidence, self.fleet, self.control, self.options, self.now) = (
            evidence, fleet, control, options, now
        )
        let known = evidence.applied.count + evidence.guarded.count { evidence.applied[$0] == nil }
        (cohort, hasApplied) = (max(known, fleet.counts.chosen), known > 0)
    }

    /// All of them, in the order of the design.
    package var all: [Gate] {
        [candidate, resolve, notFound, failures, opens, lost, guarded, reports, health]
    }

    /// The breach that decides, of several: the first that takes the map back, else the first that pauses.
    package var worst: Gate? {
        let breaches = all.filter { $0.verdict == .breach }
        return breaches.first { $0.consequence == .takeBack } ?? breaches.first
    }

    /// How long the stage has run, without standstills.
    package var elapsed: Int64 { now - evidence.began - evidence.standstill }

    // MARK: Limits

    /// How many agents are too many where the cohort is large enough; of a small one it may be fewer, and one at least.
    private func limit(_ count: Int) -> Int { max(1, min(count, cohort)) }

    /// Next to its limit a gate says neither good nor bad.
    private func verdict(
        isBreach: Bool, isNear: Bool, hasEvidence: Bool
    ) -> RolloutStatus.Verdict {
        isBreach ? .breach : hasEvidence && !isNear ? .pass : .inconclusive
    }

    /// Whether one more of these agents would be too many, or as many are.
    private static func isNear(_ count: Int, _ limit: Int) -> Bool { count > 0 && count + 1 >= limit }

    /// What was found, with a word where it is next to its limit.
    private func said(_ found: String, near isNear: Bool, _ verdict: RolloutStatus.Verdict) -> String {
        isNear && verdict != .breach ? "\(found), near the limit" : found
    }

    /// A breach of so many agents takes back; that of one alone pauses.
    private func consequence(of agents: Int) -> RolloutStatus.Consequence { agents == 1 ? .pause : .takeBack }

    private static func part(_ count: Int, of all: Int) -> Double {
        all == 0 ? 0 : Double(count) / Double(all)
    }

    // MARK: What agents say of the map

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
        let differences = evidence.answers.sorted { $0.key < $1.key }.flatMap(\.value)
        return Gate(
            name: "resolve",
            verdict: evidence.answers.isEmpty ? .inconclusive : differences.isEmpty ? .pass : .breach,
            found: differences.first.map { "\(differences.count) differ: \($0)" }
                ?? (evidence.answers.isEmpty ? "no canary has answered" : "as foretold"),
            limit: "1 URL", consequence: .pause)
    }

    private var guarded: Gate {
        let (count, limit) = (evidence.guarded.count, limit(2))
        let isNear = Self.isNear(count, limit)
        let verdict = verdict(isBreach: count >= limit, isNear: isNear, hasEvidence: hasApplied)
        // With their number, so that what agents reported is found.
        let names = evidence.guarded.min().map { name in
            " (\(name)\(count > 1 ? ", …" : ""), 540 \(Code.rolloutGuard.name))"
        }
        return Gate(
            name: "guard", verdict: verdict,
            found: said(count.counted("agent") + (names ?? ""), near: isNear, verdict),
            limit: limit.counted("agent"), consequence: consequence(of: limit))
    }

    // MARK: Failures and opens

    private var notFound: Gate {
        let agents = evidence.notFound.values.count { now - $0 <= RolloutEvidence.window }
        let limit = limit(3)
        let isNear = Self.isNear(agents, limit)
        let verdict = verdict(isBreach: agents >= limit, isNear: isNear, hasEvidence: hasTraffic)
        return Gate(
            name: "not-found", verdict: verdict,
            found: said("\(agents.counted("agent")) in 60 s", near: isNear, verdict),
            limit: limit.counted("agent"), consequence: consequence(of: limit))
    }

    /// Of an e-value that is so large good failures are rare: it is no evidence for going on.
    private var nearLimit: Double { options.evidence / 50 }

    private var failures: Gate {
        let comparison = evidence.comparison
        let (value, agents) = (evidence.value, evidence.cohort.agents)
        // That of one alone is not in the e-value.
        let isBad = value >= options.evidence && agents >= max(2, limit(3))
        let isNear = !isBad && value >= nearLimit
        let isConclusive =
            comparison.isConclusive
            && (hasTraffic || comparison.cohort.events + comparison.control.events > 0)
        let rounded = value < 100 ? (value * 100).rounded() / 100 : value.rounded()
        let found =
            comparison.isConclusive
            ? "e \(Self.short(rounded)), \(comparison.cohort.events) against \(comparison.control.events), "
                + agents.counted("agent")
            : isBad ? "e \(Self.short(rounded)), \(agents.counted("agent"))" : "no control group"
        return Gate(
            name: "failures", verdict: isBad ? .breach : isConclusive && !isNear ? .pass : .inconclusive,
            found: said(found, near: isNear, isBad ? .breach : .inconclusive),
            limit: "e \(Self.short(options.evidence)) and \(max(2, limit(3))) agents", consequence: .takeBack)
    }

    private static func short(_ number: Double) -> String {
        number >= 1e9 ? "over 10^9" : Int64(exactly: number).map { "\($0)" } ?? "\(number)"
    }

    /// Whether anyone opened a URL that the candidate changes.
    private var hasTraffic: Bool { evidence.allOpens.opened > 0 }

    /// Whether too many opens fail.
    private static func isBad(_ opens: RolloutEvidence.Opens) -> Bool {
        opens.opened > 0 && opens.failed * 100 > opens.opened * 5
    }

    /// The opens without those of the agent of which most failed, and without the one of which most went well besides:
    /// one agent's word hides nothing, and decides nothing.
    private var opensOfOthers: (rest: RolloutEvidence.Opens, middle: RolloutEvidence.Opens) {
        let (good, bad) = (evidence.mostGood, evidence.mostFailed)
        let rest = evidence.allOpens - bad.opens
        return (rest, good.agent == bad.agent ? rest : rest - good.opens)
    }

    /// Whether opens are no evidence for going on.
    ///
    /// Of one or two agents none can be left out.
    private var areOpensBad: Bool {
        guard evidence.opening >= 3 else { return Self.isBad(evidence.allOpens) }
        let (rest, middle) = opensOfOthers
        return Self.isBad(rest) || Self.isBad(middle)
    }

    private var opens: Gate {
        let (all, agents) = (evidence.allOpens, evidence.opening)
        let (rest, middle) = opensOfOthers
        let limit = limit(3)
        let isEnough = all.opened >= Self.enoughOpens && agents >= limit
        let isBreach =
            agents >= 3
            ? Self.isBad(all) && Self.isBad(rest) || middle.opened >= Self.enoughOpens && Self.isBad(middle)
            : Self.isBad(all) && evidence.openingBadly == agents
        let verdict: RolloutStatus.Verdict =
            isEnough && isBreach ? .breach : isEnough && !areOpensBad ? .pass : .inconclusive
        // More than half of the 5 %.
        let isNear = all.failed * 40 > all.opened
        return Gate(
            name: "opens", verdict: verdict,
            found: said(
                "\(all.failed) of \(all.opened) failed, \(agents.counted("agent"))", near: isNear, verdict),
            limit: "5 % of 20 in \(limit.counted("agent"))", consequence: consequence(of: limit))
    }

    private static let enoughOpens: Int64 = 20

    // MARK: Agents that are there, or not

    private var lost: Gate {
        let gone = evidence.lost.count { now - $0.value > options.grace }
        let others = evidence.lostOthers.count { now - $0.value > options.grace }
        return comparing(
            "lost", (gone, evidence.applied.count), (others, fleet.counts.controlGroup), "",
            consequence(of: limit(2)))
    }

    /// A gate over a share of agents that is too large beside that of the others.
    private func comparing(
        _ name: String, _ own: (count: Int, all: Int), _ others: (count: Int, all: Int), _ what: String,
        _ consequence: RolloutStatus.Consequence
    ) -> Gate {
        let limit = limit(2)
        let share = Self.part(own.count, of: own.all)
        let other = Self.part(others.count, of: others.all)
        // Of few agents one alone is more than 5 %.
        let isBad = own.count >= limit && share > 0.05 && share > 3 * other
        let isNear = Self.isNear(own.count, limit) && share > 0.025 && share > 1.5 * other
        let verdict = verdict(isBreach: isBad, isNear: isNear, hasEvidence: own.all > 0)
        return Gate(
            name: name, verdict: verdict,
            found: said(
                "\(own.count) of \(own.all)\(what), \(others.count) of \(others.all) others", near: isNear,
                verdict),
            limit: "\(limit) and 5 % and 3 × others", consequence: consequence)
    }

    /// Whether so many chosen agents say nothing that the candidate is sent to them again.
    package var areReportsMissing: Bool { fleet.counts.silent * 10 > fleet.counts.chosen }

    private var reports: Gate {
        let counts = fleet.counts
        let (missing, all) = (counts.missing, counts.chosen)
        let isMissing = missing * 10 > all
        let isDue = elapsed > options.grace + control.spread
        let reasons = counts.notOnNext.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        let verdict: RolloutStatus.Verdict =
            all == 0 ? .inconclusive : !isMissing ? .pass : isDue ? .breach : .inconclusive
        let found =
            "\(missing) of \(all) missing" + (reasons.isEmpty ? "" : ": \(reasons.joined(separator: ", "))")
        return Gate(
            // More than half of the 10 %.
            name: "reports", verdict: verdict, found: said(found, near: missing * 20 > all, verdict),
            limit: "10 %", consequence: .pause)
    }

    private var health: Gate {
        let counts = fleet.counts
        return comparing(
            "health", (counts.redOnNext, counts.onNext), (counts.redOthers, counts.others), " newly red",
            .pause)
    }

    // MARK: Going on

    /// Whether there is good evidence of traffic and of reports, so that a stage without a breach may end.
    package var areConclusive: Bool {
        guard reports.verdict == .pass else { return false }
        guard !areOpensBad, evidence.value < nearLimit else { return false }
        return options.allowsNoTraffic
            || hasTraffic && (opens.verdict == .pass || failures.verdict == .pass)
    }

    /// Why the stage does not end: the gates that say neither, and what they found.
    package var doubts: String {
        let silent = all.filter { $0.verdict == .inconclusive }.map { "\($0.name): \($0.found)" }
        return "inconclusive: \(silent.joined(separator: "; "))"
            + (hasTraffic ? "" : "; is there traffic on the changed URLs?")
    }
}
