import Foundation
import TestSupport
import Testing
import Waypost

@Suite(.patient) struct `Handlers without await` {
    @MainActor final class Screen {
        private(set) var shown = 0

        func show() -> JSONValue {
            MainActor.assertIsolated()
            shown += 1
            return .int(Int64(shown))
        }
    }

    /// The address of the running task, to tell one from another.
    private static var task: Int? { withUnsafeCurrentTask { $0?.hashValue } }

    @Test func `run in the task of the caller, as interceptors, hooks and methods do`() async throws {
        let router = Router()
        let caller = Self.task
        try router.register("a://x") { _ in .opened(.bool(Self.task == caller)) }
        try router.intercept { _ in Self.task == caller ? .proceed : .stop(reason: "another task") }
        router.willOpen { _ in Self.task == caller ? .proceed : .stop(reason: "another task") }
        try router.services.expose(
            ExposedService("S", instance: 1) {
                Exposed("isHere()") { (_: Int) in Self.task == caller }
                Exposed("isAway()") { (_: Int) async in Self.task != caller }
            })
        #expect(await router.open("a://x").value == true)
        #expect(try await router.services.call("S", "isHere") == true)
        #expect(try await router.services.call("S", "isAway") == true)
    }

    @Test @MainActor func `of an actor run there, wherever the open comes from`() async throws {
        let router = Router()
        let screen = Screen()
        try router.register("a://x") { @MainActor _ in .opened(screen.show()) }
        try router.register([Route("a://y") { @MainActor _ in .opened(screen.show()) }])
        try router.intercept("shown") { @MainActor _ in screen.shown < 9 ? .proceed : .stop(reason: "9") }
        router.willOpen { @MainActor open in screen.shown < 9 ? .proceed : .stop(reason: open.url) }
        #expect(await router.open("a://x").value == 1)
        #expect(await Task.detached { await router.open("a://y").value }.value == 2)
        #expect(screen.shown == 2)
    }

    @Test func `of a service run on the actor that they belong to, with all their arguments`() async throws {
        /// What can't leave its actor.
        final class Receipt: Encodable {
            var text: String
            init(_ text: String) { self.text = text }
        }
        let (registry, screen) = (ServiceRegistry(clock: EndlessClock()), Screen())
        let caller = Self.task
        try registry.expose(
            ExposedService("S", instance: screen) {
                Exposed("show()") { @MainActor (screen: Screen) in screen.show() }
                Exposed("show(_:times:)") { @MainActor (screen: Screen, title: String, times: Int) in
                    for _ in 0..<times { _ = screen.show() }
                    return Receipt("\(title) \(screen.shown)")
                }
                Exposed("note(_:)") { @MainActor (screen: Screen, context: OpenContext, flag: Bool) in
                    if flag, context.caller == "me" { _ = screen.show() }
                }
                Exposed("join(_:_:_:)") { (_: Screen, a: [Int], b: Double?, c: String) in
                    Self.task == caller ? "\(a) \(b ?? 0) \(c)" : "another task"
                }
            })
        func call(_ method: String, _ arguments: JSONValue...) async -> Result<JSONValue, Failure> {
            await ending {
                try await registry.call(
                    "S", method, arguments: .positional(arguments), context: OpenContext(caller: "me"))
            }
        }
        #expect(await call("show()") == .success(1))
        #expect(await call("show(_:times:)", "again", 3) == .success(["text": "again 4"]))
        #expect(await call("note(_:)", true) == .success(.null))
        #expect(await screen.shown == 5)
        #expect(await call("join(_:_:_:)", [1, 2], 0.5, "x") == .success("[1, 2] 0.5 x"))
    }

    @Test func `end as they did: with errors, and not at all when the caller was cancelled`() async throws {
        struct Broken: Error {}
        let router = Router()
        try router.register("a://throws") { _ in throw Broken() }
        try router.register("a://passes") { _ in .pass }
        try router.register("a://runs") { _ in .opened() }
        #expect(await router.open("a://throws").code == .handlerFailed)
        #expect(await router.open("a://passes").outcome == .notFound)
        let opening = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await router.open("a://runs")
        }
        #expect(await opening.value.code == .canceled)
    }

    @Test func `can be replaced by one that waits`() async throws {
        var route = Route("a://x") { _ in .opened(1) }
        let before = route.handler
        route.handler = { request in
            await Task.yield()
            return try await before(request)
        }
        let router = Router()
        try router.register([route])
        #expect(await router.open("a://x").value == 1)
    }
}
