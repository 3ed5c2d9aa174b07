import Waypost
import WaypostBackend
import WaypostMessages

/// How the agents at a broker are: each with the reason and the advice that it has given itself.
struct FleetCheck {
    let roster: Roster
    /// The agent that is looked at; nil for all.
    let agent: String?
    /// The one that was asked for its time.
    var asked: String?
    let now: Int64

    var findings: [DoctorFinding] {
        roster.members.filter { agent == nil || $0.key == agent }.sorted { $0.key < $1.key }
            .flatMap { name, member in
                findings(of: member, AgentStatus(name, member, now: now)).map { finding in
                    var finding = finding
                    finding.agent = name
                    return finding
                }
            }
    }

    private func findings(of member: Roster.Member, _ summary: AgentStatus) -> [DoctorFinding] {
        let map = member.mapSummary.map(LocalCheck.refusedMap) ?? []
        return switch member.condition {
        case .lost: [Self.lost(member, summary, now)] + map
        case .stopped: [Self.stopped(member, summary, now)]
        case .unknown: []
        case .failing, .mapRefused, .unclear, .healthy:
            (member.currentHealth.map { Self.checks($0) + Self.session($0) } ?? [Self.hasNoHealth])
                + clock(summary) + map
        }
    }

    /// A clock of which the agent itself can't know that it is wrong; of the one that was asked more is known.
    private func clock(_ summary: AgentStatus) -> [DoctorFinding] {
        guard let lag = summary.clockLag, summary.name != asked, !summary.problem.contains("clock: ") else {
            return []
        }
        let side = lag > 0 ? "behind" : "ahead of"
        return [
            DoctorFinding(
                "agent", .failed, "its clock is \(TimeText.difference(lag)) \(side) this machine's",
                advice: "synchronise both clocks with NTP: timedatectl set-ntp true")
        ]
    }

    private static let hasNoHealth = DoctorFinding(
        "agent", .skipped, Roster.Member.hasNoHealth,
        advice: "may it write its health, by the broker's rules? On its machine: waypost doctor --local")

    private static func checks(_ health: Health) -> [DoctorFinding] {
        health.checks.filter { $0.state == .failed }.map {
            DoctorFinding("agent", .failed, "\($0.name): \($0.detail)", advice: $0.advice)
        } + health.unknowns.map { DoctorFinding("agent", .skipped, $0.text, advice: $0.advice) }
    }

    /// A session that the broker keeps for less than the agent asked for, or than its commands may wait.
    private static func session(_ health: Health) -> [DoctorFinding] {
        guard let kept = health.limits["sessionExpiry"]?.boundedInt else { return [] }
        func span(_ seconds: Int64) -> String {
            TimeText.span(min(max(0, seconds), Fields.latestTime / 1_000) * 1_000)
        }
        if let asked = health.limits["sessionExpiryAsked"]?.boundedInt, kept < asked {
            return [
                DoctorFinding(
                    "agent", .warning,
                    "the broker keeps its session for \(span(kept)), and it asks for \(span(asked)) (session-expiry)",
                    advice:
                        "what is sent to an agent that is away for longer is lost: raise the broker's limit of "
                        + "session expiry, or send nothing for later than that")
            ]
        }
        guard let life = health.limits["commandLife"]?.boundedInt, kept < life else { return [] }
        return [
            DoctorFinding(
                "agent", .warning,
                "its session is kept for \(span(kept)), and its commands may wait for \(span(life)) (command-life)",
                advice:
                    "what is sent to an agent that is away for longer is lost: raise its session-expiry, or lower "
                    + "its command-life")
        ]
    }

    private static func lost(
        _ member: Roster.Member, _ summary: AgentStatus, _ now: Int64
    ) -> DoctorFinding {
        let heard = summary.asOf.map { "last heard of \(AgentStatus.ago($0, now))" }
        guard let last = member.state?.last else {
            return DoctorFinding(
                "agent", .failed, "its connection was lost",
                advice:
                    "is the machine on, and does its network reach the broker? On that machine: waypost doctor --local",
                remark: heard)
        }
        let advice = last.code.flatMap { CodeExplanation.find($0.name).first?.advice }
        return DoctorFinding(
            "agent", .failed, "its connection was lost; last reason: \(last.text)",
            advice: advice ?? "on that machine: waypost doctor --local", remark: heard)
    }

    private static func stopped(
        _ member: Roster.Member, _ summary: AgentStatus, _ now: Int64
    ) -> DoctorFinding {
        DoctorFinding(
            "agent", .note, "shut down" + (member.state?.last.map { ": \($0.text)" } ?? ""),
            advice:
                "if it should run, on its machine: waypost doctor --local says why it does not, or can't sign in",
            remark: summary.since.map { AgentStatus.ago($0, now) })
    }
}
