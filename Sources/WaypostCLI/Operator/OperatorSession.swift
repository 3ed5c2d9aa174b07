import MQTTLink
import WaypostMessages

/// A connection of an operator to a broker, under a sender's name.
///
/// It subscribes before it publishes, leaves nothing at the broker when it ends, and has its own client id, so that
/// two operators of one name do not take the session from each other.
final class OperatorSession: Sendable {
    /// The most messages that wait to be read: some seconds of a large fleet, more than a person reads.
    static let messageLimit = 100_000
    /// The most bytes that they may have, so that a flood of large messages does not fill the memory.
    static let byteLimit = 32 << 20

    let sender: String
    let topics: Topics
    let connection: Connection
    private let session: MQTTSession

    /// Connects and subscribes.
    ///
    /// - Parameters:
    ///   - required: filters without which the command makes no sense.
    ///   - useful: filters that the broker may refuse.
    /// - Throws: ``CommandError`` 4 when there is no broker, 1 when it refuses a required filter.
    static func connect(
        _ settings: BrokerSettings, as sender: String, required: [String], useful: [String] = [],
        within limit: Duration = .seconds(10), messageLimit: Int = messageLimit, byteLimit: Int = byteLimit
    ) async throws -> OperatorSession {
        let clientID = "waypost-\(sender.prefix(40))-\(Identifier.short())"
        var configuration = settings.oneShot(clientID: clientID)
        // At QoS 1 a broker sends only as many retained messages as fit into its queue, at QoS 0 all.
        let rosters = [
            settings.topics.state(of: "+"), settings.topics.health(of: "+"), settings.topics.applied(of: "+"),
        ]
        configuration.subscriptions = (required + useful).map {
            Subscription($0, qos: rosters.contains($0) ? .atMostOnce : .atLeastOnce)
        }
        let session = try await firstSession(
            configuration, within: limit, messageLimit: messageLimit, byteLimit: byteLimit)
        for (filter, result) in zip(required, session.connection.subscriptions) where !result.isGranted {
            await session.disconnect()
            throw CommandError(
                .failed,
                "the broker refused the subscription to \(filter) (\(result.answer)); check its rules for \(sender)"
            )
        }
        return OperatorSession(session, sender, settings.topics)
    }

    /// The session at the first broker of the list that gives one.
    ///
    /// Each gets its part of the time, so that one that never answers does not take that of the others.
    private static func firstSession(
        _ configuration: MQTTLinkConfiguration, within limit: Duration, messageLimit: Int, byteLimit: Int
    ) async throws -> MQTTSession {
        var failures: [String] = []
        for broker in configuration.brokers {
            var one = configuration
            one.brokers = [broker]
            do {
                return try await MQTTSession.connect(
                    one, within: limit / configuration.brokers.count, messageLimit: messageLimit,
                    byteLimit: byteLimit)
            } catch {
                try Task.checkCancellation()
                failures.append("\(error)")
            }
        }
        throw CommandError(.noBroker, "no broker: \(failures.joined(separator: "; "))")
    }

    private init(_ session: MQTTSession, _ sender: String, _ topics: Topics) {
        self.session = session
        self.sender = sender
        self.topics = topics
        connection = session.connection
    }

    /// Publishes and waits until the broker has it.
    ///
    /// - Throws: ``CommandError`` 1 when the broker refuses the message, 4 when the connection was lost.
    func publish(_ message: MQTTMessage) async throws {
        let result: PublishReceipt.Result
        do {
            result = try await session.publish(message)
        } catch {
            try Task.checkCancellation()
            throw CommandError(.noBroker, "publish to \(message.topic): \(error)")
        }
        switch result {
        case .acknowledged: break
        case .refused(let code):
            throw CommandError(
                .failed,
                "the broker refused the message to \(message.topic): \(code); check its rules for \(sender)")
        case .rejected(let reason): throw CommandError(.failed, "publish to \(message.topic): \(reason)")
        case .lost: throw CommandError(.noBroker, "publish to \(message.topic): the connection was lost")
        }
    }

    /// Subscribes to one more filter; false when the broker refuses it.
    func subscribe(_ filter: String) async -> Bool {
        let results = try? await session.subscribe([Subscription(filter)])
        return results?.allSatisfy(\.isGranted) ?? false
    }

    /// Waits until the broker has sent all that it had to send before this, such as what it retains.
    ///
    /// What a broker sends is in order, so the answer to one more SUBSCRIBE comes behind it.
    ///
    /// - Returns: how long the answer took; nil when none came.
    func fence() async -> Duration? {
        let start = ContinuousClock.now
        // Whether it is granted does not matter; what an operator may read in any case is least remarkable.
        let answer = try? await session.subscribe([Subscription(topics.reply(of: "+", to: sender))])
        return answer.map { _ in ContinuousClock.now - start }
    }

    /// The next message, or the alarm set with ``alarm(after:)``; for one reader.
    ///
    /// - Throws: ``CommandError`` 4 when the connection ended, `CancellationError` on Ctrl-C.
    func next() async throws -> MessageQueue.Event {
        if let event = await session.queue.next() { return event }
        try Task.checkCancellation()
        // Coming back would only take the connection from the other again.
        if case .sessionTakenOver? = session.endReason?.cause {
            throw CommandError(
                .failed,
                "another program signed in under the same user name, and this broker has one connection for each; "
                    + "give each program a name of its own")
        }
        throw CommandError(
            .noBroker, "the connection to the broker ended: \(session.endReason?.description ?? "closed")")
    }

    /// Lets ``next()`` return `.alarm` once the time is over.
    @discardableResult
    func alarm(after limit: Duration) -> Task<Void, Never> {
        Task { [queue = session.queue] in
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            queue.alarm()
        }
    }

    /// Leaves the broker.
    func close() async {
        await session.disconnect()
    }

    /// The messages that could not be shown so far.
    var loss: MessageLoss { MessageLoss(dropped: session.droppedMessages, skipped: session.skippedMessages) }

    /// Connects, does `body` and leaves, whatever comes of it; says so when messages could not be shown.
    static func with<Value>(
        _ settings: BrokerSettings, as sender: String, required: [String], useful: [String] = [],
        within limit: Duration = .seconds(10), _ body: (OperatorSession) async throws -> Value
    ) async throws -> Value {
        let session = try await connect(
            settings, as: sender, required: required, useful: useful, within: limit)
        let result: Result<Value, any Error>
        do { result = .success(try await body(session)) } catch { result = .failure(error) }
        await session.close()
        for notice in session.loss.notices { Terminal.note("waypost: warning: \(notice)") }
        return try result.get()
    }
}
