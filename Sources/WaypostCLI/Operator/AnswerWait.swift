import MQTTLink
import WaypostMessages

extension OperatorSession {
    /// Waits for what agents answer: for the first answer of one agent, and of a group until the time is over.
    ///
    /// An agent that was offline before it was asked is not waited for, unless `--wait` says so.
    /// - Parameters:
    ///   - agent: Who gave an answer.
    ///   - answer: What a message answers; nil when it does not.
    ///   - each: Called with the first answer of each agent.
    /// - Returns: how many agents answered.
    /// - Throws: ``CommandError`` 3 with what is known of the agent when none did.
    func awaitAnswers<Answer>(
        of audience: Audience, _ wait: WaitOptions, _ diagnosis: inout NoReplyDiagnosis,
        by agent: (Answer) -> String, _ answer: (MQTTMessage) -> Answer?, _ each: (Answer) -> Void
    ) async throws -> Int {
        let end = ContinuousClock.now + wait.duration
        alarm(after: wait.duration)
        var answered: Set<String> = []
        var isLookedAt = wait.isGiven
        while true {
            if !isLookedAt, diagnosis.isKnownOffline {
                // Its health, which comes after this, may say that it came back.
                isLookedAt = true
                _ = await fence()
                alarm(after: Self.graceOfRetained)
            }
            guard case .message(let message) = try await next() else {
                let isOver = ContinuousClock.now >= end
                guard isOver || diagnosis.isKnownOffline else { continue }
                guard answered.isEmpty else { return answered.count }
                throw CommandError(.noReply, diagnosis.explanation(after: isOver ? wait.text : nil))
            }
            diagnosis.saw(message)
            guard let answer = answer(message), answered.insert(agent(answer)).inserted else { continue }
            each(answer)
            if case .agent = audience { return 1 }
        }
    }
}
