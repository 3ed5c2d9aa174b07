import Threading

/// A broker without a network: the model of one, on a thread of its own.
///
/// What a client sends arrives after a while that is drawn, in the order in which it was sent; so does what it is sent.
/// What is under way when a connection is cut is lost.
package final class MemoryBroker: Sendable {
    enum Request {
        case connects(BrokerModel.Connect)
        case subscribes(String, BrokerModel.Filter)
        case unsubscribes(String)
        case publishes(BrokerModel.Message)
        case acknowledges(UInt64)
        case leaves
        case isCut
        /// Of no client: the broker ends by itself, and starts again.
        case ends(isKilled: Bool)
        /// The same, and it does not start again.
        case isOver
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
        /// With which reason code it is refused when it arrives.
        var refusal: UInt8 = 0
    }

    private struct State {
        /// In the order in which they arrive.
        var posts: [Post] = []
        /// Whose messages are refused, and with which reason code.
        var refusals: [String: UInt8] = [:]
        var lines: [String: Line] = [:]
        var last = 0
    }

    private let state = Monitor(State())
    // Safe because only the broker's thread has it, and who reads it behind the end.
    private nonisolated(unsafe) var model: BrokerModel
    /// The longest that anything is under way, in nanoseconds.
    private let slowest: UInt64
    private let passes: @Sendable (BrokerModel.Message) -> Bool

    /// - Parameters:
    ///   - kept: what one before it had; no client is connected any more.
    ///   - passes: whether what is published goes on; what does not is acknowledged, and lost.
    init(
        _ kept: BrokerModel.Kept = .init(), _ traits: BrokerModel.Traits = .init(),
        slowest: Duration = .milliseconds(30),
        passes: @escaping @Sendable (BrokerModel.Message) -> Bool = { _ in true }
    ) {
        self.passes = passes
        model = BrokerModel(kept, traits)
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

    /// The connection of a client ends at once; what is under way on it is lost.
    func cut(_ client: String) {
        let line = state.withLock { ($0.lines[client]?.number, wakes: false) }
        if let line { send(.isCut, from: client, on: line) }
    }

    /// Refuses from now on what a client publishes, with a reason code; with 0 it takes it again.
    package func refuse(_ client: String, with reason: UInt8) {
        state.withLock { state in
            state.refusals[client] = reason
            return ((), wakes: false)
        }
    }

    /// Ends it and starts it again; what is on its way to it is lost.
    func restart(isKilled: Bool) {
        state.withLock { state in
            state.posts = [Post(due: 0, client: "", line: 0, request: .ends(isKilled: isKilled))]
            return ((), wakes: true)
        }
    }

    /// Ends it for ever.
    func stop() {
        state.withLock { state in
            state.posts = [Post(due: 0, client: "", line: 0, request: .isOver)]
            return ((), wakes: true)
        }
    }

    private func delay() -> UInt64 {
        var chance = Chance()
        return UInt64.random(in: 50_000...max(50_001, slowest), using: &chance)
    }

    // MARK: The broker's thread

    private func run() {
        // The line over which each client is connected, or was last.
        var lines: [String: Int] = [:]
        while true {
            let post = state.wait { state, _ -> Monitor<State>.Step<Post> in
                guard let next = state.posts.first else { return .wait(until: .max) }
                guard next.due <= MonotonicTime.now else { return .wait(until: next.due) }
                var post = state.posts.removeFirst()
                post.refusal = state.refusals[post.client] ?? 0
                return .end(post)
            }
            model.passed(to: Int64(MonotonicTime.now / 1_000_000))
            if case .isOver = post.request { return }
            if case .ends(let isKilled) = post.request {
                model.restarted(isKilled: isKilled)
                _ = model.takeEffects()
                lines = [:]
                closeAll()
                continue
            }
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
        case .connects, .ends, .isOver: break
        case .subscribes(let text, let filter): model.subscribed(client, to: text, filter)
        case .unsubscribes(let text): model.unsubscribed(client, from: text)
        case .publishes(var message):
            // No client subscribes to that.
            if !passes(message) { (message.topic, message.retain) = ("lost", false) }
            model.published(client, message, refusal: post.refusal)
        case .acknowledges(let id): model.acknowledged(client, id)
        case .leaves: model.left(client)
        case .isCut: model.cut(client)
        }
    }

    /// All connections end, and those that are on their way to be made.
    private func closeAll() {
        let lines = state.withLock { ($0.lines.mapValues(\.number), wakes: false) }
        for (client, line) in lines.sorted(by: { $0.value < $1.value }) { deliver(.closed(client), on: line) }
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
