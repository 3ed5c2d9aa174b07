import Waypost
package import WaypostMessages

/// What a stage has shown so far: counts, as they come in.
///
/// What one agent says is one agent's: each is counted by itself, so that gates can leave the loudest one out.
package struct RolloutEvidence: Sendable {
    /// How long an agent that is lost after the change counts as lost by it, in milliseconds.
    static let blame: Int64 = 120_000
    /// How long failures of one URL count together, in milliseconds.
    static let window: Int64 = 60_000
    /// The most opens that an agent can have made in a millisecond; more is not believed.
    private static let opensPerMillisecond: Int64 = 1
    /// How many entries without effect are remembered: one stops a roll-out.
    private static let mostUnforeseen = 20
    /// How many canaries are to answer, and how many are asked for that at most.
    private static let canaries = (wanted: 3, most: 12)

    /// Opens of URLs that the candidate changes.
    struct Opens: Sendable, Hashable {
        var opened: Int64 = 0
        var failed: Int64 = 0

        var good: Int64 { opened - failed }

        static func - (one: Opens, other: Opens) -> Opens {
            Opens(opened: one.opened - other.opened, failed: one.failed - other.failed)
        }
    }

    /// Failures by agent, in all, and of the agent with the most.
    struct Failures: Sendable, Hashable {
        private(set) var all = 0
        private(set) var most = 0
        private var counts: [String: Int] = [:]

        var agents: Int { counts.count }

        mutating func add(_ agent: String) {
            all += 1
            counts[agent, default: 0] += 1
            most = max(most, counts[agent] ?? 0)
        }
    }

    /// When the stage began, in milliseconds on the monotonic clock.
    package private(set) var began: Int64
    /// For how long verdicts stood still.
    package var standstill: Int64 = 0
    /// Failures of those with the candidate against those without.
    private(set) var comparison = FailureComparison()
    /// The same by agent.
    private(set) var cohort = Failures()
    private var control = Failures()
    /// The product of the e-values of the stages before.
    private(set) var earlier = 1.0
    /// Agents that did not find, or may not open, a URL that the candidate touches, and when they last said so.
    private(set) var notFound: [String: Int64] = [:]
    /// What agents counted: by agent, since the stage began.
    private(set) var opens: [String: Opens] = [:]
    /// The same in all, and of the agents of which most failed, and most went well.
    private(set) var allOpens = Opens()
    private(set) var mostFailed = (agent: "", opens: Opens())
    private(set) var mostGood = (agent: "", opens: Opens())
    /// Agents with an open, and with one that failed.
    private(set) var opening = 0
    private(set) var openingBadly = 0
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
    /// The canaries' answers about URLs under the candidate: those that lead elsewhere than predicted, by agent.
    private(set) var answers: [String: [String]] = [:]
    /// The canaries that were asked, and whether answers are awaited.
    private var asked: Set<String> = []
    private var isAsking = false

    package init(at now: Int64) { began = now }

    /// What agents had said before this controller came: they have had the candidate for long.
    package mutating func takeOver(_ fleet: RolloutFleet, of id: String?, at now: Int64) {
        defer { assert(isConsistent) }
        for (name, agent) in fleet.agents where agent.report?.id == id {
            switch agent.report?.reason {
            case RolloutReport.Reason.guarded?: guarded.insert(name)
            case RolloutReport.Reason.refused?: refused.insert(name)
            default: if agent.report?.place == .next { applied[name] = now - Self.blame - 1 }
            }
        }
    }

    /// The next stage begins: what was found of single agents stays, counts begin anew.
    package mutating func nextStage(at now: Int64) {
        defer { assert(isConsistent) }
        var next = RolloutEvidence(at: now)
        next.earlier = min(value, 1e300)
        (next.applied, next.guarded, next.refused) = (applied, guarded, refused)
        (next.unforeseen, next.answers) = (unforeseen, answers)
        (next.asked, next.isAsking) = (asked, isAsking)
        self = next
    }

    /// The comparison without the agent of either side that failed most often: one alone decides nothing.
    var robust: FailureComparison {
        var robust = comparison
        robust.cohort.events -= cohort.most
        robust.control.events -= control.most
        return robust
    }

    /// The e-value of all stages.
    package var value: Double { min(earlier * robust.value, 1e300) }

    /// Whether what is counted in all is what agents counted.
    private var isConsistent: Bool {
        0...opens.count ~= opening && 0...opening ~= openingBadly && 0...allOpens.opened ~= allOpens.failed
            && asked.count <= Self.canaries.most && 0...1e300 ~= earlier
    }

    // MARK: What comes

    /// Time passed.
    package mutating func passed(_ time: Int64, _ counts: RolloutFleet.Counts) {
        defer { assert(isConsistent) }
        comparison.cohort.exposure += Double(time) * Double(counts.onNext)
        comparison.control.exposure += Double(time) * Double(counts.others)
    }

    /// An agent said what is in force.
    package mutating func agentApplied(
        _ name: String, _ agent: RolloutFleet.Agent, before: RolloutReport?, foreseen: Set<Int>?,
        at now: Int64
    ) {
        defer { assert(isConsistent) }
        guard let report = agent.report else { return }
        switch report.reason {
        case .guarded: guarded.insert(name)
        case .refused: refused.insert(name)
        default: break
        }
        // What one counted that went back was under the candidate, too.
        guard report.place == .next || report.reason == .guarded else { return }
        if report.place == .next {
            if applied[name] == nil { applied[name] = now }
            if let foreseen {
                let found = agent.inactive.subtracting(foreseen)
                for index in found.prefix(Self.mostUnforeseen - unforeseen.count) { unforeseen[index] = name }
            }
        }
        let isSame = before?.id == report.id
        let known = Opens(
            opened: isSame ? before?.opened ?? 0 : 0, failed: isSame ? before?.failed ?? 0 : 0)
        // They begin at nothing with each process.
        let isRestarted = report.opened < known.opened
        count(
            Opens(
                opened: report.opened - (isRestarted ? 0 : known.opened),
                failed: report.failed - (isRestarted ? 0 : known.failed)), of: name, at: now)
    }

    private mutating func count(_ more: Opens, of name: String, at now: Int64) {
        let before = opens[name] ?? Opens()
        var after = before
        let limit = max(0, now - began + Self.window) * Self.opensPerMillisecond
        after.opened = min(limit, before.opened + max(0, more.opened))
        after.failed = min(after.opened, before.failed + max(0, more.failed))
        opens[name] = after
        if before.opened == 0, after.opened > 0 { opening += 1 }
        if before.failed == 0, after.failed > 0 { openingBadly += 1 }
        allOpens.opened += after.opened - before.opened
        allOpens.failed += after.failed - before.failed
        if name == mostFailed.agent || after.failed > mostFailed.opens.failed { mostFailed = (name, after) }
        if name == mostGood.agent || after.good > mostGood.opens.good { mostGood = (name, after) }
    }

    /// An agent reported a failure.
    package mutating func agentFailed(
        _ name: String, _ agent: RolloutFleet.Agent, _ report: FailureReport, _ control: RolloutControl,
        touched: (String) -> Bool, at now: Int64
    ) {
        defer { assert(isConsistent) }
        if report.code.number == Code.rolloutGuard.number {
            guarded.insert(name)
            return
        }
        guard report.origin == .router || report.origin == .service else { return }
        let isBlamed =
            report.map.map { $0.layer == control.audience && $0.revision == control.next.revision } ?? false
        guard isBlamed else {
            guard !agent.isChosen else { return }
            self.control.add(name)
            comparison.control.events += 1
            return
        }
        // Its time counts from its report on, which is spread; failures before that would have no time.
        if agent.report?.place == .next {
            cohort.add(name)
            comparison.cohort.events += 1
        }
        guard [403, 404].contains(report.code.number), let url = report.url, touched(url) else { return }
        notFound[name] = now
    }

    /// An agent was lost.
    package mutating func agentLost(_ name: String, _ agent: RolloutFleet.Agent, at now: Int64) {
        defer { assert(isConsistent) }
        if let since = applied[name], now - since <= Self.blame {
            lost[name] = now
        } else if !agent.isChosen {
            lostOthers[name] = now
        }
    }

    /// An agent came back.
    package mutating func agentCame(_ name: String, at now: Int64, grace: Int64) {
        defer { assert(isConsistent) }
        if let since = lost[name], now - since <= grace { lost[name] = nil }
        if let since = lostOthers[name], now - since <= grace { lostOthers[name] = nil }
    }

    /// Whether agents were lost that may still come back in time.
    package func isWaitingForLost(at now: Int64, _ grace: Int64) -> Bool {
        // A little longer, so that the gate has looked at it.
        lost.values.contains { now - $0 <= grace + 2_000 }
    }

    // MARK: Canaries

    /// The agents that are to be asked now where URLs lead: such as have the candidate, and were not asked before.
    package mutating func takeCanaries(_ fleet: RolloutFleet) -> [String] {
        defer { assert(isConsistent) }
        let missing = Self.canaries.wanted - answers.count
        guard !isAsking, missing > 0, asked.count < Self.canaries.most else { return [] }
        let canaries = applied.keys.filter {
            !asked.contains($0) && !guarded.contains($0) && fleet.agents[$0]?.isOnNext == true
        }.sorted().prefix(missing)
        guard !canaries.isEmpty else { return [] }
        isAsking = true
        asked.formUnion(canaries)
        return Array(canaries)
    }

    /// Canaries said where URLs lead: that counts of those that had the candidate in force when they said it.
    package mutating func canariesAnswered(_ found: [CanaryAnswer], _ next: RolloutControl.MapID) {
        defer { assert(isConsistent) }
        isAsking = false
        for answer in found where answer.inForce?.digest == next.digest {
            answers[answer.agent] = answer.differences
        }
    }
}

/// Where URLs lead at an agent that was asked during a roll-out.
package struct CanaryAnswer: Sendable, Hashable {
    package var agent: String
    /// The group's map under which it answered; nil when that is not known, or when it had none.
    var inForce: RolloutControl.MapID?
    /// The URLs that lead elsewhere than foretold, each a sentence.
    var differences: [String]

    package init(agent: String, inForce: RolloutControl.MapID?, differences: [String] = []) {
        (self.agent, self.inForce, self.differences) = (agent, inForce, differences)
    }
}
