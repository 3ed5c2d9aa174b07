import Dispatch
import MQTTLink
import Synchronization
import TestSupport
import Threading
import Waypost

/// A link without a network: all calls to the delegate come from one queue, as from the link's thread.
///
/// The broker behind it acknowledges everything unless a test gives it another answer.
final class InMemoryLink: MessageLink {
    let published = TestSupport.EventLog<MQTTMessage>()
    /// Gets an element when the agent starts the link.
    let started = TestSupport.EventLog<Void>()
    /// Gets an element each time the agent lets the link give up memory.
    let released = TestSupport.EventLog<Void>()
    let delegate = Guarded<(any MQTTLinkDelegate)?>(nil)
    private let acknowledgement = Callback<MQTTMessage, PublishReceipt.Result?> { _ in .acknowledged }
    /// What the broker has not answered.
    let unanswered = Guarded<[OutgoingMessage]>([])
    private let queue = DispatchQueue(label: "in-memory-link")
    /// The delegate is not kept alive by a link, so what it does is done while the agent runs.
    private let isStopped = Atomic<Bool>(false)

    /// What the broker answers to a message; nil for nothing at all.
    func answer(_ body: @escaping @Sendable (MQTTMessage) -> PublishReceipt.Result?) {
        acknowledgement.set(body)
    }

    func releaseMemory() { released.append(()) }

    // MARK: The broker's side

    /// The broker acknowledges the first message that it has not answered, as over a slow connection; returns it.
    @discardableResult
    func acknowledgeNext() -> MQTTMessage? {
        let next = unanswered.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        guard let next else { return nil }
        onQueue { $0.link(settled: [PublishReceipt(token: next.token, result: .acknowledged)]) }
        return next.message
    }

    func connect(
        version: MQTTVersion = .v5, sessionPresent: Bool = false, granted: [String] = [],
        refused: [String] = [], receiveMaximum: UInt16 = 1_000, maximumPacketSize: UInt32? = nil
    ) {
        onQueue { delegate in
            _ = delegate.linkWillConnect(version)
            guard let broker = try? BrokerURL("mqtt://127.0.0.1:1883") as BrokerURL else { return }
            delegate.linkDidConnect(
                Connection(
                    broker: broker, version: version, sessionPresent: sessionPresent,
                    subscriptions: Self.answers(granted, .granted)
                        + Self.answers(refused, .refused(.notAuthorized)), receiveMaximum: receiveMaximum,
                    maximumPacketSize: maximumPacketSize))
        }
    }

    /// The broker grants subscriptions now.
    func subscribe(granted: [String], of connection: Connection) {
        var connection = connection
        connection.subscriptions = Self.answers(granted, .granted)
        onQueue { $0.linkDidSubscribe(connection) }
    }

    private static func answers(
        _ filters: [String], _ answer: SubscriptionResult.Answer
    ) -> [SubscriptionResult] {
        filters.map { SubscriptionResult(subscription: Subscription($0), answer: answer) }
    }

    /// The broker sends a message that is too large to be read.
    func skip(_ message: SkippedMessage) { onQueue { $0.link(skipped: message) } }

    func disconnect(
        _ cause: DisconnectReason.Cause = .closedByBroker, stage: DisconnectReason.Stage = .online,
        retryIn: Duration? = nil, isRepeated: Bool = false, isKnown: Bool = false
    ) {
        onQueue { delegate in
            guard let broker = try? BrokerURL("mqtt://127.0.0.1:1883") as BrokerURL else { return }
            var reason = DisconnectReason(cause: cause, stage: stage, broker: broker, retryIn: retryIn)
            reason.isRepeated = isRepeated
            if isKnown { delegate.linkStillDisconnected(reason) } else { delegate.linkDidDisconnect(reason) }
        }
    }

    /// Hands a batch to the agent, and ends the turn of the loop.
    @discardableResult
    func deliver(_ batch: [MQTTMessage]) -> BatchDecision {
        var decision = BatchDecision.refuse
        onQueue { delegate in
            decision = delegate.link(received: batch)
            lendThread(to: delegate)
            if delegate.linkWillAcknowledge() == .refuse { decision = .refuse }
            delegate.linkTick()
        }
        return decision
    }

    /// Goes on when the delegate has returned the thread, or keeps it.
    private func lendThread(to delegate: any MQTTLinkDelegate) {
        let goesOn = DispatchSemaphore(value: 0)
        let failure = PlainThread.start(name: "in-memory-link") {
            let loan = ThreadLoan {
                goesOn.signal()
                return true
            }
            delegate.link(lends: loan)
            if loan.end() { goesOn.signal() }
        }
        if failure == nil { goesOn.wait() }
    }

    /// A turn of the loop without a message.
    func tick() { onQueue { $0.linkTick() } }

    private func onQueue(_ body: (any MQTTLinkDelegate) -> Void) {
        queue.sync {
            guard !isStopped.load(ordering: .relaxed), let delegate = delegate.withLock({ $0 }) else {
                return
            }
            body(delegate)
        }
    }

    // MARK: The agent's side

    func start() { started.append(()) }

    func publish(_ messages: [OutgoingMessage]) {
        // As from a link, the receipts come later and on another thread.
        for message in messages { published.append(message.message) }
        queue.async { [self] in
            let receipts = messages.compactMap { message in
                let answer = acknowledgement(message.message)
                if answer == nil { unanswered.withLock { $0.append(message) } }
                return answer.map { PublishReceipt(token: message.token, result: $0) }
            }
            if !receipts.isEmpty { delegate.withLock { $0 }?.link(settled: receipts) }
        }
    }

    /// The filters beyond those of the start.
    let subscribed = Guarded<Set<String>>([])

    func subscribe(_ subscriptions: [Subscription]) async -> [SubscriptionResult]? {
        subscribed.withLock { $0.formUnion(subscriptions.map(\.filter)) }
        return subscriptions.map { SubscriptionResult(subscription: $0, answer: .granted) }
    }

    func unsubscribe(_ filters: [String]) { subscribed.withLock { $0.subtract(filters) } }

    func renew(credentials: Credentials?, tls: TLSOptions?) {}

    func stop(after goodbyes: [MQTTMessage], within limit: Duration) async {
        for message in goodbyes { published.append(message) }
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                isStopped.store(true, ordering: .relaxed)
                delegate.withLock { $0 = nil }
                continuation.resume()
            }
        }
    }
}
