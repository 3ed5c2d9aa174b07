import Logging
import Waypost
import WaypostMessages

/// What an agent knows: none of it changes anything.
extension AgentClient {
    /// Asks what became of a command.
    ///
    /// - Parameter sender: Who sent it; this backend unless given.
    /// - Returns: nil when the agent does not know it: it never came, or was forgotten.
    public func inspect(
        _ id: String, sender: String? = nil
    ) async throws -> CommandTimeline? {
        let command = Command(
            sending: .inspect(target: id, sender: sender), isTimed: backend.settings.signer != nil)
        let reply = try await perform(command, SendOptions())
        return CommandTimeline.all(in: reply, of: id).first
    }

    /// The commands that the agent has and that have not ended, the oldest first; each as ``inspect(_:sender:)`` has it.
    ///
    /// What waits for the agent at the broker is not among them: only the broker knows of it.
    ///
    /// - Parameter sender: Who sent them; this backend unless given.
    /// - Returns: at most as many as one message has, and how many others there are.
    /// - Throws: ``BackendError``; of kind `refused` with 422 from an agent of a version that does not list them.
    public func pending(of sender: String? = nil) async throws -> (commands: [CommandTimeline], more: Int) {
        let command = Command(
            sending: .inspect(target: nil, sender: sender), isTimed: backend.settings.signer != nil)
        let reply = try await perform(command, SendOptions())
        let more = Int(clamping: max(0, reply.result["more"]?.boundedInt ?? 0))
        return (CommandTimeline.all(in: reply), more)
    }

    /// The failures that the agent still has, the newest first; it keeps the last 500 on disk.
    ///
    /// - Parameters:
    ///   - query: Terms such as `code:404 age:1h`, as `waypost logcat --query` has them.
    ///   - maximum: The most that are read.
    public func failures(
        _ query: String = "", atMost maximum: Int = 500
    ) async throws -> [AgentFailure] {
        var failures: [AgentFailure] = []
        var before = Fields.largestInteger
        while true {
            let command = Command(
                sending: .failures(
                    FailureRequest(
                        before: before, maximum: max(1, min(maximum, Command.maximumFailures)), query: query)),
                isTimed: backend.settings.signer != nil)
            let result = try await perform(command, SendOptions()).result
            failures += (result["failures"]?.arrayValue ?? []).compactMap { AgentFailure($0, of: name) }
            // An agent that never comes to an end is not followed.
            guard failures.count < maximum, let next = result["next"]?.boundedInt, next < before else {
                return Array(failures.prefix(maximum))
            }
            before = next
        }
    }

    /// The recent events that the agent still has in memory, in order.
    ///
    /// - Parameters:
    ///   - query: Terms such as `tag:Router level:W -message:demo`, as `waypost logcat --query` has them.
    ///   - last: Only so many, the newest.
    public func replay(_ query: String? = nil, last: Int? = nil) async throws -> [AgentEvent] {
        let events = try await replay(LogFilter(query: query), past: LogRequest.Past(last: last))
        for gap in events.gaps { backend.settings.logger.warning("\(name): \(gap)") }
        return events.lines
    }

    /// The same, with what is missing.
    ///
    /// - Parameters:
    ///   - filter: Which of them.
    ///   - past: From when on, and how many.
    ///   - deadline: How long the first answer is waited for; nil for 10 s.
    public func replay(
        _ filter: LogFilter, past: LogRequest.Past = .everything, deadline: Duration? = nil
    ) async throws -> ReplayedEvents {
        try checkName()
        let wait = ReplyWait(deadline.map { TimeSpan(milliseconds: $0.milliseconds) })
        return try await PublicCall.run { [name, settings = backend.settings] in
            let (topics, sender) = (settings.topics, settings.name)
            var collector = ReplayCollector(
                agents: [name], sender: sender, topics: topics, filter: filter, past: past)
            try await BackendSession.with(
                settings, required: [topics.reply(of: name, to: sender)],
                useful: [topics.logs(of: name), topics.state(of: name), topics.health(of: name)]
            ) { session in
                var diagnosis = NoReplyDiagnosis(.agent(name), topics: topics)
                try await session.meet(.agent(name), within: wait, &diagnosis)
                try await session.read(&collector, first: wait.duration) { diagnosis.saw($0) }
                guard collector.hasAnswers else {
                    throw BackendError(.noReply, diagnosis.explanation(after: wait.text))
                }
            }
            if let refusal = collector.refusals.first {
                throw BackendError(refusal: CommandReply(agent: name, reply: refusal.reply))
            }
            let loss = MessageLoss(dropped: collector.dropped, unread: collector.unread)
            return ReplayedEvents(
                lines: collector.wanted, gaps: collector.gaps + loss.notices,
                clockAhead: .milliseconds(collector.wrongClocks[name] ?? 0))
        }
    }

    /// What the agent can open and call, as the broker keeps it.
    ///
    ///     let problems = try await agent.contract().check(.call("DoorService", "open", [5]))
    public func contract() async throws -> AgentContract {
        let contract = try await PublicCall.run { [self] in
            try await backend.settings.contract(of: name, within: .seconds(10))
        }
        return try AgentContract(contract)
    }
}

/// The recent events that an agent had, and what is missing of them.
public struct ReplayedEvents: Sendable {
    /// In the order in which they happened, with the times of the agent's clock.
    public let lines: [AgentEvent]
    /// What is missing of what the agent has or had, a sentence each.
    public let gaps: [String]
    /// How far the agent's clock is ahead, where it is known to be wrong; else zero.
    public let clockAhead: Duration
}
