package import Waypost
package import WaypostMessages

/// Asks agents for their failures of the past, page by page.
package struct FailureReader {
    /// What did not come.
    package struct Gaps {
        /// Agents that refused to tell, such as those of an older version.
        package var refusals: [AgentReply] = []
        /// Why others did not answer.
        package var silence: BackendError?
        /// Reports that the agents' disks damaged.
        package var damaged: Int64 = 0
    }

    /// An agent keeps fewer failures.
    private static let maximumPages = 500

    private let settings: BackendConfiguration
    private let signer: Signer?
    private let wait: ReplyWait

    package init(_ settings: BackendConfiguration, signer: Signer?, _ wait: ReplyWait) {
        (self.settings, self.signer, self.wait) = (settings, signer, wait)
    }

    /// Calls `each` with what the agents still have, of each agent the newest first.
    ///
    /// - Throws: ``BackendError`` when there is no broker.
    package func read(
        _ audience: Audience, since: Int64, _ each: (_ report: JSONValue, _ agent: String) -> Void
    ) async throws -> Gaps {
        let first = try request(audience, since, before: Fields.largestInteger)
        return try await BackendSession.with(
            settings, required: [first.replyFilter], useful: first.presenceFilters
        ) { session in
            var gaps = Gaps()
            var next: [(agent: String, before: Int64, pages: Int)] = []
            func take(_ answer: AgentReply, _ pages: Int, before: Int64) {
                guard answer.isOK else { return gaps.refusals.append(answer) }
                let result = answer.reply.result
                for report in result["failures"]?.arrayValue ?? [] { each(report, answer.agent) }
                gaps.damaged += min(max(0, result["damaged"]?.intValue ?? 0), 1_000)
                // An agent that never comes to an end is not followed.
                guard let further = result["next"]?.intValue, further < before, pages < Self.maximumPages
                else { return }
                next.append((answer.agent, further, pages + 1))
            }
            gaps.silence = try await silence {
                _ = try await first.perform(in: session) { take($0, 1, before: .max) }
            }
            while let (agent, before, pages) = next.popLast() {
                let page = try request(.agent(agent), since, before: before)
                let silent = try await silence {
                    _ = try await page.perform(in: session) { take($0, pages, before: before) }
                }
                gaps.silence = gaps.silence ?? silent
            }
            return gaps
        }
    }

    /// The error when there was no reply in time; all others are thrown.
    private func silence(_ body: () async throws -> Void) async throws -> BackendError? {
        do {
            try await body()
            return nil
        } catch let error as BackendError where error.kind == .noReply {
            return error
        }
    }

    private func request(_ audience: Audience, _ since: Int64, before: Int64) throws -> CommandRequest {
        try CommandRequest(
            asking: .failures(FailureRequest(since: since, before: before)), of: audience,
            settings, signer: signer, wait)
    }
}
