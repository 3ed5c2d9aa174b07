import Threading
import Waypost
import WaypostMessages

/// What agents did not answer that were asked for something page by page.
struct PagedAnswers {
    /// Agents that refused, such as those of an older version.
    private(set) var refusals: [CommandReply] = []
    /// Why others did not answer.
    private(set) var silence: BackendError?
    /// Agents whose clock is wrong, and how far it is ahead, in milliseconds.
    private(set) var wrongClocks: [String: Int64] = [:]
    /// Agents of which not all pages came.
    private(set) var unfinished: Set<String> = []

    /// Asks for the first page of all, and then for the further ones of one after the other, so that one that takes its
    /// time keeps no others waiting for long.
    ///
    /// - Parameters:
    ///   - known: What was read of the agents' presence so far; nil when it is still to come.
    ///   - limits: An agent that never comes to an end is not followed.
    ///   - request: What asks for a page.
    ///   - take: Takes a page; returns what is asked for next, nil at the end.
    static func read<Page>(
        _ audience: Audience, _ first: Page, in session: BackendSession,
        knowing known: NoReplyDiagnosis? = nil, within limits: (pages: Int, time: Duration),
        _ request: (Audience, Page) throws -> CommandRequest,
        _ take: (_ answer: CommandReply, _ page: Page, _ isFirst: Bool) -> Page?
    ) async throws -> PagedAnswers {
        var answers = PagedAnswers()
        var next: [(agent: String, page: Page, number: Int)] = []
        func took(_ answer: CommandReply, _ page: Page, _ number: Int) {
            guard answer.isOK else { return answers.refusals.append(answer) }
            let clockError = answer.clockAhead.milliseconds
            if clockError != 0 { answers.wrongClocks[answer.agent] = clockError }
            guard let further = take(answer, page, number == 1), number < limits.pages else { return }
            next.append((answer.agent, further, number + 1))
        }
        answers.silence = try await silence {
            _ = try await request(audience, first).perform(in: session, isFirst: known == nil, knowing: known)
            {
                took($0, first, 1)
            }
        }
        let end = MonotonicTime.instant + limits.time
        while !next.isEmpty {
            let (agent, page, number) = next.removeFirst()
            let silence =
                MonotonicTime.instant < end
                ? try await silence {
                    _ = try await request(.agent(agent), page).perform(in: session) { took($0, page, number) }
                }
                : BackendError(
                    .noReply, "\(agent) did not come to an end within \(limits.time.components.seconds) s")
            guard let silence else { continue }
            answers.silence = answers.silence ?? silence
            answers.unfinished.insert(agent)
        }
        return answers
    }

    /// The error when there was no reply in time; all others are thrown.
    private static func silence(_ body: () async throws -> Void) async throws -> BackendError? {
        do {
            try await body()
            return nil
        } catch let error as BackendError where error.kind == .noReply {
            return error
        }
    }
}
