import Threading

/// A client of a world's broker without any code of the product, for who sends commands: it acknowledges what it gets.
final class WorldClient: Sendable {
    private let broker: WorldBroker
    private let name: String
    private let line: Int
    private let arrivals: Monitor<[WorldBroker.Arrival]>

    /// Connects, and subscribes to these.
    init(_ name: String, at broker: WorldBroker, _ filters: [String]) {
        let arrivals = Monitor<[WorldBroker.Arrival]>([])
        (self.broker, self.name, self.arrivals) = (broker, name, arrivals)
        line = broker.open(name) { arrival in
            arrivals.withLock { ($0.append(arrival), wakes: true) }
        }
        broker.send(.connects(.init(window: 1_000)), from: name, on: line)
        for filter in filters { broker.send(.subscribes(filter, .init()), from: name, on: line) }
    }

    func publish(_ text: String, on topic: String) {
        let message = BrokerModel.Message(topic: topic, payload: Array(text.utf8), qos: 1, retain: false)
        broker.send(.publishes(message), from: name, on: line)
    }

    /// The next message, or nil at that time.
    func next(until limit: UInt64) -> BrokerModel.Message? {
        while true {
            let effect = arrivals.wait {
                arrivals, _ -> Monitor<[WorldBroker.Arrival]>.Step<BrokerModel.Effect?> in
                let now = MonotonicTime.now
                if let first = arrivals.first, first.due <= now { return .end(arrivals.removeFirst().effect) }
                guard now < limit else { return .end(nil) }
                return .wait(until: min(limit, arrivals.first?.due ?? .max))
            }
            guard let effect else { return nil }
            guard case .delivers(_, let delivery) = effect else { continue }
            if delivery.message.qos > 0 { broker.send(.acknowledges(delivery.id), from: name, on: line) }
            return delivery.message
        }
    }
}
