import Threading

/// One connection to a broker for a tool on the command line: connect, subscribe, publish, listen, disconnect.
///
/// It does not reconnect by itself: when the connection ends, `messages` ends, and `endReason` says why.
///
///     let session = try await MQTTSession.connect(.oneShot(brokers: [broker], clientID: "ops-17"))
///     _ = try await session.subscribe([Subscription("waypost/v1/+/reply/ops")])
///     _ = try await session.publish(MQTTMessage(topic: topic, payload: payload))
///     for await message in session.messages { … }
///     await session.disconnect()
public final class MQTTSession: Sendable {
    /// What the broker granted.
    public let connection: Connection
    /// What arrives, in order; for one reader.
    ///
    /// At most `messageLimit` messages, and `byteLimit` bytes of them, wait for it. When it is slower than the broker
    /// the oldest are dropped, and `droppedMessages` counts them exactly.
    public var messages: Messages { Messages(queue: queue) }

    /// The messages with what else the reader waits for.
    package let queue: MessageQueue

    private let link: any MessageLink
    private let core: SessionCore

    private init(
        _ connection: Connection, _ queue: MessageQueue, _ link: any MessageLink, _ core: SessionCore
    ) {
        self.connection = connection
        self.queue = queue
        self.link = link
        self.core = core
    }

    /// Connects to the first broker that accepts the connection, each tried once, and makes the configuration's subscriptions.
    ///
    /// - Parameters:
    ///   - configuration: the brokers, how to sign in, and the subscriptions.
    ///   - limit: how long all of that may take; 10 s unless given.
    ///   - messageLimit: how many messages may wait for the reader; 16 384 unless given.
    ///   - byteLimit: how many bytes they may have, headers included; 64 MiB unless given.
    /// - Throws: ``MQTTSessionError``: `.notConnected` with the last broker's reason, or `.deadline`; `CancellationError`
    ///   when the task is cancelled.
    public static func connect(
        _ configuration: MQTTLinkConfiguration, within limit: Duration = .seconds(10),
        messageLimit: Int = 16_384, byteLimit: Int = 64 << 20
    ) async throws -> MQTTSession {
        try await connect(configuration, within: limit, messageLimit: messageLimit, byteLimit: byteLimit) {
            MQTTLink(configuration: $0, delegate: $1)
        }
    }

    /// The same over a link of the caller's.
    package static func connect(
        _ configuration: MQTTLinkConfiguration, within limit: Duration, messageLimit: Int = 16_384,
        byteLimit: Int = 64 << 20, over makeLink: MakeLink
    ) async throws -> MQTTSession {
        var configuration = configuration
        configuration.reconnect.isOn = false
        configuration.connectTimeout = min(configuration.connectTimeout, limit)
        configuration.subscribeTimeout = min(configuration.subscribeTimeout, limit)
        let queue = MessageQueue(limit: messageLimit, byteLimit: byteLimit)
        let core = SessionCore(queue)
        let link = makeLink(configuration, core)
        let alarm = Task {
            try await MonotonicTime.sleep(for: limit)
            core.connectDeadlinePassed()
        }
        defer { alarm.cancel() }
        link.start()
        do {
            switch try await core.connected() {
            case .connected(let connection): return MQTTSession(connection, queue, link, core)
            case .failed(let reason): throw MQTTSessionError.notConnected(reason)
            case .late: throw MQTTSessionError.deadline(limit, broker: configuration.brokers[0])
            }
        } catch {
            await link.stop(after: [], within: .zero)
            throw error
        }
    }

    /// How many messages were dropped because they were not read in time.
    public var droppedMessages: Int { queue.dropped }

    /// How many messages were not read because they are larger than the configuration allows.
    public var skippedMessages: Int { core.skipped }

    /// Why the connection ended; `nil` while it lasts.
    public var endReason: DisconnectReason? { core.endReason }

    /// Subscribes; the answers are in the order of the subscriptions.
    ///
    /// - Throws: ``MQTTSessionError``; `CancellationError` when the task is cancelled.
    public func subscribe(_ subscriptions: [Subscription]) async throws -> [SubscriptionResult] {
        if let error = core.error { throw error }
        if let results = try await link.subscribe(subscriptions) { return results }
        throw core.error ?? MQTTSessionError.noAnswer
    }

    /// Gives up filters; messages that are on their way may still come.
    package func unsubscribe(_ filters: [String]) { link.unsubscribe(filters) }

    /// Publishes and waits for the acknowledgement; at most once: for the write.
    ///
    /// A refusal by the broker is a result; that the connection went is an error.
    /// - Throws: ``MQTTSessionError``; `CancellationError` when the task is cancelled, and nothing is sent when it was
    ///   before.
    public func publish(_ message: MQTTMessage) async throws -> PublishReceipt.Result {
        try Task.checkCancellation()
        let result = try await core.settled { token in
            link.publish([OutgoingMessage(token: token, message: message)])
        }
        if case .lost = result { throw core.error ?? MQTTSessionError.closed }
        return result
    }

    /// Waits for what is in flight, sends DISCONNECT and ends; in a task that is cancelled too, for it has a limit.
    public func disconnect(within limit: Duration = .seconds(2)) async {
        await link.stop(after: [], within: limit)
        core.closed()
    }
}

extension MQTTSession {
    /// The messages of a session, until its connection ends.
    public struct Messages: AsyncSequence, Sendable {
        /// Takes one message after another.
        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate let queue: MessageQueue

            /// The next message; `nil` when the connection has ended or the task is cancelled.
            public mutating func next() async -> MQTTMessage? {
                while let event = await queue.next() {
                    if case .message(let message) = event { return message }
                }
                return nil
            }
        }

        fileprivate let queue: MessageQueue

        /// An iterator; of one session only one may be in use.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(queue: queue) }
    }
}

extension MQTTLinkConfiguration {
    /// A configuration for a tool: a session that the broker does not keep, and no reconnect.
    public static func oneShot(brokers: [BrokerURL], clientID: String) -> MQTTLinkConfiguration {
        var configuration = MQTTLinkConfiguration(brokers: brokers, clientID: clientID)
        configuration.cleanStart = true
        configuration.sessionExpiry = 0
        configuration.reconnect.isOn = false
        return configuration
    }
}

/// Why a session could not be made, or did not do what it was asked to.
public enum MQTTSessionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// No broker could be reached, or none accepted the connection; the last one's reason.
    case notConnected(DisconnectReason)
    /// No broker answered in time.
    case deadline(Duration, broker: BrokerURL)
    /// The connection ended while something was in flight, or before.
    case ended(DisconnectReason)
    /// The broker did not answer a SUBSCRIBE in time.
    case noAnswer
    /// `disconnect` was called.
    case closed

    /// One line for people.
    public var description: String {
        switch self {
        case .notConnected(let reason), .ended(let reason): reason.description
        case .deadline(let limit, let broker): "no answer from \(broker) within \(limit)"
        case .noAnswer: "the broker did not answer a subscription in time"
        case .closed: "the session is closed"
        }
    }
}
