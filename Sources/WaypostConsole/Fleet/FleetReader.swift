import MQTTLink
import ServiceLifecycle
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

/// Reads the bus for all tabs, with one subscription to each topic, over lost connections.
final class FleetReader: Service {
    /// Whether the console hears the fleet.
    struct Connection: Sendable {
        /// The broker; nil while there is no connection.
        var broker: String?
        /// Since when it is so, in milliseconds since 1970.
        var since: Int64
        /// Why there is none.
        var reason: String?
        /// When the last message came.
        var heard: Int64?
        /// Whether what the broker keeps has been read.
        var isRead = false
        /// Why agents may be missing all the same.
        var gap: String?
        var isComplete: Bool { isRead && gap == nil }
        /// Messages that did not reach the console: it was too slow, or they were too large.
        var lost = 0
        /// The topics that the broker does not let it read.
        var denied: [String] = []
    }

    private let backend: Backend
    private let state: Guarded<FleetState>
    private let connectionState: Guarded<Connection>

    init(_ backend: Backend) {
        self.backend = backend
        let now = WallClock.now()
        var state = FleetState(began: now)
        state.connectionLost(at: now)
        self.state = Guarded(state)
        connectionState = Guarded(Connection(since: now, reason: "connecting"))
    }

    var connection: Connection { connectionState.withLock { $0 } }

    /// The time that what is known is of, in milliseconds since 1970: now, or when something was last heard.
    func asOf(_ now: Int64) -> Int64 {
        let connection = connection
        return connection.broker != nil ? now : connection.heard ?? connection.since
    }

    /// All that is known now, to be looked at outside the lock, however long that takes.
    ///
    /// What is the same later is shared; of what changes meanwhile, the tables are copied once.
    func snapshot() -> FleetState { state.withLock { $0 } }

    /// Takes a few values, under the lock that all share: nothing that grows with the fleet or with a request.
    func read<Value>(_ body: (FleetState) -> Value) -> Value { state.withLock { body($0) } }

    func sends(_ id: String, to agent: String, _ type: String, _ subject: String?) {
        let sender = backend.settings.name
        state.withLock { $0.sends(id, to: agent, type, subject, as: sender, now: WallClock.now()) }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.follow() }
    }

    private func follow() async {
        var pause = ReconnectPause()
        var inbox = FleetInbox(topics: backend.settings.topics)
        while !Task.isCancelled {
            do {
                try await session(&inbox) { pause.connectionMade() }
            } catch is CancellationError {
                return
            } catch {
                let now = WallClock.now()
                for news in inbox.connectionLost(at: now) { state.withLock { $0.take(news, now: now) } }
                state.withLock { $0.connectionLost(at: now) }
                connectionState.withLock { connection in
                    if connection.broker != nil { connection.since = now }
                    connection.broker = nil
                    connection.reason = error.words
                }
            }
            guard (try? await MonotonicTime.sleep(for: pause.next())) != nil else { return }
        }
    }

    private func session(_ inbox: inout FleetInbox, _ connected: () -> Void) async throws {
        let settings = backend.settings
        let topics = settings.topics
        let useful =
            [
                topics.applied(of: "+"), topics.logs(of: "+"), topics.failures(of: "+"),
                topics.reply(of: "+", to: settings.name),
            ] + topics.rolloutFilters
        let session = try await BackendSession.connect(
            settings, required: [topics.state(of: "+"), topics.health(of: "+")])
        do {
            connected()
            var denied: [String] = []
            for filter in useful where try await !session.subscribe(filter) { denied.append(filter) }
            // By the rules that are shipped this is the release role's; the agents' health has the rest.
            _ = try await session.subscribe(topics.groups(of: "+"))
            connectionState.withLock { [denied] connection in
                connection = Connection(
                    broker: session.connection.broker.description, since: WallClock.now(),
                    heard: connection.heard, lost: connection.lost, denied: denied)
            }
            state.withLock { $0.connectionMade(at: WallClock.now()) }
            let reading = try await session.readAsMuch(within: .seconds(60)) { saw($0, &inbox) }
            inbox.read(cutOff: reading.fault)
            connectionState.withLock { ($0.isRead, $0.gap) = (true, inbox.gap) }
            var loss = MessageLoss()
            while true {
                guard case .message(let message) = try await session.next() else { continue }
                saw(message, &inbox)
                guard session.loss != loss else { continue }
                let new = session.loss - loss
                loss = session.loss
                connectionState.withLock { $0.lost.add(clamping: new.dropped.adding(clamping: new.skipped)) }
            }
        } catch {
            await session.close()
            throw error
        }
    }

    private func saw(_ message: MQTTMessage, _ inbox: inout FleetInbox) {
        let now = WallClock.now()
        for news in inbox.read(message, now: now) { state.withLock { $0.take(news, now: now) } }
        connectionState.withLock { ($0.heard, $0.gap) = (now, inbox.gap) }
    }
}
