import Foundation
import Logging
import MQTTLink
import Synchronization
import TestSupport
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

/// The rooms of an agent with real state on disk and, in the place of the link, a broker that takes everything.
final class House: Sendable {
    let agent: Agent
    let clock: TurnedClock
    let published = TestSupport.EventLog<MQTTMessage>()
    private let sending: AsyncStream<[OutgoingMessage]>.Continuation
    private let tasks: [Task<Void, Never>]
    private let listeners: [RegistrationHandle]

    init(
        directory: String? = nil, clock: TurnedClock = TurnedClock(), router: Router = Router(),
        isOnline: Bool = true, configure: (inout AgentConfiguration) -> Void = { _ in }
    ) throws {
        let path = directory ?? NSTemporaryDirectory() + "waypost-house-\(UUID().uuidString)"
        var configuration = AgentConfiguration(
            agent: "k1", groups: ["fleet"], stateDirectory: path,
            link: MQTTLinkConfiguration(brokers: [], clientID: "k1"))
        configure(&configuration)
        let agent = try Agent(
            configuration, router: router, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            clock: clock.clock)
        self.agent = agent
        self.clock = clock
        let published = published
        // As from a link, the receipts come later and on another thread.
        let (sent, sending) = AsyncStream.makeStream(of: [OutgoingMessage].self)
        self.sending = sending
        tasks = [
            Task { await agent.journal.run() },
            Task { await agent.dispatcher.run() },
            Task {
                await agent.outbox.run(
                    publish: { messages in
                        for message in messages { published.append(message.message) }
                        sending.yield(messages)
                    }, settle: { agent.settled($0, $1) })
            },
            Task {
                for await messages in sent {
                    agent.outbox.settled(
                        messages.map { PublishReceipt(token: $0.token, result: .acknowledged) })
                }
            },
        ]
        listeners = agent.listen()
        if isOnline { agent.outbox.connected(receiveMaximum: 1_000) }
    }

    /// Ends the rooms, so that the state directory is free.
    func close() async {
        agent.dispatcher.stop()
        agent.journal.close()
        agent.outbox.close()
        sending.finish()
        for task in tasks { await task.value }
        for listener in listeners { listener.cancel() }
    }

    /// A message of the broker's, as a batch of one.
    @discardableResult
    func receive(
        _ payload: String, on topic: String, retain: Bool = false,
        properties: MQTTProperties = MQTTProperties()
    ) -> BatchDecision {
        agent.intake.take([
            MQTTMessage(
                topic: topic, payload: Array(payload.utf8), qos: .atLeastOnce, retain: retain,
                properties: properties)
        ])
    }

    /// Waits for something that the rooms show only in their state; the limit is for a hanging test.
    func until(_ what: String, _ holds: (HealthMonitor.State) -> Bool) async throws {
        let limit = ContinuousClock.now + .seconds(60)
        while !holds(agent.health.snapshot) {
            guard ContinuousClock.now < limit else { throw Gone(what: what) }
            await Task.yield()
        }
    }

    /// A command of the sender `me`, and its terminal reply.
    func command(_ payload: String, from sender: String = "me") async throws -> Reply {
        let before = published.events.count
        receive(payload, on: "waypost/v1/k1/cmd/\(sender)")
        return try await reply(
            to: JSONValue(parsing: payload)["id"]?.stringValue ?? "", from: sender, after: before)
    }

    func reply(to id: String, from sender: String = "me", after count: Int = 0) async throws -> Reply {
        try await first("reply to \(id)", after: count) { message in
            guard message.topic == "waypost/v1/k1/reply/\(sender)",
                let reply = try? Reply(JSONValue(parsing: message.payload)), reply.id == id,
                reply.status != .accepted
            else { return nil }
            return reply
        }
    }

    func failure(after count: Int = 0, where matches: @escaping @Sendable (FailureReport) -> Bool)
        async throws
        -> FailureReport
    {
        try await first("a failure report", after: count) { message in
            guard message.topic == "waypost/v1/k1/fail",
                let report = try? FailureReport(JSONValue(parsing: message.payload)), matches(report)
            else { return nil }
            return report
        }
    }

    func applied(
        after count: Int = 0, where matches: @escaping @Sendable (JSONValue) -> Bool = { _ in true }
    ) async throws -> JSONValue {
        try await first("map/applied", after: count) { message in
            guard message.topic == "waypost/v1/k1/map/applied",
                let json = try? JSONValue(parsing: message.payload),
                matches(json)
            else { return nil }
            return json
        }
    }

    func event(after count: Int = 0, where matches: @escaping @Sendable (WaypostMessages.LogEvent) -> Bool)
        async throws -> WaypostMessages.LogEvent
    {
        try await first("an event", after: count) { message in
            guard message.topic.hasPrefix("waypost/v1/k1/log/") else { return nil }
            return String(decoding: message.payload, as: UTF8.self).split(separator: "\n").lazy
                .compactMap { try? WaypostMessages.LogEvent(JSONValue(parsing: String($0))) }.first(
                    where: matches)
        }
    }

    private func first<Value: Sendable>(
        _ what: String, after count: Int, _ make: @escaping @Sendable (MQTTMessage) -> Value?
    ) async throws -> Value {
        try await published.wait(for: what) { $0.dropFirst(count).contains { make($0) != nil } }
        let value = published.events.dropFirst(count).lazy.compactMap(make).first
        guard let value else { throw Gone(what: what) }
        return value
    }
}

/// What was there a moment ago is not.
struct Gone: Error {
    let what: String
}

/// Clocks that a test turns; both stand still otherwise.
final class TurnedClock: Sendable {
    /// 2026-11-21 00:00 UTC.
    static let start: Int64 = 1_795_219_200_000

    private let wall = Atomic<Int64>(TurnedClock.start)
    private let monotonic = Atomic<Int64>(1_000_000)

    var clock: AgentClock {
        AgentClock(
            wall: { self.wall.load(ordering: .relaxed) },
            monotonic: { self.monotonic.load(ordering: .relaxed) })
    }

    var now: Int64 { wall.load(ordering: .relaxed) }

    /// Time goes by.
    func advance(_ milliseconds: Int64) {
        wall.add(milliseconds, ordering: .relaxed)
        monotonic.add(milliseconds, ordering: .relaxed)
    }

    /// Somebody sets the wall clock.
    func step(_ milliseconds: Int64) { wall.add(milliseconds, ordering: .relaxed) }
}
