import MQTTLink
import WaypostMessages

/// Listens at the broker, reconnects when the connection is lost, and puts what comes into the state.
struct WatchFeed {
    let settings: BrokerSettings
    let sender: String
    /// Nil for all agents.
    let agent: String?

    /// - Throws: ``CommandError`` 4 when there is no broker.
    func connect() async throws -> OperatorSession {
        let (topics, name) = (settings.topics, agent ?? "+")
        return try await OperatorSession.connect(
            settings, as: sender, required: [topics.state(of: name)],
            useful: [
                topics.health(of: name), topics.applied(of: name), topics.failures(of: name),
                topics.logs(of: name),
            ])
    }

    /// Listens until the task is cancelled.
    func run(_ first: OperatorSession, _ state: WatchState) async {
        var session = first
        var pause = ReconnectPause()
        while true {
            pause.connectionMade()
            let broker = settings.profileMark + session.connection.broker.description
            state.change { ($0.model.link, $0.model.isConnected) = (broker, true) }
            var loss = MessageLoss()
            do {
                while case .message(let message) = try await session.next() {
                    let new = session.loss - loss
                    loss = loss + new
                    state.change { content in
                        content.model.saw(message)
                        content.model.loss = content.model.loss + new
                    }
                }
            } catch let error as CommandError {
                state.change { ($0.model.link, $0.model.isConnected) = (error.description, false) }
                if error.exit != .noBroker { return await session.close() }
            } catch {
                return await session.close()
            }
            await session.close()
            guard let next = await comeBack(&pause, state) else { return }
            session = next
        }
    }

    private func comeBack(_ pause: inout ReconnectPause, _ state: WatchState) async -> OperatorSession? {
        while (try? await Task.sleep(for: pause.next())) != nil {
            if pause.isHintDue { state.change { $0.model.link = ReconnectPause.hint } }
            if let session = try? await connect() { return session }
        }
        return nil
    }
}
