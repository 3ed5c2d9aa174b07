package import Waypost
package import WaypostMessages

/// Asks agents for the failures that they keep, page by page.
package struct FailureReader {
    /// A failure that an agent keeps.
    package struct Found {
        package let agent: String
        package let report: FailureReport
        /// The JSON it came as.
        package let json: JSONValue
        /// How far the agent's clock is ahead, in milliseconds, where it is known to be wrong; else 0.
        let clockError: Int64

        /// The report with the times of a correct clock.
        package var corrected: FailureReport {
            var report = report
            report.first = report.first.subtracting(clamping: clockError)
            report.last = report.last.subtracting(clamping: clockError)
            return report
        }
    }

    /// What did not come.
    package struct Gaps {
        /// Agents that refused to tell, such as those of an older version.
        package var refusals: [CommandReply] = []
        /// Why others did not answer.
        package var silence: BackendError?
        /// Reports that the agents' disks damaged.
        package var damaged: Int64 = 0
        /// Reports that came and can't be read here.
        package var unread: Int64 = 0
        /// Agents whose clock is wrong, and how far it is ahead, in milliseconds.
        package var wrongClocks: [String: Int64] = [:]
    }

    /// An agent keeps fewer failures, and gives all of them in less time.
    private static let limits = (pages: 500, time: Duration.seconds(120))

    private let settings: BackendConfiguration
    private let signer: Signer?
    private let wait: ReplyWait

    package init(_ settings: BackendConfiguration, signer: Signer?, _ wait: ReplyWait) {
        (self.settings, self.signer, self.wait) = (settings, signer, wait)
    }

    /// Calls `each` with what the agents still have and what is asked for, of each agent the newest first.
    ///
    /// - Parameters:
    ///   - start: From when on; nil for all.
    ///   - query: What must hold; the agents leave out what they can.
    /// - Throws: ``BackendError`` when there is no broker, or it knows no such agent.
    package func read(
        _ audience: Audience, since start: LogStart?, query: LogQuery, _ each: (Found) -> Void
    ) async throws -> Gaps {
        let first = FailureRequest(query: query.textForAgent)
        let question = try request(audience, first)
        return try await BackendSession.with(
            settings, required: [question.replyFilter], useful: question.presenceFilters
        ) { session in
            var gaps = Gaps()
            let answers = try await PagedAnswers.read(
                audience, first, in: session, within: Self.limits, request
            ) { answer, page, isFirst in
                let result = answer.reply.result
                // From when on is known from the clock of the agent, which comes with its first answer.
                let oldest = isFirst ? start?.milliseconds(byClockOf: answer.reply) ?? 0 : page.since
                for json in result["failures"]?.arrayValue ?? [] {
                    guard let report = try? FailureReport(json) else {
                        gaps.unread += 1
                        continue
                    }
                    let isWanted = query.holds(
                        for: report.event, of: answer.agent, code: report.code, isReport: true,
                        now: answer.reply.at)
                    guard isWanted, report.last >= oldest else { continue }
                    each(
                        Found(
                            agent: answer.agent, report: report, json: json,
                            clockError: answer.clockAhead.milliseconds))
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
        try CommandRequest(asking: .failures(page), of: audience, settings, signer: signer, wait)
    }
}
