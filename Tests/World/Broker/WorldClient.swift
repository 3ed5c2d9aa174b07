import Threading

/// A client of a world's broker without any code of the product, for who sends commands.
///
/// What it is given is acknowledged once it was taken; so after a crash nothing is missing that was not.
final class WorldClient: Sendable {
    private struct State {
        var arrivals: [WorldBroker.Arrival] = []
        /// What was published and is not acknowledged, in order.
        var unacknowledged: [String] = []
    }

    private let broker: WorldBroker
    private let name: String
    private let line: Int
    private let state: Monitor<State>

    /// Connects to a session that the broker keeps, and subscribes to these.
    init(_ name: String, at broker: WorldBroker, _ filters: [String]) {
        let state = Monitor(State())
        (self.broker, self.name, self.state) = (broker, name, state)
        line = broker.open(name) { arrival in
            state.withLock { ($0.arrivals.append(arrival), wakes: true) }
        }
        broker.send(.connects(.init(expiry: nil, window: 1_000)), from: name, on: line)
        for filter in filters { broker.send(.subscribes(filter, .init()), from: name, on: line) }
    }

    /// - Parameter id: what is said once the broker has it.
    func publish(_ text: String, on topic: String, as id: String) {
        state.withLock { ($0.unacknowledged.append(id), wakes: false) }
        let message = BrokerModel.Message(topic: topic, payload: Array(text.utf8), qos: 1, retain: false)
        broker.send(.publishes(message), from: name, on: line)
    }

    /// Takes what comes until that time, or until enough has come.
    ///
    /// - Parameters:
    ///   - isEnough: asked before each.
    ///   - message: gets each message.
    ///   - acknowledged: gets what the broker has.
    func take(
        until limit: UInt64, unless isEnough: () -> Bool = { false },
        message: (BrokerModel.Message) throws -> Void, acknowledged: (String) -> Void
    ) rethrows {
        while !isEnough(), let effect = next(until: limit) {
            switch effect {
            case .delivers(_, let delivery):
                try message(delivery.message)
                if delivery.message.qos > 0 { broker.send(.acknowledges(delivery.id), from: name, on: line) }
            case .acknowledged:
                let id = state.withLock { state in
                    (state.unacknowledged.isEmpty ? nil : state.unacknowledged.removeFirst(), wakes: false)
                }
                if let id { acknowledged(id) }
            case .connected, .granted, .closed: break
            }
        }
    }

    private func next(until limit: UInt64) -> BrokerModel.Effect? {
        state.wait { state, _ -> Monitor<State>.Step<BrokerModel.Effect?> in
            let now = MonotonicTime.now
            if let first = state.arrivals.first, first.due <= now {
                return .end(state.arrivals.removeFirst().effect)
            }
            guard now < limit else { return .end(nil) }
            return .wait(until: min(limit, state.arrivals.first?.due ?? .max))
        }
    }
}
