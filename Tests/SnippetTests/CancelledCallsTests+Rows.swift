import Foundation
import MQTTLink
import TestSupport
import Waypost
import WaypostBackend

extension CancelledCallsTests.Row {
    fileprivate static func works(_ line: String, _ why: String) -> Self {
        Self(line: line, call: .works(why))
    }

    fileprivate static func router(
        _ line: String, _ call: @escaping @Sendable (StuckRouter) async throws -> Code?
    ) -> Self {
        Self(line: line, call: .router(call))
    }

    fileprivate static func broker(
        _ line: String, _ call: @escaping @Sendable (SilentBroker) async throws -> Void
    ) -> Self {
        Self(
            line: line,
            call: .broker {
                try await call($0)
                return nil
            })
    }

    /// It asks an agent, or the agents of a group.
    fileprivate static func asks(
        _ line: String, _ call: @escaping @Sendable (WaypostBackend.Backend) async throws -> Void
    ) -> Self {
        Self(
            line: line,
            call: .backend(asks: true) {
                try await call($0)
                return nil
            })
    }

    /// It needs the broker alone.
    fileprivate static func reads(
        _ line: String, _ call: @escaping @Sendable (WaypostBackend.Backend) async throws -> Void
    ) -> Self {
        Self(
            line: line,
            call: .backend(asks: false) {
                try await call($0)
                return nil
            })
    }
}

extension CancelledCallsTests {
    private struct Total: TypedRoute {
        typealias Answer = Int
        static let key: RouteKey = "app://total/:id"
        var id: Int
    }

    /// What ends when its own work does.
    static let own: [Row] = [
        .works("MQTTLink.func stop(", "a stop is what a cancelled task still has to do, and it has a limit"),
        .works("MQTTSession.func disconnect(", "the same"),
        .works("Agent.func run(", "a service ends when it has stopped; the agent's tests cancel it"),
        .works("TestBackend.static func with", "it ends all that it began"),
        .works("TestBackend.@discardableResult func agent(", "TestBackend.with ends it"),
        .works("TestAgent.func start(", "the same"),
        .works("TestAgent.func stop(", "it has the limit of an agent's stop"),
        .works("TestAgent.func cutPower(", "the same"),
        .works("Exposed.nonisolated(nonsending) static func calling(", "it never waits"),
        .works("NavigationStack.@discardableResult func move(", "it never waits"),
        .works("NavigationStack.func show(", "it never waits"),
        .works("Navigator.func move(", "the program's own code"),
        .works("RouterTracer.", "it awaits what it is given"), .works("RouterSpans.", "the same"),
        .works("Navigator.func show(_ screen: Screen) async", "the program's own code"),
        .works("Navigator.func show(_ screen: Screen, objects", "the program's own code"),
        .works("OmittableArgument.nonisolated(nonsending) func value(", "the program's own code"),
        .works("Routable.static func open(", "the program's own code"),
        .works("RoutablePage.func opened(", "the program's own code"),
        .works("RoutablePage.init?(from", "the program's own code"),
        .works("RoutablePage.static func open(", "the program's own code"),
        .works("RouteModule.func setUp(", "the program's own code"),
    ]

    static let router: [Row] = [
        .router("EventStream.AsyncIterator.mutating func next() ") { scene in
            var events = scene.router.events().makeAsyncIterator()
            // That is how a sequence says it.
            return await events.next() == nil ? .canceled : nil
        },
        .router("EventStream.AsyncIterator.mutating func next(isolation") { scene in
            var events = scene.router.events().makeAsyncIterator()
            return await events.next(isolation: nil) == nil ? .canceled : nil
        },
        .router("RouteBuilder.nonisolated(nonsending) func open(") {
            await RouteBuilder("app://login").open(with: $0.router).code
        },
        .router("Router.@discardableResult nonisolated(nonsending) func load(") {
            try await $0.loading().load()
            return nil
        },
        .router("Router.@discardableResult nonisolated(nonsending) func navigate(") {
            try await $0.router.navigate(.back) ? nil : .ok
        },
        .router("Router.nonisolated(nonsending) func open(_ key: RouteKey") {
            await $0.router.open(StuckRouter.Order.key, ["id": 1]).code
        },
        .router("Router.nonisolated(nonsending) func open(_ url: String") {
            await $0.loading().open("app://endless", context: OpenContext(deadline: .seconds(3_600))).code
        },
        .router("Router.nonisolated(nonsending) func open<Typed>(") {
            await $0.router.open(StuckRouter.Order(id: 1)).code
        },
        .router(
            "ServiceRegistry.@discardableResult nonisolated(nonsending) func call(_ service: String, _ method: String, "
                + "arguments"
        ) {
            try await $0.router.services.call("Desk", "wait", deadline: nil)
            return nil
        },
        .router("ServiceRegistry.nonisolated(nonsending) func call<each Argument") {
            _ = try await $0.router.services.call("Desk", "wait", as: JSONValue.self, deadline: nil)
            return nil
        },
        .router("ServiceRegistry.nonisolated(nonsending) func call<First") {
            try await $0.router.services.call("Desk", "hold", with: 1, deadline: nil)
            return nil
        },
        .router("ServiceRegistry.nonisolated(nonsending) func fetch<") {
            _ = try await $0.loading().services.fetch(StuckRouter.Endless.self, within: nil)
            return nil
        },
    ]

    static let link: [Row] = [
        .broker("MQTTLink.func subscribe(") { _ = try await $0.link.subscribe([Subscription("a")]) },
        .broker("MQTTSession.Messages.AsyncIterator.mutating func next(") {
            var messages = $0.session.messages.makeAsyncIterator()
            // That is how a sequence says it.
            if await messages.next() == nil { throw CancellationError() }
        },
        .broker("MQTTSession.func publish(") {
            _ = try await $0.session.publish(MQTTMessage(topic: "a", payload: [], qos: .atLeastOnce))
        },
        .broker("MQTTSession.func subscribe(") { _ = try await $0.session.subscribe([Subscription("a")]) },
        .broker("MQTTSession.static func connect(") {
            _ = try await MQTTSession.connect(
                .oneShot(brokers: [$0.url], clientID: "three"), within: .seconds(3_600))
        },
    ]

    private static func map() throws -> Relocation { try Relocation.map([], revision: 7) }

    static let backend: [Row] =
        agent + group + [
            .reads("Backend.func agents(") { _ = try await $0.agents() },
            .reads("Backend.func followLog(") { try await $0.followLog(LogRequest()) { _ in true } },
            .reads("RetiredAgent.func remove(") { _ = try await $0.agent("k2").retired().remove() },
            .asks("Backend.@discardableResult func send(") { backend in
                let folder = NSTemporaryDirectory() + "waypost-sealed-\(UUID().uuidString)"
                defer { try? FileManager.default.removeItem(atPath: folder) }
                let command = try backend.agent("k1").seal(.ping)
                try await backend.send(command, keptIn: SealedCommandStore(folder: folder))
            },
            .asks("Backend.func keptFailures(") { _ = try await $0.keptFailures { _ in } },
            .asks("Backend.func relocate(") {
                try await $0.relocate($0.agent("k1").plan(map()), deadline: .seconds(3_600))
            },
            .reads("Backend.func run(") { backend in
                try await Backend(backend.settings).run()
                // A service that has stopped has done what it was told to.
                throw CancellationError()
            },
            .reads("Backend.func waitUntilConnected(") { backend in
                let other = Backend(backend.settings)
                try await other.waitUntilConnected(within: .seconds(3_600))
            },
            .reads("Backend.static func with<") { backend in
                try await Backend.with(backend.settings) { _ in try await Task.sleep(for: .seconds(3_600)) }
            },
            .reads("BackendStream.AsyncIterator.mutating func next() ") { backend in
                var changes = backend.failures().makeAsyncIterator()
                if try await changes.next() == nil { throw CancellationError() }
            },
            .reads("BackendStream.AsyncIterator.mutating func next(isolation") { backend in
                var changes = backend.failures().makeAsyncIterator()
                if try await changes.next(isolation: nil) == nil { throw CancellationError() }
            },
            .asks("PendingCommand.func accepted(") { _ = try await pending($0).accepted() },
            .asks("PendingCommand.func reply(") { _ = try await pending($0).reply() },
            .asks("PendingCommand.func result(") { _ = try await pending($0).result() },
        ]

    private static func pending(_ backend: WaypostBackend.Backend) throws -> PendingCommand {
        try Task.checkCancellation()
        return try backend.agent("k1").send(.ping, SendOptions(deadline: .seconds(3_600)))
    }

    private static let long = SendOptions(deadline: .seconds(3_600))

    private static let agent: [Row] = [
        .asks("AgentClient.@discardableResult func call(") {
            try await $0.agent("k1").call("Desk", "wait", [], long)
        },
        .asks("AgentClient.@discardableResult func open(") {
            try await $0.agent("k1").open("app://a", parameters: [:], long)
        },
        .asks("AgentClient.@discardableResult func open<Typed>(") {
            let _: OpenResult = try await $0.agent("k1").open(StuckRouter.Order(id: 1), long)
        },
        .asks("AgentClient.func open<Typed>(") { _ = try await $0.agent("k1").open(Total(id: 1), long) },
        .asks("AgentClient.@discardableResult func relocate(_ entries") {
            try await $0.agent("k1").relocate([], deadline: .seconds(3_600))
        },
        .asks("AgentClient.@discardableResult func relocate(_ relocation") {
            try await $0.agent("k1").relocate(map(), deadline: .seconds(3_600))
        },
        .asks("AgentClient.@discardableResult func undoMap(") {
            try await $0.agent("k1").undoMap(deadline: .seconds(3_600))
        },
        .asks("AgentClient.func call<T>(_ service: String, _ method: String, _ arguments") {
            _ = try await $0.agent("k1").call("Desk", "wait", [], as: Bool.self, long)
        },
        .asks("AgentClient.func call<T>(_ service: String, _ method: String, labeled") {
            _ = try await $0.agent("k1").call("Desk", "wait", labeled: [:], as: Bool.self, long)
        },
        .asks("AgentClient.func cancel(") { try await $0.agent("k1").cancel("a", long) },
        .asks("AgentClient.func collect(") { _ = try await $0.agent("k1").collect() },
        .reads("AgentClient.func contract(") { _ = try await $0.agent("k1").contract() },
        .asks("AgentClient.func diff(") { _ = try await $0.agent("k1").diff(map()) },
        .asks("AgentClient.func failures(") { _ = try await $0.agent("k1").failures() },
        .asks("AgentClient.@discardableResult func changeGroups(") {
            let change = GroupsChange(adding: ["eu"])
            try await $0.agent("k1").changeGroups(change, deadline: .seconds(3_600))
        },
        .reads("AgentClient.func groups(") { _ = try await $0.agent("k2").groups() },
        .reads("AgentClient.func forget(") { try await $0.agent("k2").forget() },
        .reads("AgentClient.func retained(") { _ = try await $0.agent("k2").retained() },
        .reads("AgentClient.func retired(") { _ = try await $0.agent("k2").retired() },
        .asks("AgentClient.func inspect(") { _ = try await $0.agent("k1").inspect("a") },
        .asks("AgentClient.func map(_ version") {
            let version = try JSONDecoder().decode(
                MapVersion.self, from: Data(#"{"layer":"agent","digest":"sha256:00","from":1}"#.utf8))
            _ = try await $0.agent("k1").map(version, deadline: .seconds(3_600))
        },
        .asks("AgentClient.func map(revision") {
            _ = try await $0.agent("k1").map(revision: 1, deadline: .seconds(3_600))
        },
        .asks("AgentClient.func mapHistory(") {
            _ = try await $0.agent("k1").mapHistory(deadline: .seconds(3_600))
        },
        .asks("AgentClient.func maps(") { _ = try await $0.agent("k1").maps(deadline: .seconds(3_600)) },
        .asks("AgentClient.func navigate(") { try await $0.agent("k1").navigate(.back, long) },
        .asks("AgentClient.func pending(") { _ = try await $0.agent("k1").pending() },
        .asks("AgentClient.func ping(") { _ = try await $0.agent("k1").ping(long) },
        .asks("AgentClient.func plan(") { _ = try await $0.agent("k1").plan(map()) },
        .asks("AgentClient.func previousMap(") {
            _ = try await $0.agent("k1").previousMap(deadline: .seconds(3_600))
        },
        .asks("AgentClient.func replay(_ filter") { _ = try await $0.agent("k1").replay(LogFilter()) },
        .asks("AgentClient.func replay(_ query") { _ = try await $0.agent("k1").replay() },
        .asks("AgentClient.func resolve(") {
            _ = try await $0.agent("k1").resolve(["app://a"], deadline: .seconds(3_600))
        },
        .asks("AgentClient.func setLogLevel(") {
            try await $0.agent("k1").setLogLevel(.debug, tag: nil, for: .seconds(60), long)
        },
    ]

    private static let group: [Row] = [
        .reads("GroupClient.@discardableResult func pauseRollout(") {
            try await $0.group("lobby").pauseRollout(because: "lunch")
        },
        .asks("GroupClient.@discardableResult func relocate(") {
            try await $0.group("lobby").relocate(map(), deadline: .seconds(3_600))
        },
        .reads("GroupClient.@discardableResult func takeRolloutBack(") {
            try await $0.group("lobby").takeRolloutBack(because: "lunch")
        },
        .asks("GroupClient.@discardableResult func undoMap(") {
            try await $0.group("lobby").undoMap(deadline: .seconds(3_600))
        },
        .asks("GroupClient.func mapHistory(") {
            _ = try await $0.group("lobby").mapHistory(deadline: .seconds(3_600))
        },
        .asks("GroupClient.func maps(") { _ = try await $0.group("lobby").maps(deadline: .seconds(3_600)) },
        .asks("GroupClient.func plan(") { _ = try await $0.group("lobby").plan(map()) },
        .reads("GroupClient.func planRollout(") {
            _ = try await $0.group("lobby").planRollout(map(), id: "r")
        },
        .asks("GroupClient.func previousMap(") {
            _ = try await $0.group("lobby").previousMap(deadline: .seconds(3_600))
        },
        .reads("GroupClient.func advanceRollout(") { _ = try await $0.group("lobby").advanceRollout() },
        .reads("GroupClient.func promoteRollout(") { _ = try await $0.group("lobby").promoteRollout() },
        .reads("GroupClient.func resumeRollout(") { _ = try await $0.group("lobby").resumeRollout() },
        .reads("GroupClient.func rollOut(_ plan") {
            let group = $0.group("lobby")
            _ = try await group.rollOut(group.planRollout(map(), id: "r"))
        },
        .reads("GroupClient.func rollOut(_ relocation") {
            _ = try await $0.group("lobby").rollOut(map(), id: "r")
        },
        .reads("GroupClient.func rolloutHistory(") { _ = try await $0.group("lobby").rolloutHistory() },
        .reads("GroupClient.func rolloutStatus(") { _ = try await $0.group("lobby").rolloutStatus() },
        .asks("GroupClient.func send(") { _ = try await $0.group("lobby").send(.ping, long) },
    ]
}
