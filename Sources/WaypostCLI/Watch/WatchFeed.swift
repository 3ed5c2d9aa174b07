import MQTTLink
import WaypostMessages

/// What a watcher is told.
enum WatchEvent: Sendable {
    case message(MQTTMessage)
    case connected(String)
    case lost(String)
    case key(UInt8)
    /// The terminal has another size, or it is time to look at the clock.
    case redraw
    case ended
}

/// Listens at the broker, over lost connections, and passes on what comes.
struct WatchFeed {
    private static let longestPause = Duration.seconds(5)

    let settings: BrokerSettings
    let sender: String
    /// Nil for all agents.
    let agent: String?

    /// - Throws: ``CommandError`` 4 when there is no broker.
    func connect() async throws -> OperatorSession {
        let (topics, name) = (settings.topics, agent ?? "+")
        return try await OperatorSession.connect(
            settings, as: sender, required: [topics.state(of: name)],
            useful: [topics.health(of: name), topics.failures(of: name), topics.logs(of: name)])
    }

    /// Passes on until the task is cancelled.
    func run(_ first: OperatorSession, _ tell: (WatchEvent) -> Void) async {
        var session = first
        while true {
            tell(.connected(session.connection.broker.description))
            do {
                while case .message(let message) = try await session.next() { tell(.message(message)) }
            } catch let error as CommandError {
                tell(.lost(error.description))
            } catch {
                return await session.close()
            }
            await session.close()
            guard let next = await comeBack() else { return }
            session = next
        }
    }

    private func comeBack() async -> OperatorSession? {
        var pause = Duration.milliseconds(200)
        while (try? await Task.sleep(for: pause)) != nil {
            if let session = try? await connect() { return session }
            pause = min(pause * 2, Self.longestPause)
        }
        return nil
    }
}
