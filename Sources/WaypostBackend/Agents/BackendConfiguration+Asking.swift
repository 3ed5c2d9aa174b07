import MQTTLink
import Threading
import Waypost
package import WaypostFleet
package import WaypostMessages

extension BackendConfiguration {
    /// How long the first answer may take beyond the spread, unless another time is asked for.
    private static let answerPatience = TimeSpan(milliseconds: AnswerWindow.shortest)

    /// The agents that answer: that needs no retained message, which some brokers do not keep or do not send.
    ///
    /// - Parameters:
    ///   - spread: Over how many milliseconds they spread their answers.
    ///   - wait: How long the first answer may take beyond that.
    /// - Returns: the agents; ``Roster/gap`` says when not all answers that came could be read.
    /// - Throws: ``BackendError`` when there is no broker, or when it does not allow it.
    package func askAgents(
        spread: Int64, wait: TimeSpan? = nil
    ) async throws -> Roster {
        var roster = Roster(topics: topics)
        let isComplete = try await ask(
            .all, spread: spread, wait: wait ?? Self.answerPatience
        ) {
            agent, health in
            roster.saw(Self.birth(of: agent, health, topics))
            roster.answered(agent, health)
        }
        if !isComplete { roster.cutOff = "answers came faster than they were read" }
        return roster
    }

    /// The same of a group, each agent as the two documents that a broker would have kept of it: state and health.
    func ask(group: String, spread: Int64, _ saw: (MQTTMessage) -> Void) async throws {
        _ = try await ask(.group(group), spread: spread, wait: Self.answerPatience) { agent, health in
            saw(Self.birth(of: agent, health, topics))
            saw(MQTTMessage(topic: topics.health(of: agent), payload: health.serialized(), retain: true))
        }
    }

    private func ask(
        _ audience: Audience, spread: Int64, wait: TimeSpan,
        _ answered: (_ agent: String, _ health: JSONValue) -> Void
    ) async throws -> Bool {
        let command = Command(sending: .ping(spread: spread), isTimed: signer != nil)
        let payload = try signer?.payload(command, to: audience, from: name) ?? command.encoded()
        var isComplete = true
        try await BackendSession.with(self, required: [topics.reply(of: "+", to: name)]) { session in
            try await session.publish(.json(topics.command(to: audience, from: name), payload))
            func now() -> Int64 { Int64(clamping: MonotonicTime.now / 1_000_000) }
            var window = AnswerWindow(asked: now(), spread: spread, wait: wait.milliseconds)
            var alarm = session.alarm(after: .milliseconds(window.end - now()))
            defer { alarm.cancel() }
            while true {
                guard case .message(let message) = try await session.next() else {
                    // A large fleet, or a slow broker, takes longer than was asked for.
                    let left = window.end - now()
                    guard left > 0 else {
                        isComplete = session.loss.dropped == 0 && !window.isCutShort
                        return
                    }
                    alarm = session.alarm(after: .milliseconds(left))
                    continue
                }
                guard case (let agent, .reply(to: name))? = topics.outbound(message.topic),
                    let json = message.json, let reply = try? Reply(json), reply.id == command.id,
                    reply.code == .ok
                else { continue }
                answered(agent, reply.result)
                let before = window.end
                window.answered(at: now())
                guard window.end < before else { continue }
                alarm.cancel()
                alarm = session.alarm(after: .milliseconds(window.end - now()))
            }
        }
        return isComplete
    }

    /// An agent has answered with its health: it is online.
    private static func birth(of agent: String, _ health: JSONValue, _ topics: Topics) -> MQTTMessage {
        let state = AgentState(
            isOnline: true, epoch: health["epoch"]?.boundedInt ?? 0, boot: health["boot"]?.stringValue ?? "",
            reason: .birth, agent: agent, version: health["version"]?.stringValue ?? "?",
            mqtt: Int(clamping: health["mqtt"]?.boundedInt ?? 0))
        return MQTTMessage(topic: topics.state(of: agent), payload: state.encoded(), retain: true)
    }
}
