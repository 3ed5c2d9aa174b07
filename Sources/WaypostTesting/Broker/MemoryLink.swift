import MQTTLink
import Threading

/// A link without a network: what `MQTTLink` does for its owner, over a line to a ``MemoryBroker``.
final class MemoryLink: MessageLink {
    enum Command {
        case subscribe([Subscription], Promise<[SubscriptionResult]?>)
        case unsubscribe([String])
        /// Connects again, as with other credentials or certificates.
        case renew
        case stop([MQTTMessage])
        /// The network between it and the broker fails; it comes back by itself.
        case cut
        /// Its process comes to its end.
        case dies
    }

    /// What waits for the link's thread.
    struct Work {
        var arrivals: [MemoryBroker.Arrival] = []
        var outgoing: [OutgoingMessage] = []
        var commands: [Command] = []
        /// Whether no reader takes it any more.
        var isOver = false
    }

    let configuration: MQTTLinkConfiguration
    let delegate: any MQTTLinkDelegate
    let broker: MemoryBroker
    /// Called with what it does, for who writes that down.
    private let noted: @Sendable (String, [UInt8]) -> Void
    /// Why there is no connection, asked before each; nil where there is one.
    let refuses: @Sendable () -> DisconnectReason.Cause?
    let end = OneShotEvent()
    private let work = Monitor(Work())
    private let death = Guarded(false)

    init(
        _ configuration: MQTTLinkConfiguration, _ delegate: any MQTTLinkDelegate, _ broker: MemoryBroker,
        noted: @escaping @Sendable (String, [UInt8]) -> Void = { _, _ in },
        refuses: @escaping @Sendable () -> DisconnectReason.Cause? = { nil }
    ) {
        (self.configuration, self.delegate) = (configuration, delegate)
        (self.broker, self.refuses, self.noted) = (broker, refuses, noted)
    }

    func start() {
        let failure = PlainThread.start(name: "link") { MemoryLoop(self).run() }
        precondition(failure == nil, "no thread")
    }

    func note(_ words: String, _ bytes: [UInt8] = []) { noted(words, bytes) }

    func publish(_ messages: [OutgoingMessage]) { post { $0.outgoing += messages } }

    func subscribe(
        _ subscriptions: [Subscription]
    ) async throws(CancellationError) -> [SubscriptionResult]? {
        let answer = Promise<[SubscriptionResult]?>()
        post { $0.commands.append(.subscribe(subscriptions, answer)) }
        return try await answer.value()
    }

    func unsubscribe(_ filters: [String]) { post { $0.commands.append(.unsubscribe(filters)) } }
    func renew(credentials: Credentials?, tls: TLSOptions?) { post { $0.commands.append(.renew) } }
    func releaseMemory() {}

    func stop(after goodbyes: [MQTTMessage], within limit: Duration) async {
        post { $0.commands.append(.stop(goodbyes)) }
        let timer = TimerThread.shared.call(after: limit) { [end] in end.fire() }
        await end.wait()
        timer.cancel()
    }

    /// Whether its process came to its end.
    var isDead: Bool { death.withLock(\.self) }

    /// Its process comes to its end: nothing leaves any more, and nothing arrives.
    func die() {
        death.withLock { $0 = true }
        broker.cut(configuration.clientID)
        post { $0.commands.append(.dies) }
    }

    func post(_ change: (inout Work) -> Void) {
        let late = work.withLock { work -> ([Command], wakes: Bool) in
            change(&work)
            guard work.isOver else { return ([], wakes: true) }
            defer { work = Work(isOver: true) }
            return (work.commands, wakes: false)
        }
        for case .subscribe(_, let promise) in late { promise.fulfill(nil) }
    }

    /// The thread takes no more; what it has not taken is lost.
    func finish() {
        let outgoing = work.withLock { ($0.outgoing, wakes: false) }
        post { $0.isOver = true }
        if !outgoing.isEmpty {
            delegate.link(settled: outgoing.map { PublishReceipt(token: $0.token, result: .lost) })
        }
        end.fire()
    }

    /// What has arrived and what there is to do, once there is any of it, or none at that time.
    func next(until limit: UInt64) -> Work {
        work.wait { work, _ -> Monitor<Work>.Step<Work> in
            let now = MonotonicTime.now
            let count = work.arrivals.prefix { $0.due <= now }.count
            guard count > 0 || !work.outgoing.isEmpty || !work.commands.isEmpty || now >= limit else {
                return .wait(until: min(limit, work.arrivals.first?.due ?? .max))
            }
            var taken = work
            work = Work(arrivals: Array(work.arrivals.dropFirst(count)))
            taken.arrivals = Array(taken.arrivals.prefix(count))
            return .end(taken)
        }
    }
}
