import Waypost
import WaypostFleet
import WaypostMessages

/// Which agents have a wrong clock, as far as their lines and their answers show.
struct ClockWatch {
    /// How far an agent's clock is ahead, in milliseconds, from its answer; 0 for one of which only its lines show that
    /// something is wrong, which was reported.
    private var errors: [String: Int64] = [:]

    /// Beyond it all is forgotten and learnt again; more agents than that are not on one broker.
    private static let maximumAgents = 10_000
    /// A line that came just now and is ahead by more was not written at that time.
    private static let largestLead: Int64 = 30_000
    /// An agent keeps what it could not send for so long at most before it is said that it may be old.
    private static let largestDelay: Int64 = 86_400_000

    /// Takes note of the clocks of agents that answered; what is to be said of those of which it is news.
    mutating func learnt(_ wrong: [String: Int64]) -> [String] {
        wrong.sorted { $0.key < $1.key }.compactMap { agent, error in
            let known = errors[agent] ?? 0
            remember(error, of: agent)
            // A clock that only runs on is no news.
            let change = error.subtracting(clamping: known).magnitude
            return known == 0 || change > Self.largestLead.magnitude
                ? ClockOffset.notice(agent, error: error) : nil
        }
    }

    /// What is to be said of a line that came just now; nil when its time may be right, or it was said.
    mutating func doubt(_ line: AgentEvent, now: Int64) -> String? {
        guard errors[line.agent] == nil else { return nil }
        let lag = now.subtracting(clamping: line.event.time)
        guard lag < -Self.largestLead || lag > Self.largestDelay else { return nil }
        remember(0, of: line.agent)
        let side = lag > 0 ? "behind" : "ahead of"
        let why = lag > 0 ? "its clock is wrong, or it sends what is old" : "its clock is wrong"
        return
            "the times of \(line.agent) are \(TimeText.difference(lag)) \(side) this machine's: \(why); a ping measures it"
    }

    /// The line with the time of a correct clock.
    func corrected(_ line: AgentEvent) -> AgentEvent { line.corrected(by: errors[line.agent] ?? 0) }

    /// The same of a line that came just now.
    func corrected(_ line: AgentEvent, now: Int64) -> AgentEvent {
        line.corrected(by: errors[line.agent] ?? 0, now: now)
    }

    private mutating func remember(_ error: Int64, of agent: String) {
        if errors[agent] == nil, errors.count >= Self.maximumAgents { errors.removeAll() }
        errors[agent] = error
    }
}
