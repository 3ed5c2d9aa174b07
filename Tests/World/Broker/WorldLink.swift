import MQTTLink
import Threading

/// A link of a world: what `MQTTLink` does for its owner, over a line to a ``WorldBroker``.
final class WorldLink: MessageLink {
    enum Command {
        case subscribe([Subscription], Promise<[SubscriptionResult]?>)
        case unsubscribe([String])
        case stop([MQTTMessage])
        /// The network between it and the broker fails; it comes back by itself.
        case cut
    }

    /// What waits for the link's thread.
    struct Work {
        var arrivals: [WorldBroker.Arrival] = []
        var outgoing: [OutgoingMessage] = []
        var commands: [Command] = []
    }

    let configuration: MQTTLinkConfiguration
    let delegate: any MQTTLinkDelegate
    let broker: WorldBroker
    let scheduler: SeededScheduler
    let end = OneShotEvent()
    private let work = Monitor(Work())

    init(
        _ configuration: MQTTLinkConfiguration, _ delegate: any MQTTLinkDelegate, _ broker: WorldBroker,
        _ scheduler: SeededScheduler
    ) {
        (self.configuration, self.delegate) = (configuration, delegate)
        (self.broker, self.scheduler) = (broker, scheduler)
    }

    func start() {
        let failure = PlainThread.start(name: "link") { WorldLoop(self).run() }
        precondition(failure == nil, "no thread")
    }

    func publish(_ messages: [OutgoingMessage]) { post { $0.outgoing += messages } }

    func subscribe(
        _ subscriptions: [Subscription]
    ) async throws(CancellationError) -> [SubscriptionResult]? {
        let answer = Promise<[SubscriptionResult]?>()
        post { $0.commands.append(.subscribe(subscriptions, answer)) }
        return try await answer.value()
    }

    func unsubscribe(_ filters: [String]) { post { $0.commands.append(.unsubscribe(filters)) } }
    func renew(credentials: Credentials?, tls: TLSOptions?) {}
    func releaseMemory() {}

    func stop(after goodbyes: [MQTTMessage], within limit: Duration) async {
        post { $0.commands.append(.stop(goodbyes)) }
        let timer = TimerThread.shared.call(after: limit) { [end] in end.fire() }
        await end.wait()
        timer.cancel()
    }

    func post(_ change: (inout Work) -> Void) {
        work.withLock { work in
            change(&work)
            return ((), wakes: true)
        }
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
