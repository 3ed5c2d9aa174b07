import Waypost
import WaypostAgent
import WaypostBackend

/// What the agent of this machine says of itself.
///
/// The doctor does not sign in under the agent's name to find out about its rights: a broker that makes client ids of
/// user names would end the agent's session for it.
struct LocalCheck {
    /// An agent that is well answers in a moment.
    private static let patience = Duration.seconds(5)

    let directory: String
    /// Whether the doctor signs in all the same, and so need not advise it.
    let isSigningIn: Bool

    var findings: [DoctorFinding] {
        do {
            let json = try HealthSocket.ask(in: directory, within: Self.patience)
            let health = Health(json)
            let broker = json["broker"]?.stringValue ?? ""
            let link =
                json["online"]?.boolValue == true
                ? DoctorFinding(
                    "link", .ok, "the agent is connected to \(broker), MQTT \(health.mqttVersion)")
                : DoctorFinding(
                    "link", .failed, "the agent has no connection to a broker",
                    advice: "its log says why: journalctl -u waypost-agent, or docker compose logs agent")
            return [
                DoctorFinding("agent", .ok, "it runs, up \(health.uptime), version \(health.version)"), link,
            ]
                + checks(health)
        } catch {
            let isRunning = StateInspection.isInUse(directory: directory)
            let advice = isSigningIn ? "" : "; or try its rights with --sign-in, when nothing waits for it"
            return [
                DoctorFinding(
                    "agent", isRunning ? .failed : .skipped, error.description,
                    advice: isRunning
                        ? "it hangs, or is a program of its own that uses the library" : "start it\(advice)")
            ]
        }
    }

    private func checks(_ health: Health) -> [DoctorFinding] {
        let failed = health.problems.map {
            DoctorFinding(
                "health", .failed, $0, advice: "see \"Health\" in the page on operating an agent")
        }
        return failed.isEmpty
            ? [DoctorFinding("health", .ok, "its \(health.checks.count) checks are green")] : failed
    }
}
