import Threading
import Waypost
import WaypostMessages

/// What did not come of the failures that agents keep.
public struct FailureGaps: Sendable {
    /// The replies of agents that refused to tell, such as those of an older version.
    public internal(set) var refusals: [CommandReply] = []
    /// Why others did not answer; nil when all did.
    public internal(set) var silence: BackendError?
    /// Reports that the agents' disks damaged.
    public internal(set) var damaged: Int64 = 0
    /// Reports that came and can't be read here.
    public internal(set) var unread: Int64 = 0
    /// Agents whose clock is wrong, and how far it is ahead, in milliseconds; the times are corrected by it.
    public internal(set) var wrongClocks: [String: Int64] = [:]
}

/// Asks agents for the failures that they keep, page by page.
struct FailureReader {
    /// An agent keeps fewer failures, and gives all of them in less time.
    private static let limits = (pages: 500, time: Duration.seconds(120))

    private let settings: BackendConfiguration
    private let wait: ReplyWait

    init(_ settings: BackendConfiguration, _ wait: ReplyWait) {
        (self.settings, self.wait) = (settings, wait)
    }

    /// Calls `each` with what the agents still have and what is asked for, of each agent the newest first.
    ///
    /// - Parameters:
    ///   - start: From when on; nil for all.
    ///   - query: What must hold; the agents leave out what they can.
    /// - Throws: ``BackendError`` when there is no broker, or it knows no such agent.
    func read(
        _ audience: Audience, since start: LogStart?, query: LogQuery, _ each: (AgentFailure) -> Void
    ) async throws -> FailureGaps {
        let first = FailureRequest(query: query.textForAgent)
        let question = try request(audience, first)
        return try await BackendSession.with(
            settings, required: [question.replyFilter], useful: question.presenceFilters
        ) { session in
            var gaps = FailureGaps()
            let answers = try await PagedAnswers.read(
                audience, first, in: session, within: Self.limits, request
            ) { answer, page, isFirst in
                let result = answer.reply.result
                // From when on is known from the clock of the agent, which comes with its first answer.
                let oldest = isFirst ? start?.milliseconds(byClockOf: answer.reply) ?? 0 : page.since
                for json in result["failures"]?.arrayValue ?? [] {
                    // The agent's own times, by which it was asked.
                    guard let report = try? FailureReport(json),
                        let failure = AgentFailure(
                            json, of: answer.agent, clockError: answer.clockAhead.milliseconds)
                    else {
                        gaps.unread += 1
                        continue
                    }
                    let isWanted = query.holds(
                        for: report.event, of: answer.agent, code: report.code, isReport: true,
                        now: answer.reply.at)
                    if isWanted, report.last >= oldest { each(failure) }
                }
                gaps.damaged += min(max(0, result["damaged"]?.boundedInt ?? 0), 1_000)
                guard let further = result["next"]?.boundedInt, further < page.before else { return nil }
                var following = page
                (following.before, following.since) = (further, min(max(0, oldest), Fields.latestTime))
                return following
            }
            (gaps.refusals, gaps.silence, gaps.wrongClocks) = (
                answers.refusals, answers.silence, answers.wrongClocks
            )
            return gaps
        }
    }

    private func request(
        _ audience: Audience, _ page: FailureRequest
    ) throws(BackendError) -> CommandRequest {
        try CommandRequest(asking: .failures(page), of: audience, settings, signer: settings.signer, wait)
    }
}
