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
    /// The most for who must have read what the broker keeps of all agents: 50 KiB of each of ten thousand.
    static let fleetByteLimit = 512 << 20

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
        let wanted = (required + useful).map { subscription($0, settings.topics) }
        let steps = steps(wanted, settings.topics)
        configuration.subscriptions = steps.first ?? []
        let session: any SessionTransport
        var answers: [SubscriptionResult]
        if let link = settings.shared {
            let queue = MessageQueue(limit: messageLimit, byteLimit: byteLimit)
            guard let opened = try await link.open(queue, configuration.subscriptions, within: limit) else {
                throw BackendError(.noBroker, "no broker: \(link.reason.map { "\($0)" } ?? "no answer")")
            }
            (session, answers) = opened
        } else {
            let own = try await firstSession(
                configuration, within: limit, messageLimit: messageLimit, byteLimit: byteLimit,
                over: settings.makeLink)
            (session, answers) = (own, own.connection.subscriptions)
        }
        let made = BackendSession(session, settings)
        do {
            for step in steps.dropFirst() {
                answers += try await made.results(of: step)
            }
            try made.check(answers, required)
        } catch {
            await made.close()
            throw error
        }
        var connection = session.connection
        connection.subscriptions = wanted.compactMap { wanted in answers.first { $0.subscription == wanted } }
        return BackendSession(session, settings, connection)
    }

    private func check(_ answers: [SubscriptionResult], _ required: [String]) throws {
        for result in answers where !result.isGranted {
            let filter = result.subscription.filter
            guard required.contains(filter) else { continue }
            let isLowered = if case .lowered = result.answer { true } else { false }
            throw BackendError(
                .denied,
                "the subscription to \(filter) was \(result.answer); "
                    + (isLowered
                        ? "commands and replies need QoS 1, which this broker does not have"
                        : "check the broker's rules for \(settings.name)"))
        }
    }

    /// What is subscribed to at once, in order.
    private static func steps(_ wanted: [Subscription], _ topics: Topics) -> [[Subscription]] {
        let floods = wanted.filter { isFlood($0.filter, topics) }
        // What is known of an agent comes before its log, of which it says how its clock is.
        return floods.map { [$0] } + [wanted.filter { !floods.contains($0) }].filter { !$0.isEmpty }
    }

    /// Whether the broker keeps a message of each agent for it.
    ///
    /// Such a filter is subscribed to when the answer to the one before has come: mosquitto drops what a client has not
    /// read beyond 1 000 packets (`max_queued_messages`), answers too.
    private static func isFlood(_ filter: String, _ topics: Topics) -> Bool {
        ([
            topics.state(of: "+"), topics.health(of: "+"), topics.applied(of: "+"), topics.routes(of: "+"),
            topics.contract(of: "+"),
        ] + topics.mapFilters).contains(filter)
    }

    private static func subscription(_ filter: String, _ topics: Topics) -> Subscription {
        // At QoS 1 a broker sends only as many retained messages as fit into its queue, at QoS 0 what is read in time.
        // Documents of a group come again with each connection, and NATS cuts their topics at QoS 1.
        let isState = isFlood(filter, topics) || topics.isOfGroup(filter)
        return Subscription(filter, qos: isState ? .atMostOnce : .atLeastOnce)
    }

    /// The session at the first broker of the list that gives one.
    ///
    /// Each gets its part of the time to accept the connection, so that one that never answers does not take that of the
    /// others. One that has accepted may use the rest for the subscriptions: NATS needs seconds to make them.
    private static func firstSession(
        _ configuration: MQTTLinkConfiguration, within limit: Duration, messageLimit: Int, byteLimit: Int,
        over makeLink: MakeLink
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
                    byteLimit: byteLimit, over: makeLink)
            } catch {
                try Task.checkCancellation()
                failures.append(refusalText(error))
            }
        }
        throw BackendError(.noBroker, "\(failures.joined(separator: "; "))")
    }

    private init(
        _ session: any SessionTransport, _ settings: BackendConfiguration, _ connection: Connection? = nil
    ) {
        self.session = session
        self.settings = settings
        self.connection = connection ?? session.connection
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
    /// - Throws: ``BackendError`` of the kind `noBroker` when the broker does not answer; `CancellationError` when the
    ///   task is cancelled.
    package func subscribe(_ filter: String) async throws -> Bool {
        try await results(of: [Self.subscription(filter, topics)]).allSatisfy(\.isGranted)
    }

    /// Subscribes to filters that the broker may refuse, each when what came for the one before was read.
    func subscribe(to filters: [String], reading saw: (MQTTMessage) -> Void) async throws {
        for step in Self.steps(filters.map { Self.subscription($0, topics) }, topics) {
            let failure = Guarded<(any Error)?>(nil)
            let answered = alarm {
                do { _ = try await self.results(of: step) } catch { failure.withLock { $0 = error } }
                return true
            }
            defer { answered.cancel() }
            while case .message(let message) = try await next() { saw(message) }
            if let error = failure.withLock(\.self) { throw error }
        }
    }

    private func results(of subscriptions: [Subscription]) async throws -> [SubscriptionResult] {
        guard let answer = try await answer(to: subscriptions) else {
            if session.endReason != nil { throw ended }
            let reason = mayHaveDropped ? RetainedReading.dropped : "it did not answer"
            throw BackendError(.noBroker, "subscribe at \(connection.broker): \(reason)")
        }
        return answer.results
    }

    /// Has the broker send again what it keeps for a filter, and behind it what it keeps on these topics; false when its
    /// answer was among what it dropped.
    func sendsAgain(_ filter: String, and topics: [String]) async throws -> Bool {
        let answer = try await answer(
            to: ([filter] + topics).map { Subscription($0, qos: .atMostOnce) })
        session.unsubscribe(topics)
        return answer?.turns == 1
    }

    /// Has the broker send what it keeps on these topics, which are so few that it drops none of it.
    func ask(for topics: ArraySlice<String>) async throws {
        _ = try await answer(to: topics.map { Subscription($0, qos: .atMostOnce) })
        session.unsubscribe(Array(topics))
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
        let answer = try await answer(to: [Subscription(topics.reply(of: "+", to: sender))])
        return answer.map { _ in MonotonicTime.instant - start }
    }

    /// Nil when the connection ended, or there was no answer in time.
    ///
    /// A broker that drops what was not read in time drops answers too: one that does not come, though nothing else does
    /// any more, is asked for again.
    private func answer(to subscriptions: [Subscription]) async throws -> Answer? {
        let answer = Promise<Answer?>()
        let asking = Task { [session, self] in
            for turn in 0..<Self.maximumAsking {
                var before = -1
                if turn == 0 || mayHaveDropped {
                    Task {
                        do {
                            let results = try await session.subscribe(subscriptions)
                            answer.fulfill(Answer(results: results, turns: turn + 1))
                        } catch {
                            // Else an answer may still come to what is asked again.
                            if session.endReason != nil { answer.fulfill(nil) }
                        }
                    }
                }
                // What is news may go on for ever.
                for _ in 0..<Self.maximumWaits where session.queue.received != before {
                    before = session.queue.received
                    try await MonotonicTime.sleep(for: Self.patience)
                }
            }
            answer.fulfill(nil)
        }
        defer { asking.cancel() }
        return try await answer.value()
    }

    /// Whether so many messages came that the broker may have dropped what else it had to send.
    private var mayHaveDropped: Bool { session.queue.received >= RetainedNames.fewest }

    /// What a broker answers to a subscription, and how often it had to be asked.
    private struct Answer {
        var results: [SubscriptionResult]
        var turns: Int
    }

    private static let maximumAsking = 5
    private static let maximumWaits = 15
    /// Who sends nothing for so long has no more to send.
    private static let patience = Duration.seconds(2)

    /// The next message, or the alarm set with ``alarm(after:)``; for one reader.
    ///
    /// - Throws: ``BackendError`` when the connection ended, `CancellationError` when the task is cancelled.
    package func next() async throws -> MessageQueue.Event {
        if let event = await session.queue.next() { return event }
        try Task.checkCancellation()
        throw ended
    }

    /// What is said of a connection that has ended.
    private var ended: BackendError {
        // Coming back would only take the connection from the other again.
        if case .sessionTakenOver? = session.endReason?.cause {
            return BackendError(
                .denied,
                "another program signed in as \(sender), and this broker has one connection for each user name; "
                    + "give each program its own name\(shell: ", or see --accounts: waypost help broker")")
        }
        return BackendError(
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
