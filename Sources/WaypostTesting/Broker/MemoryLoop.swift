import MQTTLink
import Threading
import Waypost

/// The thread's side of a ``MemoryLink``.
///
/// Its turns have the order of the real one: what came is handed over and stored, and only then acknowledged, before what
/// is published meanwhile; last comes what became of earlier messages.
final class MemoryLoop {
    private struct Question {
        var open: Int
        let results: [SubscriptionResult]
        let promise: Promise<[SubscriptionResult]?>
    }

    private let link: MemoryLink
    private let url: BrokerURL
    private var line = 0
    private var isOnline = false
    private var isSessionPresent = false
    /// Those of each connection: what the configuration says, and what was subscribed later.
    private var subscriptions: [Subscription]
    /// How many of them the broker has not answered.
    private var unanswered = 0
    /// Published at QoS 1 and not acknowledged, in order.
    private var underWay: [OutgoingMessage] = []
    private var receipts: [PublishReceipt] = []
    private var questions: [Question] = []
    /// When to connect, as long as there is no line.
    private var retryAt: UInt64? = 0
    /// The longest that it waits with the next connection, and when the one that it has was made.
    private var longestPause: Duration
    private var since: UInt64?
    private var goodbyes: [MQTTMessage]?
    private var hasEnded = false

    init(_ link: MemoryLink) {
        precondition(!link.configuration.brokers.isEmpty, "a link needs a broker")
        (self.link, url) = (link, link.configuration.brokers[0])
        longestPause = link.configuration.reconnect.first
        subscriptions = link.configuration.subscriptions
    }

    private var delegate: any MQTTLinkDelegate { link.delegate }

    /// Turns until it has ended, or until its owner has kept the thread.
    func run() {
        while !hasEnded {
            let tick = MonotonicTime.after(link.configuration.tickInterval)
            let work = link.next(until: min(tick, retryAt ?? .max))
            guard turn(work) else { return }
        }
        link.finish()
    }

    /// False when the thread was kept: then another is in here.
    private func turn(_ work: MemoryLink.Work) -> Bool {
        let arrivals = work.arrivals.filter { $0.line == line }.map(\.effect)
        let deliveries = arrivals.compactMap { effect in
            if case .delivers(_, let delivery) = effect { delivery } else { nil }
        }
        guard !deliveries.isEmpty else {
            endTurn(work, arrivals)
            return true
        }
        let batch = deliveries.map(MQTTMessage.init)
        for message in batch { link.note("in \(message.topic)") }
        let decision = delegate.link(received: batch)
        // Safe because the loan calls it behind its lock, and only once; this thread leaves the loop untouched then.
        nonisolated(unsafe) let loop = self
        let loan = ThreadLoan {
            PlainThread.start(name: "link") {
                loop.acknowledge(deliveries, decision)
                loop.endTurn(work, arrivals)
                loop.run()
            } == nil
        }
        delegate.link(lends: loan)
        guard loan.end() else { return false }
        acknowledge(deliveries, decision)
        endTurn(work, arrivals)
        return true
    }

    private func acknowledge(_ deliveries: [BrokerModel.Delivery], _ decision: BatchDecision) {
        guard decision == .acknowledge, delegate.linkWillAcknowledge() == .acknowledge else {
            return drop(.batchRefused)
        }
        for delivery in deliveries where delivery.message.qos > 0 { send(.acknowledges(delivery.id)) }
    }

    private func endTurn(_ work: MemoryLink.Work, _ arrivals: [BrokerModel.Effect]) {
        // What came over a connection that has ended since is lost with it.
        for effect in arrivals where line != 0 { arrived(effect) }
        for command in work.commands { perform(command) }
        for message in work.outgoing { publish(message) }
        if let time = retryAt, MonotonicTime.now >= time, !hasEnded { connect() }
        sayFarewell()
        settle()
        delegate.linkTick()
    }

    private func send(_ request: MemoryBroker.Request) {
        link.broker.send(request, from: link.configuration.clientID, on: line)
    }

    private func settle() {
        guard !receipts.isEmpty else { return }
        let settled = receipts
        receipts = []
        delegate.link(settled: settled)
    }

    // MARK: The connection

    private func connect() {
        let configuration = link.configuration
        let will = delegate.linkWillConnect(.v5)
        retryAt = nil
        if let cause = link.refuses() { return drop(cause, at: .securing) }
        line = link.broker.open(configuration.clientID) { [weak link] arrival in
            link?.post { $0.arrivals.append(arrival) }
        }
        guard !link.isDead else { return send(.isCut) }
        var connect = BrokerModel.Connect()
        connect.isClean = configuration.cleanStart
        connect.expiry = Int64(configuration.sessionExpiry) * 1_000
        connect.window = Int(configuration.receiveMaximum)
        connect.will = will.map {
            BrokerModel.Will(message: .init($0), delay: Int64(configuration.willDelay) * 1_000)
        }
        link.note("connects")
        send(.connects(connect))
        for message in delegate.linkMessagesWithConnect() {
            var message = BrokerModel.Message(message)
            message.qos = 0
            send(.publishes(message))
        }
        for subscription in subscriptions {
            send(.subscribes(subscription.filter, .init(subscription)))
        }
        unanswered = subscriptions.count
    }

    private func arrived(_ effect: BrokerModel.Effect) {
        switch effect {
        case .connected(_, let sessionPresent):
            isSessionPresent = sessionPresent
            if unanswered == 0 { becameOnline() }
        case .granted:
            if unanswered > 0 {
                unanswered -= 1
                if unanswered == 0 { becameOnline() }
            } else if !questions.isEmpty {
                questions[0].open -= 1
                guard questions[0].open == 0 else { return }
                let question = questions.removeFirst()
                question.promise.fulfill(question.results)
            }
        case .acknowledged(_, let reason):
            guard !underWay.isEmpty else { return }
            let token = underWay.removeFirst().token
            receipts.append(
                PublishReceipt(
                    token: token, result: reason == 0 ? .acknowledged : .refused(ReasonCode(rawValue: reason))
                ))
        case .closed: drop(.closedByBroker)
        case .delivers: break
        }
    }

    private func becameOnline() {
        (isOnline, since) = (true, MonotonicTime.now)
        link.note("online, session \(isSessionPresent)")
        delegate.linkDidConnect(
            Connection(
                broker: url, version: .v5, sessionPresent: isSessionPresent,
                subscriptions: subscriptions.map {
                    SubscriptionResult(subscription: $0, answer: .granted)
                }, receiveMaximum: 1_000))
    }

    /// The connection is gone, and what was under way with it.
    private func drop(_ cause: DisconnectReason.Cause, at stage: DisconnectReason.Stage? = nil) {
        guard retryAt == nil else { return }
        link.note("offline")
        send(.isCut)
        receipts += underWay.map { PublishReceipt(token: $0.token, result: .lost) }
        underWay = []
        let pause = nextPause()
        let comesBack = link.configuration.reconnect.isOn
        retryAt = MonotonicTime.after(pause)
        if !comesBack { hasEnded = true }
        let stage = stage ?? (isOnline ? .online : .subscribing)
        (isOnline, line) = (false, 0)
        settle()
        delegate.linkDidDisconnect(
            DisconnectReason(cause: cause, stage: stage, broker: url, retryIn: comesBack ? pause : nil))
        // Who asked learns it when why is known.
        for question in questions { question.promise.fulfill(nil) }
        questions = []
    }

    private func nextPause() -> Duration {
        let reconnect = link.configuration.reconnect
        if let since, MonotonicTime.now - since >= UInt64(reconnect.stableAfter.milliseconds) * 1_000_000 {
            longestPause = reconnect.first
        }
        since = nil
        defer { longestPause = min(longestPause * 2, reconnect.longest) }
        var chance = Chance()
        return .milliseconds(Int64.random(in: 0...longestPause.milliseconds, using: &chance))
    }

    // MARK: What the owner wants

    private func perform(_ command: MemoryLink.Command) {
        switch command {
        case .subscribe(let wanted, let promise):
            subscriptions.removeAll { known in wanted.contains { $0.filter == known.filter } }
            subscriptions += wanted
            guard line != 0, !wanted.isEmpty else { return promise.fulfill(nil) }
            for subscription in wanted { send(.subscribes(subscription.filter, .init(subscription))) }
            let results = wanted.map { SubscriptionResult(subscription: $0, answer: .granted) }
            questions.append(Question(open: wanted.count, results: results, promise: promise))
        case .unsubscribe(let filters):
            subscriptions.removeAll { filters.contains($0.filter) }
            for filter in filters where line != 0 { send(.unsubscribes(filter)) }
        case .renew:
            drop(.renewing)
            if retryAt != .max { retryAt = MonotonicTime.now }
        case .stop(let goodbyes): self.goodbyes = goodbyes
        case .cut: drop(.network(code: 104, text: "Connection reset by peer"))
        case .dies:
            drop(.network(code: 104, text: "Connection reset by peer"))
            // What is left of its process finds no network any more.
            retryAt = .max
        }
    }

    private func publish(_ outgoing: OutgoingMessage) {
        guard isOnline else {
            return receipts.append(PublishReceipt(token: outgoing.token, result: .lost))
        }
        let message = outgoing.message
        _ = delegate.link(propertiesFor: message)
        send(.publishes(.init(message)))
        link.note("out \(message.topic) ", message.payload)
        if message.qos == .atMostOnce {
            receipts.append(PublishReceipt(token: outgoing.token, result: .acknowledged))
        } else {
            underWay.append(outgoing)
        }
    }

    /// Says goodbye once all is acknowledged, when it must stop.
    private func sayFarewell() {
        guard let goodbyes, !isOnline || underWay.isEmpty else { return }
        hasEnded = true
        guard isOnline else { return }
        for message in goodbyes {
            link.note("out \(message.topic)")
            send(.publishes(.init(message)))
        }
        send(.leaves)
    }
}
