import MQTTLink
import Threading
import WaypostMessages

extension BackendSession {
    /// Waits for what agents answer: for the first answer of one agent, of a group for that of each known member.
    ///
    /// An agent that was offline before it was asked is not waited for, unless `--wait` says so.
    /// - Parameters:
    ///   - agent: Who gave an answer.
    ///   - answer: What a message answers; nil when it does not.
    ///   - said: What came before.
    ///   - isRead: Whether `diagnosis` saw what the broker keeps, see ``meet(_:within:_:_:)``.
    ///   - each: Called with the first answer of each agent.
    /// - Returns: how many agents answered.
    /// - Throws: ``BackendError`` with what is known of those that did not.
    func awaitAnswers<Answer>(
        of audience: Audience, _ wait: ReplyWait, _ diagnosis: inout NoReplyDiagnosis,
        by agent: (Answer) -> String, _ answer: (MQTTMessage) -> Answer?,
        after said: [MQTTMessage] = [], isRead: Bool = false, _ each: (Answer) -> Void
    ) async throws -> Int {
        let end = MonotonicTime.instant + wait.duration
        var answered: Set<String> = []
        func take(_ message: MQTTMessage) {
            diagnosis.saw(message)
            guard let answer = answer(message), answered.insert(agent(answer)).inserted else { return }
            each(answer)
        }
        for message in said { take(message) }
        // Of a group, those whose answers are missing; nil when they are not known, as before all have been read.
        var awaited: [String]?
        if case .group = audience,
            isRead ? true : try await readAsMuch(within: wait.duration, take) == .whole
        {
            awaited = diagnosis.awaited(isPatient: wait.isGiven)
        }
        var alarms = [alarm(after: max(.zero, end - MonotonicTime.instant))]
        defer { for alarm in alarms { alarm.cancel() } }
        var isLookedAt = wait.isGiven
        while true {
            switch audience {
            case .agent: if !answered.isEmpty { return 1 }
            case .group:
                while let name = awaited?.last, answered.contains(name) { awaited?.removeLast() }
                if awaited?.isEmpty == true {
                    try throwIfSilent(nil)
                    return answered.count
                }
            }
            if !isLookedAt, diagnosis.isKnownOffline {
                // Its health, which comes after this, may say that it came back.
                isLookedAt = true
                _ = try await fence()
                alarms.append(alarm(after: RetainedSilence.grace))
            }
            if case .message(let message) = try await next() {
                take(message)
                continue
            }
            let isOver = MonotonicTime.instant >= end
            guard isOver || diagnosis.isKnownOffline else { continue }
            try throwIfSilent(isOver ? wait.text : nil)
            return answered.count
        }

        func throwIfSilent(_ limit: String?) throws(BackendError) {
            if let silence = diagnosis.silence(besides: answered, after: limit) {
                var error = BackendError(.noReply, silence)
                error.silent = diagnosis.silentAgents(besides: answered)
                throw error
            }
            if answered.isEmpty { throw BackendError(.noReply, diagnosis.explanation(after: limit)) }
        }
    }
}
