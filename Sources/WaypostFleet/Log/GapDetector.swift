package import WaypostMessages

/// Sees what is missing among the events of each agent.
///
/// An agent numbers its events over all levels, also those it does not publish, and levels travel on topics of
/// their own; so a missing number means something only where we were away, and that is when it is looked at. What
/// the agent itself dropped it says in `dropped`.
package struct GapDetector: Sendable {
    private struct Seen {
        var boot: String
        var sequence: Int64
        var wasAway = false
    }

    /// More than one broker serves; beyond it all are forgotten, and a gap may go unseen.
    private static let maximumAgents = 10_000

    private var newest: [String: Seen] = [:]

    package init() {}

    /// The connection was lost and is there again, and what this agent published in between was not fetched.
    package mutating func missed(of agent: String) { newest[agent]?.wasAway = true }

    /// Takes note of an event; returns what to say before it is shown.
    package mutating func saw(_ event: LogEvent, from agent: String) -> String? {
        defer { assert(newest.count <= Self.maximumAgents) }
        let before = newest[agent]
        if before == nil, newest.count >= Self.maximumAgents { newest.removeAll() }
        newest[agent] = Seen(
            boot: event.boot,
            sequence: before?.boot == event.boot
                ? max(before?.sequence ?? 0, event.sequence) : event.sequence)
        let isRestarted = before.map { $0.boot != event.boot } ?? false
        if event.dropped > 0 {
            let restart = isRestarted ? "was restarted, and " : ""
            return "\(agent) \(restart)dropped \(event.dropped.counted("event")) before this one"
        }
        guard let before else { return nil }
        guard !isRestarted else { return "\(agent) was restarted" }
        guard before.wasAway, event.sequence > before.sequence + 1 else { return nil }
        return
            "\(agent): events \(before.sequence + 1) to \(event.sequence - 1) were missed, or are of levels that are not published"
    }
}
