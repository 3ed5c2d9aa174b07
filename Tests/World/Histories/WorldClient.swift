import Threading

/// A client of a world's broker without any code of the product, for who sends commands.
///
/// What it is given is acknowledged once it was taken; so after a crash nothing is missing that was not. It connects again
/// when the broker ends its connection.
final class WorldClient: Sendable {
    /// What came.
    enum Event {
        case message(BrokerModel.Delivery)
        /// The broker has what was published under this id.
        case published(String)
        /// It is connected; to a new session where the broker has forgotten the one before.
        case connected(isNew: Bool)
    }

    private struct State {
        var line = 0
        var arrivals: [MemoryBroker.Arrival] = []
        /// What was published and is not acknowledged, in order.
        var unacknowledged: [String] = []
    }

    private let broker: MemoryBroker
    private let name: String
    private let filters: [String]
    private let state = Monitor(State())

    /// Connects to a session that the broker keeps, and subscribes to these.
    init(_ name: String, at broker: MemoryBroker, _ filters: [String]) {
        (self.broker, self.name, self.filters) = (broker, name, filters)
        connect()
    }

    private func connect() {
        let line = broker.open(name) { [state] arrival in
            state.withLock { ($0.arrivals.append(arrival), wakes: true) }
        }
        state.withLock { ($0 = State(line: line), wakes: false) }
        broker.send(.connects(.init(expiry: nil, window: 1_000)), from: name, on: line)
        for filter in filters { broker.send(.subscribes(filter, .init()), from: name, on: line) }
    }

    /// - Parameter id: what is said once the broker has it.
    func publish(_ text: String, on topic: String, as id: String, retain: Bool = false) {
        let line = state.withLock { state in
            state.unacknowledged.append(id)
            return (state.line, wakes: false)
        }
        let message = BrokerModel.Message(topic: topic, payload: Array(text.utf8), qos: 1, retain: retain)
        broker.send(.publishes(message), from: name, on: line)
    }

    /// Takes what comes until that time, or until enough has come.
    ///
    /// - Parameters:
    ///   - isEnough: asked before each.
    ///   - take: gets each.
    func take(
        until limit: UInt64, unless isEnough: () -> Bool = { false }, _ take: (Event) throws -> Void
    ) rethrows {
        while !isEnough(), let arrival = next(until: limit) {
            switch arrival.effect {
            case .delivers(_, let delivery):
                try take(.message(delivery))
                if delivery.message.qos > 0 {
                    broker.send(.acknowledges(delivery.id), from: name, on: arrival.line)
                }
            case .acknowledged:
                let id = state.withLock { state in
                    (state.unacknowledged.isEmpty ? nil : state.unacknowledged.removeFirst(), wakes: false)
                }
                if let id { try take(.published(id)) }
            case .connected(_, let sessionPresent): try take(.connected(isNew: !sessionPresent))
            case .closed: connect()
            case .granted: break
            }
        }
    }

    private func next(until limit: UInt64) -> MemoryBroker.Arrival? {
        state.wait { state, _ -> Monitor<State>.Step<MemoryBroker.Arrival?> in
            let now = MonotonicTime.now
            // What came over a line before is lost with it.
            state.arrivals.removeAll { $0.line != state.line }
            if let first = state.arrivals.first, first.due <= now {
                return .end(state.arrivals.removeFirst())
            }
            guard now < limit else { return .end(nil) }
            return .wait(until: min(limit, state.arrivals.first?.due ?? .max))
        }
    }
}
