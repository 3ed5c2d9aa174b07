import MQTTLink
public import ServiceLifecycle
import Threading
import Tracing
// What this library says of agents, maps and roll-outs are values of it: who imports this one has them.
@_exported public import WaypostFleet
import WaypostMessages
import WaypostSpans

#if !Agent
#error("WaypostBackend needs the trait Agent of the package waypost, which is among its defaults")
#endif

/// A backend: one connection over which a server reaches its clients.
///
/// It comes back by itself when the connection is lost. Run it among the services of your server:
///
///     let backend = Backend(try BackendConfiguration(broker: "mqtt://127.0.0.1:1883", name: "shop"))
///     try await ServiceGroup(services: [backend, server], logger: logger).run()
///
/// Or for the time of a task, with ``with(_:_:)``.
///
/// Every call of it, of its agents and groups ends with `CancellationError` when its task is cancelled, or when a graceful
/// shutdown begins meanwhile.
public final class Backend: Service {
    /// The connection's settings, shared by all that is read and sent.
    package let settings: BackendConfiguration
    /// Nil where each call has a connection of its own.
    private let link: SharedLink?
    private let configuration: MQTTLinkConfiguration

    /// A backend that is not connected yet: that is what ``run()`` does.
    public convenience init(_ configuration: BackendConfiguration) {
        self.init(configuration, SharedLink(topics: configuration.topics, name: configuration.name))
    }

    /// A backend for a tool that does one thing and ends: each call makes a connection of its own, and leaves with its end.
    ///
    ///     let agents = try await Backend(perCall: configuration).agents()
    ///
    /// Nothing is to be run. A broker that is not there, or refuses, is said at once rather than waited for.
    public convenience init(perCall configuration: BackendConfiguration) { self.init(configuration, nil) }

    private init(_ configuration: BackendConfiguration, _ link: SharedLink?) {
        self.link = link
        self.configuration = configuration.lasting(clientID: configuration.newClientID)
        var settings = configuration
        settings.shared = link
        settings.tracer = configuration.tracer ?? InstrumentationSystem.chosenTracer
        self.settings = settings
    }

    /// Connects, and keeps the connection until the service group shuts down, or the task is cancelled.
    public func run() async throws {
        link?.start(configuration, over: settings.makeLink)
        try? await gracefulShutdown()
        await link?.stop(within: .seconds(5))
    }

    /// Connects, does `body` and leaves, whatever comes of it.
    ///
    /// - Throws: ``BackendError`` of kind `noBroker` when there is no connection within 10 s.
    public static func with<Value>(
        _ configuration: BackendConfiguration, _ body: (Backend) async throws -> Value
    ) async throws -> Value {
        let backend = Backend(configuration)
        backend.link?.start(backend.configuration, over: backend.settings.makeLink)
        let result: Result<Value, any Error>
        do {
            try await backend.waitUntilConnected()
            result = .success(try await body(backend))
        } catch {
            result = .failure(error)
        }
        await backend.link?.stop(within: .seconds(5))
        return try result.get()
    }

    /// Waits until there is a connection.
    ///
    /// - Throws: ``BackendError`` of kind `noBroker` when there is none in time.
    public func waitUntilConnected(within limit: Duration = .seconds(10)) async throws {
        try await PublicCall.run { [link, settings] in
            guard let link else {
                return try await BackendSession.with(settings, required: [], within: limit) { _ in }
            }
            guard try await link.connected(until: MonotonicTime.instant + limit) == nil else { return }
            throw BackendError(.noBroker, "no broker: \(link.reason.map { "\($0)" } ?? "no answer")")
        }
    }

    /// Whether there is a connection now.
    public var isConnected: Bool { link?.current != nil }

    /// One agent.
    public func agent(_ name: String) -> AgentClient { AgentClient(name: name, backend: self) }

    /// A group of agents; every agent is in the group `all`.
    public func group(_ name: String) -> GroupClient { GroupClient(name: name, backend: self) }

    /// Sends a command that was sealed before, and has perhaps been sent before.
    ///
    /// - Parameter deadline: How long it is sent again while there is no reply; nil until its agent has certainly
    ///   forgotten it, five minutes after it expired.
    public func send(_ command: SealedCommand, deadline: Duration? = nil) -> PendingCommand {
        PendingCommand(
            delivery(command, deadline, isPatient: true), within: CommandSpan(command, settings))
    }

    /// Sends a command that a store keeps until there is a reply, good or bad.
    ///
    /// It is stored before it is sent, and removed after the reply. Where it ends otherwise it stays there, to be sent again after a restart.
    ///
    ///     for command in try store.commands() { _ = try await backend.send(command, keptIn: store) }
    ///
    /// - Throws: ``BackendError`` when it could not be stored, sent or removed, or when there is no reply yet;
    ///   `CancellationError` when the task is cancelled.
    @discardableResult
    public func send(
        _ command: SealedCommand, keptIn store: SealedCommandStore, deadline: Duration? = nil
    ) async throws -> CommandReply {
        try Task.checkCancellation()
        try store.insert(command)
        let reply = try await send(command, deadline: deadline).reply()
        try store.remove(command)
        return reply
    }

    func delivery(_ command: SealedCommand, _ deadline: Duration?, isPatient: Bool) -> Delivery {
        Delivery(
            command: command, settings: settings, shared: link, deadline: deadline, isPatient: isPatient)
    }
}
