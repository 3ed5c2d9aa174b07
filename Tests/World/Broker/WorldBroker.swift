import Threading

/// The broker of a world: the model of one, on a thread of its own, behind a network.
///
/// What a client sends arrives after a while that is drawn, in the order in which it was sent; so does what it is sent.
/// What is under way when a connection is cut is lost.
package final class WorldBroker: Sendable {
    enum Request {
        case connects(BrokerModel.Connect)
        case subscribes(String, BrokerModel.Filter)
        case unsubscribes(String)
        case publishes(BrokerModel.Message)
        case acknowledges(UInt64)
        case leaves
        case isCut
    }

    /// What the broker does, on its way to a client.
    struct Arrival {
        /// When it arrives, in nanoseconds.
        let due: UInt64
        let line: Int
        let effect: BrokerModel.Effect
    }

    /// One connection of a client; a later one of the same client has a higher number.
    private struct Line {
        let number: Int
        /// Called on the broker's thread.
        let receive: @Sendable (Arrival) -> Void
        var lastSent: UInt64 = 0
        var lastReceived: UInt64 = 0
    }

    private struct Post {
        let due: UInt64
        let client: String
        let line: Int
        let request: Request
    }

    private struct State {
        /// In the order in which they arrive.
        var posts: [Post] = []
        var lines: [String: Line] = [:]
        var last = 0
    }

    private let state = Monitor(State())
    // Safe because only the broker's thread has it, and who reads it behind the end.
    private nonisolated(unsafe) var model: BrokerModel
    /// The longest that anything is under way, in nanoseconds.
    private let slowest: UInt64

    /// - Parameter kept: what one before it had; nobody is connected any more.
    init(_ kept: BrokerModel.Kept = .init(), slowest: Duration = .milliseconds(30)) {
        model = BrokerModel(kept)
        for client in model.clients { model.cut(client) }
        _ = model.takeEffects()
        self.slowest = UInt64(slowest.components.attoseconds / 1_000_000_000)
    }

    /// What it has, for who comes after the end.
    var kept: BrokerModel.Kept { model.kept }

    func start() {
        let failure = PlainThread.start(name: "broker") { self.run() }
        precondition(failure == nil, "no thread")
    }

    // MARK: Clients

    /// A new connection; its number, with which requests go, of which `isCut` is the last one.
    func open(_ client: String, _ receive: @escaping @Sendable (Arrival) -> Void) -> Int {
        state.withLock { state in
            state.last += 1
            state.lines[client] = Line(number: state.last, receive: receive)
            return (state.last, wakes: false)
        }
    }

    func send(_ request: Request, from client: String, on line: Int) {
        let delay = delay()
        state.withLock { state in
            guard var known = state.lines[client], known.number == line else { return ((), wakes: false) }
            known.lastSent = max(known.lastSent, MonotonicTime.now + delay)
            state.lines[client] = known
            let post = Post(due: known.lastSent, client: client, line: line, request: request)
            // Behind those of the same time: what one client sends stays in order.
            let place = state.posts.firstIndex { $0.due > post.due } ?? state.posts.endIndex
            state.posts.insert(post, at: place)
            if case .isCut = request {
                state.posts.removeAll { $0.client == client && $0.line == line && $0.due < post.due }
                state.lines[client] = nil
            }
            return ((), wakes: true)
        }
    }

    private func delay() -> UInt64 {
        var chance = Chance()
        return UInt64.random(in: 50_000...max(50_001, slowest), using: &chance)
    }

    // MARK: The broker's thread

    private func run() -> Never {
        // The line over which each client is connected, or was last.
        var lines: [String: Int] = [:]
        while true {
            let post = state.wait { state, _ -> Monitor<State>.Step<Post> in
                guard let next = state.posts.first else { return .wait(until: .max) }
                guard next.due <= MonotonicTime.now else { return .wait(until: next.due) }
                return .end(state.posts.removeFirst())
            }
            model.passed(to: Int64(MonotonicTime.now / 1_000_000))
            apply(post, &lines)
            for effect in model.takeEffects() {
                if let line = lines[effect.client] { deliver(effect, on: line) }
            }
        }
    }

    private func apply(_ post: Post, _ lines: inout [String: Int]) {
        let client = post.client
        if case .connects(let connect) = post.request {
            // The end of an earlier connection of its is told on that one.
            if lines[client] != nil { model.cut(client) }
            lines[client] = post.line
            return model.connected(client, connect)
        }
        guard lines[client] == post.line else { return }
        switch post.request {
        case .connects: break
        case .subscribes(let text, let filter): model.subscribed(client, to: text, filter)
        case .unsubscribes(let text): model.unsubscribed(client, from: text)
        case .publishes(let message): model.published(client, message)
        case .acknowledges(let id): model.acknowledged(client, id)
        case .leaves: model.left(client)
        case .isCut: model.cut(client)
        }
    }

    private func deliver(_ effect: BrokerModel.Effect, on number: Int) {
        let delay = delay()
        let line = state.withLock { state -> (Line?, wakes: Bool) in
            guard var line = state.lines[effect.client], line.number == number else {
                return (nil, wakes: false)
            }
            line.lastReceived = max(line.lastReceived, MonotonicTime.now + delay)
            state.lines[effect.client] = line
            return (line, wakes: false)
        }
        line?.receive(Arrival(due: line?.lastReceived ?? 0, line: number, effect: effect))
    }
}

extension BrokerModel.Effect {
    var client: String {
        switch self {
        case .connected(let client, _), .granted(let client, _, _), .acknowledged(let client, _),
            .delivers(let client, _), .closed(let client):
            client
        }
    }
}
