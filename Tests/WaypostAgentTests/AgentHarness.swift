import Foundation
import Logging
import MQTTLink
import Synchronization
import TestSupport
import Threading
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

/// A running agent with real state on disk and, in the place of the link, one in memory with a broker behind it.
final class AgentHarness: Sendable {
    let agent: Agent
    let clock: TurnedClock
    let link: InMemoryLink
    private let running: Task<Void, any Error>

    var published: TestSupport.EventLog<MQTTMessage> { link.published }

    init(
        directory: String? = nil, clock: TurnedClock = TurnedClock(), router: Router = Router(),
        isOnline: Bool = true, link: InMemoryLink = InMemoryLink(),
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        configure: (inout AgentConfiguration) -> Void = { _ in }, around scope: HandlerScope? = nil
    ) async throws {
        let path = directory ?? NSTemporaryDirectory() + "waypost-harness-\(UUID().uuidString)"
        var configuration = AgentConfiguration(
            agent: "k1", groups: ["fleet"], stateDirectory: path,
            link: MQTTLinkConfiguration(brokers: [], clientID: "k1"))
        // A busy machine may take longer than 10 s to get to a handler.
        configuration.limits.handlerDeadline = .seconds(300)
        configure(&configuration)
        let agent = try Agent(
            configuration, router: router, logger: logger, clock: clock.clock, around: scope,
            makeLink: { _, delegate in
                link.delegate.withLock { $0 = delegate }
                return link
            })
        self.agent = agent
        self.clock = clock
        self.link = link
        running = Task { try await agent.run() }
        try await link.started.wait(for: "the start of the link") { !$0.isEmpty }
        if isOnline { link.connect(sessionPresent: directory != nil) }
    }

    deinit { running.cancel() }

    /// Stops the agent, as SIGTERM would.
    func close() async throws {
        running.cancel()
        try await running.value
    }

    /// A message of the broker's, as a batch of one.
    @discardableResult
    func receive(
        _ payload: String, on topic: String, retain: Bool = false,
        properties: MQTTProperties = MQTTProperties()
    ) -> BatchDecision {
        link.deliver([
            MQTTMessage(
                topic: topic, payload: Array(payload.utf8), qos: .atLeastOnce, retain: retain,
                properties: properties)
        ])
    }

    /// Waits for something that the agent shows only in its state.
    func until(_ what: String, _ holds: (AgentHarness) -> Bool) async throws {
        try await eventually(what, progress: { published.events.count }) { holds(self) }
    }

    /// Waits until it is on disk that the broker has all replies, which is a moment after that.
    func untilAllIsAcknowledged() async throws {
        try await until("the replies' acknowledgements on disk") {
            (try? $0.agent.store.commit { try $0.topicsOfUnsentReplies() })?.isEmpty == true
        }
    }

    /// Whether a check of the health document is ok or has failed; nil when that is not known.
    func check(_ name: String) -> Bool? {
        agent.health.checks.first { $0.name == name && $0.state != .unknown }.map { $0.state == .ok }
    }

    /// Failure reports in the outbox on disk.
    var reportsOnDisk: Int { (try? agent.store.commit { try $0.outboxSizes().count }) ?? 0 }

    /// The end of maps is looked at, as it is every few seconds.
    func checkExpiry() {
        agent.maps.checkTimeSoon()
        link.tick()
    }

    /// A command of the sender `me`, and its terminal reply.
    func command(_ payload: String, from sender: String = "me") async throws -> Reply {
        let before = published.events.count
        receive(payload, on: "waypost/v1/k1/cmd/\(sender)")
        return try await reply(
            to: JSONValue(parsing: payload)["id"]?.stringValue ?? "", from: sender, after: before)
    }

    func reply(to id: String, from sender: String = "me", after count: Int = 0) async throws -> Reply {
        try await published.first("reply to \(id)", after: count) { message in
            message.topic == "waypost/v1/k1/reply/\(sender)" ? Self.reply(to: id, in: message) : nil
        }
    }

    /// The terminal replies to an id so far.
    func replies(to id: String) -> [Reply] {
        published.events.compactMap { message in
            message.topic.hasPrefix("waypost/v1/k1/reply/") ? Self.reply(to: id, in: message) : nil
        }
    }

    private static func reply(to id: String, in message: MQTTMessage) -> Reply? {
        // Reading all replies would take most of the time of tests with many.
        guard strstr(String(decoding: message.payload, as: UTF8.self), id) != nil,
            let reply = try? Reply(JSONValue(parsing: message.payload, limits: .trustedFile)),
            reply.id == id, reply.status != .accepted
        else { return nil }
        return reply
    }

    func failure(after count: Int = 0, where matches: @escaping @Sendable (FailureReport) -> Bool)
        async throws
        -> FailureReport
    {
        try await published.first("a failure report", after: count) { message in
            guard message.topic == "waypost/v1/k1/fail",
                let report = try? FailureReport(JSONValue(parsing: message.payload)), matches(report)
            else { return nil }
            return report
        }
    }

    func applied(
        after count: Int = 0, where matches: @escaping @Sendable (JSONValue) -> Bool = { _ in true }
    ) async throws -> JSONValue {
        try await document("map/applied", after: count, where: matches)
    }

    /// A retained document of the agent.
    func document(
        _ name: String, after count: Int = 0,
        where matches: @escaping @Sendable (JSONValue) -> Bool = { _ in true }
    ) async throws -> JSONValue {
        try await published.first(name, after: count) { message in
            guard message.topic == "waypost/v1/k1/\(name)",
                let json = try? JSONValue(parsing: message.payload, limits: .trustedFile), matches(json)
            else { return nil }
            return json
        }
    }

    func event(after count: Int = 0, where matches: @escaping @Sendable (WaypostMessages.LogEvent) -> Bool)
        async throws -> WaypostMessages.LogEvent
    {
        try await published.first("an event", after: count) { message in
            guard message.topic.hasPrefix("waypost/v1/k1/log/") else { return nil }
            return String(decoding: message.payload, as: UTF8.self).split(separator: "\n").lazy
                .compactMap { try? WaypostMessages.LogEvent(JSONValue(parsing: String($0))) }.first(
                    where: matches)
        }
    }
}

/// Clocks that a test turns; both stand still otherwise.
final class TurnedClock: Sendable {
    /// Two days after the build: no correct clock is before it.
    static let start = ClockCheck.buildDate + 2 * 86_400_000

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
