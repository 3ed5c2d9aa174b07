import MQTTLink
import Threading
import Waypost
import WaypostMessages

extension RosterReader {
    /// How long nothing more may come beyond the spread, before all answers are there.
    private static let patience: Int64 = 3_000
    /// How long the answers may take in all beyond the spread.
    private static let longest: Int64 = 60_000

    /// The agents that answer: that needs no retained message, which some brokers do not keep or do not send.
    ///
    /// - Parameter spread: Over how many milliseconds they spread their answers.
    /// - Returns: the agents, and whether all answers that came could be read.
    /// - Throws: ``BackendError`` when there is no broker, or when it does not allow it.
    package func ask(spread: Int64) async throws -> (roster: Roster, isComplete: Bool) {
        let topics = settings.topics
        let command = Command(sending: .ping(spread: spread), isTimed: settings.signer != nil)
        let payload =
            try settings.signer?.payload(command, to: .all, from: settings.name) ?? command.encoded()
        var roster = Roster(topics: topics)
        var isComplete = true
        try await BackendSession.with(
            settings, required: [topics.reply(of: "+", to: settings.name)]
        ) { session in
            try await session.publish(.json(topics.command(to: .all, from: settings.name), payload))
            func now() -> Int64 { Int64(clamping: MonotonicTime.now / 1_000_000) }
            let end = now() + spread
            var last = end
            var alarm = session.alarm(after: .milliseconds(spread + Self.patience))
            defer { alarm.cancel() }
            while true {
                guard case .message(let message) = try await session.next() else {
                    // A large fleet, or a slow broker, takes longer than was asked for.
                    let left = min(last + Self.patience, end + Self.longest) - now()
                    guard left > 0 else {
                        isComplete = session.loss.dropped == 0 && now() < end + Self.longest
                        return
                    }
                    alarm = session.alarm(after: .milliseconds(left))
                    continue
                }
                guard case (let agent, .reply(to: settings.name))? = topics.outbound(message.topic),
                    let json = message.json, let reply = try? Reply(json), reply.id == command.id,
                    reply.code == .ok
                else { continue }
                roster.isThere(agent, reply.result)
                last = max(last, now())
            }
        }
        return (roster, isComplete)
    }
}

extension Roster {
    /// An agent has answered with its health: it is online.
    fileprivate mutating func isThere(_ agent: String, _ health: JSONValue) {
        let state = AgentState(
            isOnline: true, epoch: health["epoch"]?.intValue ?? 0, boot: health["boot"]?.stringValue ?? "",
            reason: .birth, agent: agent, version: health["version"]?.stringValue ?? "?",
            mqtt: Int(clamping: health["mqtt"]?.intValue ?? 0))
        saw(MQTTMessage(topic: topics.state(of: agent), payload: state.encoded(), retain: true))
        answered(agent, health)
    }
}
