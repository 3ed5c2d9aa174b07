import Logging
package import MQTTLink
import Threading
import Waypost
package import WaypostMessages

/// A connection to a broker, under a sender's name.
///
/// It subscribes before it publishes, leaves nothing at the broker when it ends, and has its own client id, so that
/// two programs of one name do not take the session from each other.
package final class BackendSession: Sendable {
    /// The most messages that wait to be read: some seconds of a large fleet, more than a person reads.
    static let messageLimit = 100_000
    /// The most bytes that they may have, so that a flood of large messages does not fill the memory.
    package static let byteLimit = 32 << 20

    package let connection: Connection
    private let settings: BackendConfiguration
    private let session: any SessionTransport

    package var sender: String { settings.name }
    package var topics: Topics { settings.topics }

    /// Connects and subscribes.
    ///
    /// - Parameters:
    ///   - required: filters without which the command makes no sense.
    ///   - useful: filters that the broker may refuse.
    /// - Throws: ``BackendError`` when there is no broker, or when it refuses a required filter.
    package static func connect(
        _ settings: BackendConfiguration, required: [String], useful: [String] = [],
        within limit: Duration = .seconds(10), messageLimit: Int = messageLimit, byteLimit: Int = byteLimit
    ) async throws -> BackendSession {
        var configuration = settings.oneShot(clientID: settings.newClientID)
        configuration.subscriptions = (required + useful).map { subscription($0, settings.topics) }
        let session: any SessionTransport
        let answers: [SubscriptionResult]
        if let link = settings.shared {
            let queue = MessageQueue(limit: messageLimit, byteLimit: byteLimit)
            guard let opened = try await link.open(queue, configuration.subscriptions, within: limit) else {
                throw BackendError(.noBroker, "no broker: \(link.reason.map { "\($0)" } ?? "no answer")")
            }
            (session, answers) = opened
        } else {
            let own = try await firstSession(
                configuration, within: limit, messageLimit: messageLimit, byteLimit: byteLimit)
            (session, answers) = (own, own.connection.subscriptions)
        }
        for (filter, result) in zip(required, answers) where !result.isGranted {
            await session.disconnect(within: .seconds(2))
            let isLowered = if case .lowered = result.answer { true } else { false }
            throw BackendError(
                .denied,
                "the subscription to \(filter) was \(result.answer); "
                    + (isLowered
                        ? "commands and replies need QoS 1, which this broker does not have"
                        : "check the broker's rules for \(settings.name)"))
        }
        return BackendSession(session, settings)
    }

    private static func subscription(_ filter: String, _ topics: Topics) -> Subscription {
        // At QoS 1 a broker sends only as many retained messages as fit into its queue, at QoS 0 all.
        let rosters =
            [
                topics.state(of: "+"), topics.health(of: "+"), topics.applied(of: "+"),
                topics.routes(of: "+"),
                topics.contract(of: "+"),
            ] + topics.mapFilters
        // Documents of a group come again with each connection, and NATS cuts their topics at QoS 1.
        let isState = rosters.contains(filter) || topics.isOfGroup(filter)
        return Subscription(filter, qos: isState ? .atMostOnce : .atLeastOnce)
    }

    /// The session at the first broker of the list that gives one.
    ///
    /// Each gets its part of the time to accept the connection, so that one that never answers does not take that of the
    /// others. One that has accepted may use the rest for the subscriptions: NATS needs seconds to make them.
    private static func firstSession(
        _ configuration: MQTTLinkConfiguration, within limit: Duration, messageLimit: Int, byteLimit: Int
    ) async throws -> MQTTSession {
        var failures: [String] = []
        let (end, part) = (MonotonicTime.instant + limit, limit / configuration.brokers.count)
        for broker in configuration.brokers {
            var one = configuration
            one.brokers = [broker]
            one.connectTimeout = min(one.connectTimeout, part)
            do {
                return try await MQTTSession.connect(
                    one, within: max(end - MonotonicTime.instant, part), messageLimit: messageLimit,
                    byteLimit: byteLimit)
            } catch {
                try Task.checkCancellation()
                failures.append(refusalText(error))
            }
        }
        throw BackendError(.noBroker, "\(failures.joined(separator: "; "))")
    }

    private init(_ session: any SessionTransport, _ settings: BackendConfiguration) {
        self.session = session
        self.settings = settings
        connection = session.connection
    }

    /// Publishes and waits until the broker has it.
    ///
    /// - Throws: ``BackendError`` when the broker refuses the message, or when the connection was lost;
    ///   `CancellationError` when the task is cancelled.
    package func publish(_ message: MQTTMessage) async throws {
        let result: PublishReceipt.Result
        do {
            result = try await session.publish(message)
        } catch {
            try Task.checkCancellation()
            throw BackendError(.noBroker, "publish to \(message.topic): \(error.words)")
        }
        switch result {
        case .acknowledged: break
        case .refused(let code):
            throw BackendError.denied(message.topic, code, to: settings)
        case .rejected(let reason): throw BackendError(.notSent, "publish to \(message.topic): \(reason)")
        case .lost: throw BackendError(.noBroker, "publish to \(message.topic): the connection was lost")
        }
    }

    /// Subscribes to one more filter; false when the broker refuses it.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    package func subscribe(_ filter: String) async throws -> Bool {
        let results = try await answers(to: Self.subscription(filter, topics))
        return results?.allSatisfy(\.isGranted) ?? false
    }

    /// Waits until the broker has sent all that it had to send before this, such as what it retains.
    ///
    /// What a broker sends is in order, so the answer to one more SUBSCRIBE comes behind it.
    ///
    /// - Returns: how long the answer took; nil when none came.
    /// - Throws: `CancellationError` when the task is cancelled.
    package func fence() async throws -> Duration? {
        let start = MonotonicTime.instant
        // Whether it is granted does not matter; what a sender may read in any case is least remarkable.
        let answer = try await answers(to: Subscription(topics.reply(of: "+", to: sender)))
        return answer.map { _ in MonotonicTime.instant - start }
    }

    /// Nil when the connection ended, or there was no answer in time.
    private func answers(to subscription: Subscription) async throws -> [SubscriptionResult]? {
        do {
            return try await session.subscribe([subscription])
        } catch {
            try Task.checkCancellation()
            return nil
        }
    }

    /// The next message, or the alarm set with ``alarm(after:)``; for one reader.
    ///
    /// - Throws: ``BackendError`` when the connection ended, `CancellationError` when the task is cancelled.
    package func next() async throws -> MessageQueue.Event {
        if let event = await session.queue.next() { return event }
        try Task.checkCancellation()
        // Coming back would only take the connection from the other again.
        if case .sessionTakenOver? = session.endReason?.cause {
            throw BackendError(
                .denied,
                "another program signed in as \(sender), and this broker has one connection for each user name; "
                    + "give each program its own name\(shell: ", or see --accounts: waypost help broker")")
        }
        throw BackendError(
            .noBroker, "\(session.endReason.map(endText) ?? "the connection to the broker was closed")")
    }

    /// Why a connection that was made ended.
    private func endText(_ reason: DisconnectReason) -> String {
        guard reason.cause == .closedByBroker, reason.stage == .online || reason.stage == .subscribing else {
            return "the connection to the broker ended: \(reason)"
        }
        return
            "the broker closed the connection (\(reason.broker)): it ended, or another program signed in as \(sender)"
    }

    /// Why no connection was made.
    private static func refusalText(_ error: any Error) -> String {
        let reason: DisconnectReason? =
            switch error as? MQTTSessionError {
            case .notConnected(let reason), .ended(let reason): reason
            default: nil
            }
        guard let reason, case .refused(let code, let detail) = reason.cause else {
            let isClosed =
                reason?.cause == .closedByBroker
                && [.subscribing, .online].contains(reason?.stage ?? .connecting)
            return "no broker: \(error.words)"
                + (isClosed ? "; it ended, or another program signed in under the same name" : "")
        }
        return "the broker \(reason.broker) refused the login: \(code)" + (detail.map { " (\($0))" } ?? "")
            + (reason.advice.map { "; \($0)" } ?? "")
    }

    /// An alarm that ``next()`` returns once its time is over.
    ///
    /// Who reads no more calls it off: the next reader would take it for its own.
    package struct Alarm: Sendable {
        let id: UInt64
        let queue: MessageQueue
        let work: Task<Void, Never>

        package func cancel() {
            work.cancel()
            queue.callOff(id)
        }
    }

    /// Lets ``next()`` return `.alarm` once the time is over, unless it is called off before.
    @discardableResult
    package func alarm(after limit: Duration) -> Alarm {
        alarm { (try? await MonotonicTime.sleep(for: limit)) != nil }
    }

    /// Lets ``next()`` return `.alarm` when `isDue` returns true.
    func alarm(when isDue: @escaping @Sendable () async -> Bool) -> Alarm {
        let (queue, id) = (session.queue, session.queue.arm())
        return Alarm(id: id, queue: queue, work: Task { if await isDue() { queue.alarm(id) } })
    }

    /// Leaves the broker.
    package func close() async {
        await session.disconnect(within: .seconds(2))
    }

    /// The messages that could not be shown so far.
    package var loss: MessageLoss {
        MessageLoss(dropped: session.droppedMessages, skipped: session.skippedMessages)
    }

    /// Connects, does `body` and leaves, whatever comes of it; warns when messages were lost.
    package static func with<Value>(
        _ settings: BackendConfiguration, required: [String], useful: [String] = [],
        within limit: Duration = .seconds(10), byteLimit: Int = byteLimit,
        _ body: (BackendSession) async throws -> Value
    ) async throws -> Value {
        let session = try await connect(
            settings, required: required, useful: useful, within: limit, byteLimit: byteLimit)
        let result: Result<Value, any Error>
        do { result = .success(try await body(session)) } catch { result = .failure(error) }
        await session.close()
        for notice in session.loss.notices { settings.logger.warning("\(notice)") }
        return try result.get()
    }
}
