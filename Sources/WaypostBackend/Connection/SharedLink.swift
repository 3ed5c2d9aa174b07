package import MQTTLink
import Threading
import Waypost
import WaypostMessages

/// One connection that all of a backend shares: it comes back by itself, and each reader gets what its filters name.
package final class SharedLink: MQTTLinkDelegate {
    /// A connection and its number.
    struct Current: Sendable {
        var number: Int
        var connection: Connection
    }

    private struct Reader {
        var filters: [String: TopicFilter]
        let queue: MessageQueue
        /// Whether it goes on when the connection is there again.
        let lasts: Bool
        /// Why its connection ended.
        var endReason: DisconnectReason?
        var hasEnded = false
    }

    private struct State {
        var current: Current?
        var number = 0
        /// Why there is no connection.
        var reason: DisconnectReason?
        var isStopped = false
        var readers: [UInt64: Reader] = [:]
        /// How many readers have a filter.
        var uses: [String: Int] = [:]
        /// Who waits for the replies to a command, by its id; the same one can be sent twice at once.
        var replies: [String: [UInt64: MessageQueue]] = [:]
        var publishing: [UInt64: Promise<PublishReceipt.Result>] = [:]
        var connecting: [UInt64: OneShotEvent] = [:]
        var last: UInt64 = 0

        mutating func next() -> UInt64 {
            last += 1
            return last
        }

        /// Takes filters from a reader, all unless named; returns those that no other has.
        mutating func unused(by id: UInt64, among filters: [String]? = nil) -> [String] {
            (filters ?? readers[id].map { Array($0.filters.keys) } ?? []).filter { filter in
                guard readers[id]?.filters.removeValue(forKey: filter) != nil else { return false }
                uses[filter, default: 1] -= 1
                guard uses[filter] == 0 else { return false }
                uses[filter] = nil
                return true
            }
        }
    }

    private let state = Guarded(State())
    private let link = Guarded<(any MessageLink)?>(nil)
    private let topics: Topics
    private let name: String
    private let will: MQTTMessage?

    /// - Parameter will: What the broker publishes when the connection is lost.
    init(topics: Topics, name: String, will: MQTTMessage? = nil) {
        (self.topics, self.name, self.will) = (topics, name, will)
    }

    /// Begins to connect; once.
    func start(_ configuration: MQTTLinkConfiguration, over makeLink: MakeLink) {
        var configuration = configuration
        configuration.cleanStart = true
        configuration.sessionExpiry = 0
        configuration.subscriptions = [Subscription(topics.reply(of: "+", to: name))]
        // Reconnect within 10 s, since someone is waiting. Agents back off longer.
        configuration.reconnect.longest = .seconds(10)
        if will != nil { configuration.willDelay = 0 }
        let link = makeLink(configuration, self)
        self.link.withLock { $0 = link }
        link.start()
    }

    /// Publishes what waits, and leaves.
    func stop(within limit: Duration) async {
        state.withLock { $0.isStopped = true }
        let link = link.withLock { link in
            defer { link = nil }
            return link
        }
        await link?.stop(after: [], within: limit)
        ended(nil)
    }

    /// Does `body` with settings whose sessions all share one connection: some brokers have one for each name.
    static func with<Value>(
        _ settings: BackendConfiguration, will: MQTTMessage? = nil,
        _ body: (BackendConfiguration) async throws -> Value
    ) async throws -> Value {
        let link = SharedLink(topics: settings.topics, name: settings.name, will: will)
        link.start(settings.lasting(clientID: settings.newClientID), over: settings.makeLink)
        var shared = settings
        shared.shared = link
        let result: Result<Value, any Error>
        do { result = .success(try await body(shared)) } catch { result = .failure(error) }
        await link.stop(within: .seconds(2))
        return try result.get()
    }

    // MARK: The connection

    var current: Current? { state.withLock { $0.current } }

    /// Why there is no connection.
    var reason: DisconnectReason? { state.withLock { $0.reason } }
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Waits for a connection; nil when there is none by then, or when the link was stopped.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func connected(until end: ContinuousClock.Instant) async throws -> Current? {
        if let current { return current }
        let wake = OneShotEvent()
        let id = state.withLock { state -> UInt64? in
            guard state.current == nil, !state.isStopped else { return nil }
            let id = state.next()
            state.connecting[id] = wake
            return id
        }
        guard let id else { return current }
        let alarm = Task {
            try await MonotonicTime.sleep(until: end)
            wake.fire()
        }
        await wake.waitUnlessCancelled()
        alarm.cancel()
        state.withLock { $0.connecting[id] = nil }
        try Task.checkCancellation()
        return current
    }

    // MARK: Readers

    /// Adds a reader; nil when there is no connection by then.
    ///
    /// - Parameter lasts: Whether it goes on over lost connections, rather than end with the first.
    func open(
        _ queue: MessageQueue, _ subscriptions: [Subscription], within limit: Duration, lasts: Bool = false
    ) async throws -> (reader: SharedReader, answers: [SubscriptionResult])? {
        guard let current = try await connected(until: MonotonicTime.instant + limit) else { return nil }
        let id = state.withLock { state in
            let id = state.next()
            state.readers[id] = Reader(filters: [:], queue: queue, lasts: lasts)
            return id
        }
        let reader = SharedReader(self, id, queue, current.connection)
        guard !subscriptions.isEmpty else { return (reader, []) }
        guard let answers = try await subscribe(id, subscriptions) else { return nil }
        return (reader, answers)
    }

    func subscribe(_ id: UInt64, _ subscriptions: [Subscription]) async throws -> [SubscriptionResult]? {
        state.withLock { state in
            for filter in subscriptions.map(\.filter) where state.readers[id]?.filters[filter] == nil {
                state.readers[id]?.filters[filter] = TopicFilter(filter)
                state.uses[filter, default: 0] += 1
            }
        }
        return try await link.withLock(\.self)?.subscribe(subscriptions)
    }

    func unsubscribe(_ id: UInt64, _ filters: [String]) {
        giveUp(state.withLock { $0.unused(by: id, among: filters) })
    }

    func remove(_ id: UInt64) {
        giveUp(
            state.withLock { state in
                defer { state.readers[id] = nil }
                return state.unused(by: id)
            })
    }

    private func giveUp(_ filters: [String]) {
        let kept = topics.reply(of: "+", to: name)
        let filters = filters.filter { $0 != kept }
        if !filters.isEmpty { link.withLock(\.self)?.unsubscribe(filters) }
    }

    func endReason(of id: UInt64) -> DisconnectReason? { state.withLock { $0.readers[id]?.endReason } }

    // MARK: Replies

    /// A queue for the replies to a command; it gets an alarm, too, when the connection comes or goes.
    func expect(_ id: String) -> (queue: MessageQueue, token: UInt64) {
        let queue = MessageQueue(limit: 16, byteLimit: 4 << 20)
        return state.withLock { state in
            let token = state.next()
            state.replies[id, default: [:]][token] = queue
            return (queue, token)
        }
    }

    func forget(_ id: String, _ token: UInt64) {
        state.withLock { state in
            state.replies[id]?[token] = nil
            if state.replies[id]?.isEmpty == true { state.replies[id] = nil }
        }
    }

    // MARK: Publishing

    /// Publishes and waits until the broker has it.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, and nothing is sent when it was before.
    func publish(_ message: MQTTMessage) async throws -> PublishReceipt.Result {
        try Task.checkCancellation()
        guard let link = link.withLock(\.self) else { return .lost }
        let receipt = Promise<PublishReceipt.Result>()
        let token = state.withLock { state -> UInt64? in
            guard !state.isStopped else { return nil }
            let token = state.next()
            state.publishing[token] = receipt
            return token
        }
        guard let token else { return .lost }
        link.publish([OutgoingMessage(token: token, message: message)])
        return try await receipt.value()
    }

    // MARK: The link's side

    package func linkWillConnect(_ version: MQTTVersion) -> MQTTMessage? { will }

    package func linkDidConnect(_ connection: Connection) {
        let (waiting, replies) = state.withLock { state in
            state.number += 1
            state.current = Current(number: state.number, connection: connection)
            state.reason = nil
            defer { state.connecting = [:] }
            return (Array(state.connecting.values), state.replies.values.flatMap(\.values))
        }
        for event in waiting { event.fire() }
        for queue in replies { queue.alarm() }
    }

    /// Who gets what is found outside the lock, and once for each topic: in a flood all messages have the same.
    package func link(received batch: [MQTTMessage]) -> BatchDecision {
        let (readers, replies) = state.withLock { (Array($0.readers.values), $0.replies) }
        var routes: [String: (queues: [MessageQueue], isReply: Bool)] = [:]
        var deliveries: [(queue: MessageQueue, messages: [MQTTMessage])] = []
        var places: [ObjectIdentifier: Int] = [:]
        for message in batch {
            let route = routes[message.topic] ?? route(of: message.topic, to: readers)
            routes[message.topic] = route
            let id = route.isReply ? message.json?["id"]?.stringValue : nil
            let waiting = id.flatMap { replies[$0] }.map { Array($0.values) } ?? []
            for queue in waiting + route.queues {
                let place = places[ObjectIdentifier(queue)] ?? deliveries.count
                places[ObjectIdentifier(queue)] = place
                if place == deliveries.count { deliveries.append((queue, [])) }
                deliveries[place].messages.append(message)
            }
        }
        for (queue, messages) in deliveries { queue.append(messages) }
        return .acknowledge
    }

    /// The queues whose filters name a topic, and whether replies to us come on it.
    private func route(of topic: String, to readers: [Reader]) -> (queues: [MessageQueue], isReply: Bool) {
        let levels = TopicFilter.levels(of: topic)
        let matching = readers.filter { reader in reader.filters.values.contains { $0.matches(levels) } }
        let isReply = if case (_, .reply(to: name))? = topics.outbound(topic) { true } else { false }
        return (matching.map(\.queue), isReply)
    }

    package func link(settled receipts: [PublishReceipt]) {
        let waiters = state.withLock { state in
            receipts.map { (state.publishing.removeValue(forKey: $0.token), $0.result) }
        }
        for (waiter, result) in waiters { waiter?.fulfill(result) }
    }

    package func linkDidDisconnect(_ reason: DisconnectReason) { ended(reason) }

    /// The connection ended: all readers end with it, and commands wait for the next one.
    private func ended(_ reason: DisconnectReason?) {
        let (readers, replies, waiting, lost, unused) = state.withLock { state in
            state.current = nil
            state.reason = reason ?? state.reason
            let isOver = state.isStopped
            let ended = state.readers.filter { !$0.value.hasEnded && (isOver || !$0.value.lasts) }
            for id in ended.keys {
                state.readers[id]?.hasEnded = true
                state.readers[id]?.endReason = reason
            }
            // Else the next connection would begin with what the broker keeps for all of these at once.
            let unused = ended.keys.flatMap { state.unused(by: $0) }
            let waiting = isOver ? Array(state.connecting.values) : []
            let lost = isOver ? Array(state.publishing.values) : []
            if isOver { (state.connecting, state.publishing) = ([:], [:]) }
            return (ended.values.map(\.queue), state.replies.values.flatMap(\.values), waiting, lost, unused)
        }
        giveUp(unused)
        for queue in readers { queue.finish() }
        for queue in replies { queue.alarm() }
        for event in waiting { event.fire() }
        for receipt in lost { receipt.fulfill(.lost) }
    }
}

/// A filter of MQTT, ready to be compared with topics, byte by byte as the broker does.
struct TopicFilter: Sendable, Hashable {
    private let levels: [ArraySlice<UInt8>]

    init(_ filter: String) { levels = Self.levels(of: filter) }

    /// Whether messages on a topic come to this filter (MQTT 5.0, 4.7).
    func matches(_ topic: [ArraySlice<UInt8>]) -> Bool {
        if let first = topic.first, first.first == UInt8(ascii: "$"), levels.first != first { return false }
        for (index, level) in levels.enumerated() {
            if level == [UInt8(ascii: "#")] { return true }
            guard index < topic.count, level == [UInt8(ascii: "+")] || level == topic[index] else {
                return false
            }
        }
        return levels.count == topic.count
    }

    static func levels(of topic: String) -> [ArraySlice<UInt8>] {
        Array(topic.utf8).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    }
}
