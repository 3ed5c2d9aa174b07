import MQTTLink
import Waypost
import WaypostMessages

extension RosterReader {
    /// How long the last answers may take beyond the spread.
    private static let patience: Int64 = 3_000

    /// The agents that answer: that needs no retained message, which some brokers do not keep or do not send.
    ///
    /// - Parameter spread: Over how many milliseconds they spread their answers.
    /// - Throws: ``BackendError`` when there is no broker, or when it does not allow it.
    package func ask(spread: Int64) async throws -> Roster {
        let topics = settings.topics
        let command = Command(sending: .ping(spread: spread), isTimed: settings.signer != nil)
        let payload =
            try settings.signer?.payload(command, to: .all, from: settings.name) ?? command.encoded()
        var roster = Roster(topics: topics)
        try await BackendSession.with(
            settings, required: [topics.reply(of: "+", to: settings.name)]
        ) { session in
            try await session.publish(.json(topics.command(to: .all, from: settings.name), payload))
            let alarm = session.alarm(after: .milliseconds(spread + Self.patience))
            defer { alarm.cancel() }
            while case .message(let message) = try await session.next() {
                guard case (let agent, .reply(to: settings.name))? = topics.outbound(message.topic),
                    let json = message.json, let reply = try? Reply(json), reply.id == command.id,
                    reply.code == .ok
                else { continue }
                roster.isThere(agent, reply.result)
            }
        }
        return roster
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
