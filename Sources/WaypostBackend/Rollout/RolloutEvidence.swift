import Waypost
package import WaypostMessages

/// What a stage has shown so far: counts, as they come in.
package struct RolloutEvidence: Sendable {
    /// How long an agent that is lost after the change counts as lost by it, in milliseconds.
    static let blame: Int64 = 120_000
    /// How long failures of one URL count together, in milliseconds.
    static let window: Int64 = 60_000

    /// Opens of URLs that the candidate changes.
    struct Opens: Sendable {
        var opened: Int64 = 0
        var failed: Int64 = 0
    }

    /// When the stage began, in milliseconds on the monotonic clock.
    package private(set) var began: Int64
    /// For how long verdicts stood still.
    package var standstill: Int64 = 0
    /// Failures of those with the candidate against those without.
    package private(set) var comparison = FailureComparison()
    /// The product of the e-values of the stages before.
    package private(set) var earlier = 1.0
    /// Agents with a failure under the candidate.
    private(set) var failing: Set<String> = []
    /// Agents that did not find, or may not open, a URL that the candidate touches, and when.
    private(set) var notFound: [(agent: String, at: Int64)] = []
    /// What agents counted: by agent, since the stage began.
    private(set) var opens: [String: Opens] = [:]
    /// When agents first said that the candidate is in force.
    private(set) var applied: [String: Int64] = [:]
    /// Agents that were lost soon after they said so, and when.
    private(set) var lost: [String: Int64] = [:]
    /// Agents that were not chosen and were lost, and when.
    private(set) var lostOthers: [String: Int64] = [:]
    /// Agents that went back by themselves.
    private(set) var guarded: Set<String> = []
    /// Agents that refused the candidate.
    private(set) var refused: Set<String> = []
    /// Entries without effect that nothing foretold, each with an agent.
    private(set) var unforeseen: [Int: String] = [:]
    /// Agents whose health failed before, and the agents that were online and not chosen.
    private(set) var redBefore: Set<String> = []
    private(set) var others: Set<String> = []
    /// What canaries said of URLs: those that lead elsewhere than foretold; nil when they were not asked.
    private(set) var differences: [String]?

    package init(_ fleet: RolloutFleet, _ control: RolloutControl?, at now: Int64) {
        began = now
        for (name, agent) in fleet.agents where agent.isOnline {
            if agent.isRed { redBefore.insert(name) }
            if control?.chooses(name, agent.number) != true { others.insert(name) }
        }
    }

    /// What agents had said before this controller came: they have had the candidate for long.
    package mutating func takeOver(_ fleet: RolloutFleet, of id: String?, at now: Int64) {
        for (name, agent) in fleet.agents where agent.report?.id == id {
            switch agent.report?.reason {
            case RolloutReport.Reason.guarded?: guarded.insert(name)
            case RolloutReport.Reason.refused?: refused.insert(name)
            default: if agent.report?.place == .next { applied[name] = now - Self.blame - 1 }
            }
        }
    }

    /// The next stage begins: what was found of single agents stays, counts begin anew.
    package mutating func nextStage(_ fleet: RolloutFleet, _ control: RolloutControl, at now: Int64) {
        var next = RolloutEvidence(fleet, control, at: now)
        next.earlier = earlier * comparison.value
        (next.applied, next.guarded, next.refused) = (applied, guarded, refused)
        (next.unforeseen, next.differences) = (unforeseen, differences)
        // Otherwise what the first stages broke would look as if it had been so before.
        next.redBefore.formIntersection(redBefore)
        self = next
    }

    /// The e-value of all stages.
    package var value: Double { min(earlier * comparison.value, 1e300) }

    // MARK: What comes

    /// Time passed.
    package mutating func passed(
        _ time: Int64, _ fleet: RolloutFleet, _ control: RolloutControl
    ) {
        let (cohort, others) = Self.running(fleet, control)
        comparison.cohort.exposure += Double(time) * Double(cohort)
        comparison.control.exposure += Double(time) * Double(others)
    }

    /// How many agents run with the candidate, and how many run and are not chosen.
    static func running(_ fleet: RolloutFleet, _ control: RolloutControl) -> (cohort: Int, others: Int) {
        var (cohort, others) = (0, 0)
        for (name, agent) in fleet.agents where agent.isOnline {
            if agent.report?.place == .next { cohort += 1 }
            if !control.chooses(name, agent.number) { others += 1 }
        }
        return (cohort, others)
    }

    /// An agent said what is in force.
    package mutating func agentApplied(
        _ name: String, _ agent: RolloutFleet.Agent, before: RolloutReport?, foreseen: Set<Int>?,
        at now: Int64
    ) {
        guard let report = agent.report else { return }
        switch report.reason {
        case .guarded: guarded.insert(name)
        case .refused: refused.insert(name)
        default: break
        }
        guard report.place == .next else { return }
        if applied[name] == nil { applied[name] = now }
        if let foreseen, unforeseen.count < 20 {
            for index in agent.inactive.subtracting(foreseen) { unforeseen[index] = name }
        }
        let isSame = before?.id == report.id
        let known = Opens(
            opened: isSame ? before?.opened ?? 0 : 0, failed: isSame ? before?.failed ?? 0 : 0)
        // They begin at nothing with each process.
        let isRestarted = report.opened < known.opened
        opens[name, default: Opens()].opened += report.opened - (isRestarted ? 0 : known.opened)
        opens[name, default: Opens()].failed += max(0, report.failed - (isRestarted ? 0 : known.failed))
    }

    /// An agent reported a failure.
    package mutating func agentFailed(
        _ name: String, _ agent: RolloutFleet.Agent, _ report: FailureReport, _ control: RolloutControl,
        touched: (String) -> Bool, at now: Int64
    ) {
        if report.code.number == Code.rolloutGuard.number {
            guarded.insert(name)
            return
        }
        guard report.origin == .router || report.origin == .service else { return }
        let isBlamed =
            report.map.map { $0.layer == control.audience && $0.revision == control.next.revision } ?? false
        guard isBlamed else {
            if !control.chooses(name, agent.number) { comparison.control.events += 1 }
            return
        }
        // Its time counts from its report on, which is spread; failures before that would have no time.
        if agent.report?.place == .next {
            comparison.cohort.events += 1
            failing.insert(name)
        }
        guard [403, 404].contains(report.code.number), let url = report.url, touched(url) else { return }
        notFound.removeAll { now - $0.at > Self.window }
        if notFound.count < 10_000 { notFound.append((name, now)) }
    }

    /// An agent was lost.
    package mutating func agentLost(
        _ name: String, _ agent: RolloutFleet.Agent, _ control: RolloutControl, at now: Int64
    ) {
        if let since = applied[name], now - since <= Self.blame {
            lost[name] = now
        } else if !control.chooses(name, agent.number) {
            lostOthers[name] = now
        }
    }

    /// An agent came back.
    package mutating func agentCame(_ name: String, at now: Int64, grace: Int64) {
        if let since = lost[name], now - since <= grace { lost[name] = nil }
        if let since = lostOthers[name], now - since <= grace { lostOthers[name] = nil }
    }

    /// A canary said where URLs lead.
    package mutating func canaryResolved(_ differences: [String]) {
        self.differences = (self.differences ?? []) + differences
    }
}
