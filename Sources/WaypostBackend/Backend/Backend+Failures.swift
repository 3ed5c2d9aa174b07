import Threading
import Waypost
public import WaypostFleet
import WaypostMessages

extension Backend {
    /// Asks agents for the failures that they keep, the last 500 of each, also from before they were started.
    ///
    ///     let groups = Mutex(FailureGroups())
    ///     let gaps = try await backend.keptFailures(since: .ago(.seconds(3_600))) { failure in
    ///         groups.withLock { $0.add(failure) }
    ///     }
    ///
    /// - Parameters:
    ///   - agents: One agent, those of a group, or all.
    ///   - start: From when on; nil for all.
    ///   - query: Terms such as `code:404 -message:timeout`, as `waypost logcat --query` has them.
    ///   - deadline: How long answers are waited for, of agents that are offline too; nil for 10 s, without these.
    ///   - each: Takes the failures, of each agent the newest first.
    /// - Returns: What did not come.
    /// - Throws: ``BackendError``; of kind `invalid` for several names, or when the query can't be read, of kind
    ///   `unknownReceiver` when no such agent is known.
    public func keptFailures(
        of agents: AgentSelection = .all, since start: LogStart? = nil, _ query: String = "",
        deadline: Duration? = nil, _ each: @escaping @Sendable (AgentFailure) -> Void
    ) async throws -> FailureGaps {
        let audience: Audience
        switch (agents.single, agents.group) {
        case (let name?, _): audience = .agent(name)
        case (nil, let group?) where agents.names.isEmpty: audience = .group(group)
        case (nil, nil) where agents.isAll: audience = .all
        default: throw BackendError(.invalid, "failures are those of one agent, of a group, or of all agents")
        }
        let query = try LogQuery.read(query)
        let wait = ReplyWait(deadline.map { TimeSpan(milliseconds: $0.milliseconds) })
        return try await PublicCall.run { [settings] in
            try await FailureReader(settings, wait).read(audience, since: start, query: query, each)
        }
    }
}
