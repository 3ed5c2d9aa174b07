import MQTTLink
import Threading
import WaypostBackend
import WaypostMessages

/// Listens at the broker, reconnects when the connection is lost, and puts what comes into the state.
struct WatchFeed {
    let settings: BackendConfiguration
    /// The profile that they come from.
    let profile: String?
    /// Nil for all agents.
    let agent: String?

    /// A larger fleet is not asked for its past failures: each look at it would cost thousands of replies.
    private static let mostAsked = 200
    /// How far back those go, and the most of each agent.
    private static let past = "1h"
    private static let failuresOfEach = 20

    /// - Throws: ``CommandError`` 4 when there is no broker.
    func connect() async throws -> BackendSession {
        let (topics, name) = (settings.topics, agent ?? "+")
        return try await BackendSession.connect(
            settings, required: [topics.state(of: name)],
            useful: [
                topics.health(of: name), topics.applied(of: name), topics.failures(of: name),
                topics.logs(of: name), topics.reply(of: name, to: settings.name),
            ])
    }

    /// Listens until the task is cancelled.
    func run(_ first: BackendSession, _ state: WatchState) async {
        var session = first
        var pause = ReconnectPause()
        // Some brokers close the connection of who may not send.
        var mayAsk = true
        let asked = Guarded<BackendSession?>(nil)
        let pings = Task {
            for await agent in state.opened {
                if let session = asked.withLock({ $0 }) { await askHealth(of: agent, session, state) }
            }
        }
        defer { pings.cancel() }
        while true {
            let current = session
            asked.withLock { $0 = mayAsk ? current : nil }
            pause.connectionMade()
            let broker = (profile.map { "[\($0)] " } ?? "") + session.connection.broker.description
            state.change { ($0.model.link, $0.model.isConnected) = (broker, true) }
            var loss = MessageLoss()
            let question = mayAsk ? Task { await askForFailures(current, state) } : nil
            defer { question?.cancel() }
            do {
                func saw(_ message: MQTTMessage) {
                    let new = session.loss - loss
                    loss = loss + new
                    state.change { content in
                        content.model.saw(message)
                        content.model.loss = content.model.loss + new
                    }
                }
                let reading = try await session.readAsMuch(within: .seconds(60), saw)
                state.change { $0.model.read(cutOff: reading.fault) }
                while case .message(let message) = try await session.next() { saw(message) }
            } catch let error as BackendError {
                state.change { $0.model.connectionLost(error.wording.shell) }
                if error.kind != .noBroker { return await session.close() }
            } catch {
                return await session.close()
            }
            await session.close()
            mayAsk = mayAsk && state.content.model.isAnswered
            guard let next = await comeBack(&pause, state) else { return }
            session = next
        }
    }

    /// Asks for the failures of the last hour, once it is known who is there.
    private func askForFailures(_ session: BackendSession, _ state: WatchState) async {
        guard (try? await session.fence()) != nil else { return }
        guard state.content.model.roster.members.count <= Self.mostAsked else {
            return state.change {
                $0.model.unaskedPast = "more than \(Self.mostAsked) agents: those before were not asked for"
            }
        }
        let audience = agent.map(Audience.agent) ?? .all
        let command = Command(
            sending: .failures(
                // By the agents' own clocks; one that does not know the query gives its last ones.
                FailureRequest(maximum: Self.failuresOfEach, query: "age:\(Self.past)")))
        state.change { $0.model.asked(command.id) }
        let topic = settings.topics.command(to: audience, from: settings.name)
        try? await session.publish(.json(topic, command.encoded()))
    }

    /// Asks an agent how it is now: what the broker keeps is up to a minute old.
    private func askHealth(of agent: String, _ session: BackendSession, _ state: WatchState) async {
        guard state.content.model.roster.members[agent]?.isOnline == true else { return }
        let command = Command(sending: .ping())
        state.change { $0.model.asked(health: command.id) }
        let topic = settings.topics.command(to: .agent(agent), from: settings.name)
        try? await session.publish(.json(topic, command.encoded()))
    }

    private func comeBack(_ pause: inout ReconnectPause, _ state: WatchState) async -> BackendSession? {
        while (try? await MonotonicTime.sleep(for: pause.next())) != nil {
            if pause.isHintDue { state.change { $0.model.link = ReconnectPause.hint } }
            if let session = try? await connect() { return session }
        }
        return nil
    }
}
