import Foundation
import Logging
import MQTTLink
import ServiceLifecycle
import TestSupport
import Testing
import Threading
import Waypost
import WaypostBackend

/// Every public call that waits ends when its task is cancelled, and says so.
///
/// The calls are those of the list of public symbols: a new one has no row here, and the test fails until it has one.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct CancelledCallsTests {
    typealias Backend = WaypostBackend.Backend

    /// One public call.
    struct Row: Sendable {
        /// How its line in the list begins.
        let line: String
        let call: Call
    }

    enum Call: Sendable {
        /// Runs until it is cancelled, and gives the code of a result, where that is how it says it.
        case router(@Sendable (StuckRouter) async throws -> Code?)
        /// The same, of a broker that answers nothing.
        case broker(@Sendable (SilentBroker) async throws -> Code?)
        /// The same, of a backend without a broker; where it asks agents, also of an agent that does not answer.
        case backend(asks: Bool, @Sendable (Backend) async throws -> Code?)
        /// It is not to end before its work does, for the reason given.
        case works(String)
    }

    static let rows: [Row] = own + router + link + backend

    // MARK: The list

    /// The lines of functions that are asynchronous themselves, and not just what they take.
    static func asyncLines() throws -> [String] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("API")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.flatMap { try String(contentsOf: $0, encoding: .utf8).split(separator: "\n") }
            .map(String.init).filter(isAsync)
    }

    private static func isAsync(_ line: String) -> Bool {
        guard let name = line.firstRange(of: /(func |[. ]init)[^(]*\(/) else { return false }
        var depth = 1
        let end = line[name.upperBound...].firstIndex { character in
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            return depth == 0
        }
        return end.map { line[$0...].hasPrefix(") async") } ?? false
    }

    @Test func `each of the list has a row`() throws {
        let lines = try Self.asyncLines()
        #expect(lines.count > 60)
        for line in lines {
            let rows = Self.rows.filter { line.hasPrefix($0.line) }
            #expect(
                rows.count == 1,
                "\(line)\nhas \(rows.count) rows: how does it end when its task is cancelled?")
        }
        for row in Self.rows {
            #expect(lines.contains { $0.hasPrefix(row.line) }, "\(row.line) is not in the list")
        }
    }

    // MARK: Ending

    /// Calls, cancels the task when the call waits, and looks how it ends.
    ///
    /// - Parameter moment: Until when it goes on; until its first wait unless given.
    private func cancel(
        _ line: String, at moment: () async throws -> Void = {},
        _ call: @escaping @Sendable () async throws -> Code?
    ) async throws {
        let task = Task.immediate { try await call() }
        try await moment()
        task.cancel()
        let end = try await patiently("the end of \(line)") { await task.result }
        switch end {
        case .failure(let error as Failure): #expect(error.code == .canceled, "\(line)")
        case .failure(let error): #expect(error is CancellationError, "\(line): \(error)")
        case .success(let code): #expect(code == .canceled, "\(line)")
        }
    }

    @Test func `of the router, at a gate, a module, a handler and a method`() async throws {
        for row in Self.rows {
            guard case .router(let call) = row.call else { continue }
            let router = try StuckRouter()
            try await cancel(row.line) { try await call(router) }
        }
    }

    @Test func `of a link to a broker that answers nothing`() async throws {
        let broker = try await SilentBroker()
        for row in Self.rows {
            guard case .broker(let call) = row.call else { continue }
            try await cancel(row.line) { try await call(broker) }
        }
        await broker.end()
    }

    @Test func `of a backend that has no broker`() async throws {
        let backend = Backend(
            try BackendConfiguration(broker: "mqtt://127.0.0.1:\(try FreePort.find())", name: "shop"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for row in Self.rows {
                guard case .backend(_, let call) = row.call else { continue }
                group.addTask { try await cancel(row.line) { try await call(backend) } }
            }
            try await group.waitForAll()
        }
    }

    @Test func `of a backend whose agents do not answer`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let observer = try await TestSupport.Backend(broker: broker.url)
        try await observer.pretendAgent("k1", in: "lobby")
        try await Backend.with(BackendConfiguration(broker: broker.url, name: "shop")) { backend in
            for row in Self.rows {
                guard case .backend(true, let call) = row.call else { continue }
                let before = observer.seen.count
                try await cancel(
                    row.line,
                    at: {
                        try await observer.wait(for: "what \(row.line) sends") { seen in
                            seen.dropFirst(before).contains {
                                $0.topic.hasSuffix("/cmd/shop") || $0.topic.contains("/map")
                                    || $0.topic.hasSuffix("/groups")
                            }
                        }
                    }
                ) { try await call(backend) }
            }
        }
        await observer.disconnect()
    }

    @Test func `a call in a task that was cancelled before sends nothing`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let observer = try await TestSupport.Backend(broker: broker.url)
        try await observer.pretendAgent("k1", in: "lobby")
        let known = observer.seen.count
        try await Backend.with(BackendConfiguration(broker: broker.url, name: "shop")) { backend in
            for row in Self.rows {
                guard case .backend(_, let call) = row.call else { continue }
                try await cancel(row.line) {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await call(backend)
                }
            }
        }
        try await observer.publish("end", to: "waypost/v1/end")
        try await observer.wait(for: "the end") { $0.last?.topic == "waypost/v1/end" }
        #expect(observer.seen.dropFirst(known).map(\.topic) == ["waypost/v1/end"])
        await observer.disconnect()
    }

    // It took the deadline of the longest, for a shutdown is no cancellation.
    @Test func `a service group with a thousand calls under way shuts down at once`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let observer = try await TestSupport.Backend(broker: broker.url)
        try await observer.pretendAgent("k1", in: "lobby")
        let backend = Backend(try BackendConfiguration(broker: broker.url, name: "shop"))
        let callers = Callers(backend: backend)
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: backend), .init(service: callers)], logger: Logger(label: "shop")))
        let running = Task { try await group.run() }
        try await observer.wait(for: "a thousand commands") { seen in
            seen.count { $0.topic.hasSuffix("/cmd/shop") } >= Callers.count
        }
        let start = ContinuousClock.now
        await group.triggerGracefulShutdown()
        try await patiently("the end of the group") { try await running.value }
        // A call's own deadline is ten minutes.
        #expect(ContinuousClock.now - start < .seconds(300))
        #expect(callers.ends.events == Array(repeating: "cancelled", count: Callers.count))
        await observer.disconnect()
    }

    @Test func `what a service says in its shutdown is sent`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let agent = try AgentProcess("k1", broker: broker.url)
        try await agent.online()
        let backend = Backend(try BackendConfiguration(broker: broker.url, name: "shop"))
        let farewell = Farewell(backend: backend)
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: backend), .init(service: farewell)], logger: Logger(label: "shop")))
        let running = Task { try await group.run() }
        try await backend.waitUntilConnected()
        await group.triggerGracefulShutdown()
        try await running.value
        #expect(farewell.sum.events == [42])
        _ = try await agent.terminate()
    }
}

// MARK: What they wait for

/// A router in which everything waits for ever, and takes no notice when it is cancelled.
struct StuckRouter: Sendable {
    let router = Router()

    struct Order: TypedRoute, Hashable {
        static let key: RouteKey = "app://order/:id"
        var id: Int
    }

    struct Endless: RouteModule {
        var name: String { "Endless" }
        var routes: [Route] { [Route("app://endless") { _ in .opened(.null) }] }
        var providers: [ServiceProvider] { [ServiceProvider(Endless.self) { self }] }
        var setUpDeadline: Duration? { nil }
        func setUp() async throws { await StuckRouter.wait() }
    }

    private struct Still: Navigator {
        func show(_ screen: Screen) async throws -> JSONValue? { nil }
        func move(_ move: NavigationMove) async throws -> Bool {
            await StuckRouter.wait()
            return true
        }
    }

    private struct Desk: Sendable {
        func wait() async -> Bool {
            await StuckRouter.wait()
            return true
        }
    }

    static func wait() async { await Task { try? await Task.sleep(for: .seconds(3_600)) }.value }

    init() throws {
        try router.register("app://handler") { _ in
            await StuckRouter.wait()
            return .opened(.null)
        }
        try router.register("app://login") { _ in .opened(.null) }
        try router.register(Order.self) { _, _ in .opened(.null) }
        let gate = OpenGate("login")
        try router.intercept("login") { request in
            ["app://handler", "app://endless"].contains(request.url.text)
                ? .proceed : .wait(for: gate, atMost: .seconds(3_600))
        }
        router.use(Still())
        try router.services.expose(
            ExposedService("Desk", instance: Desk()) {
                Exposed("wait()") { (desk: Desk) in await desk.wait() }
                Exposed("hold(_:)") { (desk: Desk, _: Int) in await desk.wait() }
            })
    }

    /// With a module whose set-up does not end.
    func loading() -> Router {
        router.declare([Endless()])
        return router
    }
}

/// A broker to which one is connected, and which answers nothing any more.
final class SilentBroker: Sendable {
    let broker: TestBroker
    let url: BrokerURL
    let session: MQTTSession
    let link: MQTTLink
    private let delegate = Delegate()

    private final class Delegate: MQTTLinkDelegate {
        let connections = EventLog<Connection>()
        func linkDidConnect(_ connection: Connection) { connections.append(connection) }
        func link(received batch: [MQTTMessage]) -> BatchDecision { .acknowledge }
        func link(settled receipts: [PublishReceipt]) {}
        func linkDidDisconnect(_ reason: DisconnectReason) {}
    }

    init() async throws {
        broker = try await TestBroker.start()
        url = try BrokerURL(broker.url)
        session = try await MQTTSession.connect(
            .oneShot(brokers: [url], clientID: "one"), within: .seconds(60))
        link = MQTTLink(configuration: .oneShot(brokers: [url], clientID: "two"), delegate: delegate)
        link.start()
        try await delegate.connections.wait(for: "the connection") { !$0.isEmpty }
        broker.pause()
    }

    func end() async {
        broker.resume()
        await session.disconnect()
        await link.stop()
        broker.end()
    }
}

/// A service with calls to an agent that does not answer.
private struct Callers: Service {
    static let count = 1_000

    let backend: WaypostBackend.Backend
    let ends = EventLog<String>()

    func run() async throws {
        try await backend.waitUntilConnected(within: .seconds(60))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.count {
                group.addTask {
                    do {
                        try await backend.agent("k1").open(
                            "app://home", SendOptions(deadline: .seconds(600), lifetime: .seconds(600)))
                        ends.append("opened")
                    } catch is CancellationError {
                        ends.append("cancelled")
                    } catch {
                        ends.append("\(error)")
                    }
                }
            }
        }
    }
}

/// A service that has a last word.
private struct Farewell: Service {
    let backend: WaypostBackend.Backend
    let sum = EventLog<Int>()

    func run() async throws {
        try await gracefulShutdown()
        sum.append(try await backend.agent("k1").call("CalculatorService", "add", [2, 40], as: Int.self))
    }
}
