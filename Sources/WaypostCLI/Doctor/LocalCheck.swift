import Waypost
import WaypostAgent
import WaypostBackend
import WaypostMessages

/// What the agent of this machine says of itself.
///
/// The doctor does not sign in under the agent's name to find out about its rights: a broker that makes client ids of
/// user names would end the agent's session for it.
struct LocalCheck {
    /// An agent that is well answers in a moment.
    private static let patience = Duration.seconds(5)

    let directory: String
    /// Whether the doctor signs in anyway: then the agent need not run.
    let isSigningIn: Bool

    var findings: [DoctorFinding] {
        do {
            let json = try AgentSocket.ask(.health, in: directory, within: Self.patience)
            let health = Health(json)
            return [
                DoctorFinding("agent", .ok, "it runs, up \(health.uptimeText), version \(health.version)")
            ]
                + Self.checks(health)
                + Self.refusedMap(health.map)
        } catch {
            return [silence(error)]
        }
    }

    private func silence(_ error: CommandError) -> DoctorFinding {
        guard !StateInspection.isInUse(directory: directory) else {
            return DoctorFinding(
                "agent", .failed, error.description,
                advice: "it hangs, or it is another program that uses the library")
        }
        let status: DoctorFinding.Status = isSigningIn ? .skipped : .failed
        do throws(CommandError) {
            let stopped = try StoppedAgent(directory: directory)
            return DoctorFinding("agent", status, stopped.found, advice: stopped.advice)
        } catch {
            // What is wrong with its state is found by another check.
            return DoctorFinding("agent", status, "the agent does not run")
        }
    }

    /// Each check that is not good, those with the same reason together, and how many are.
    private static func checks(_ health: Health) -> [DoctorFinding] {
        let checks = health.checks
        let good = checks.count { $0.state == .ok }
        let failed = checks.filter { $0.state == .failed }.map { check in
            DoctorFinding(
                check.name == "link" ? "link" : "health", .failed,
                (check.name == "link" ? "" : "\(check.name): ") + check.detail, advice: check.advice)
        }
        let open = health.unknowns.map { DoctorFinding("health", .skipped, $0.text, advice: $0.advice) }
        let link = checks.first { $0.name == "link" && $0.state == .ok }.map {
            [DoctorFinding("link", .ok, $0.detail)]
        }
        let text =
            good == checks.count
            ? "its \(good) checks are ok" : "\(good) of its \(checks.count) checks are ok"
        return failed + open + (link ?? [])
            + (good > 0 ? [DoctorFinding("health", .ok, text)] : [])
    }

    /// A map that the agent refused; the one before it is in force.
    static func refusedMap(_ map: MapSummary) -> [DoctorFinding] {
        guard let refusal = map.refusal, let code = map.refused?.code else { return [] }
        let advice = CodeExplanation.find(code.name).first?.advice ?? "correct the map"
        return [
            DoctorFinding(
                "map", .failed, refusal,
                advice: "\(advice), and send it with a higher rev; the map before is in force")
        ]
    }
}
