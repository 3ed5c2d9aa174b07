import TestSupport
import Testing
import Waypost

extension Code {
    fileprivate static let noPaper = Code(application: 1_001, "NO_PAPER")
    fileprivate static let closed = Code(application: 1_002, "CLOSED", isRejection: true, isRetryable: true)
}

/// One failure, whoever throws it: its code, its detail and its payload are what the caller gets.
@Suite(.patient) struct `Throw a failure` {
    static let failures = [
        Failure(.notAllowed, "not today"), Failure(.busy, "later"), Failure(.noRoute, "no", nearest: ["x"]),
        Failure(.noPaper, "tray 2 is empty", payload: ["tray": 2]), Failure(.closed, "at night", payload: 7),
    ]

    @Test(arguments: failures) func `from a handler, a method, an interceptor and the hooks`(failure: Failure)
        async throws
    {
        let router = Router()
        let throwing: Route.Handler = { _ in
            await Task.yield()
            throw failure
        }
        try router.register("h://in-place") { _ in throw failure }
        try router.register("h://waits", handler: throwing)
        try router.register("h://guarded") { _ in .opened() }
        try router.register("h://hooked") { _ in .opened() }
        try router.register(.page("h://shown", in: Refusing(failure: failure)))
        try router.intercept("guard", scope: .patterns(["h://guarded"])) { _ in throw failure }
        router.willOpen { open in
            if open.url == "h://hooked" { throw failure }
            return .proceed
        }
        for name in ["in-place", "waits", "guarded", "hooked", "shown"] {
            let opening = await router.open("h://\(name)")
            #expect(opening.failure == failure, "\(name)")
            #expect(opening.code == failure.code)
            #expect(opening.nearest == failure.nearest)
            let isRejected = if case .rejected = opening.outcome { true } else { false }
            #expect(isRejected == (failure.code.status == .rejected))
        }
        try router.services.expose(
            ExposedService("S", instance: 1) {
                Exposed("inPlace()") { (_: Int) throws -> Int in throw failure }
                Exposed("waits()") { (_: Int) async throws -> Int in throw failure }
                Exposed("hooked()") { (_: Int) in 1 }
            })
        router.services.willCall { call in
            if call.method == "hooked()" { throw failure }
            return .proceed
        }
        for name in ["inPlace", "waits", "hooked"] {
            #expect(
                await ending { try await router.services.call("S", name) } == .failure(failure), "\(name)")
            let opening = await router.open("scheme://services?protocol=S&method=\(name)")
            #expect(opening.failure == failure, "\(name) by URL")
        }
        #expect(await ending { try await router.navigate(.back) } == .failure(failure))
    }

    private struct Refusing: Navigator {
        let failure: Failure
        func show(_ screen: Screen) async throws -> JSONValue? { throw failure }
        func move(_ move: NavigationMove) async throws -> Bool { throw failure }
    }

    @Test func `any other error is 500, and names what threw it`() async throws {
        struct Broken: Error {}
        let router = Router()
        try router.register("h://x") { _ in throw Broken() }
        try router.register("h://y") { _ in .opened() }
        try router.intercept("guard", scope: .patterns(["h://y"])) { _ in throw Broken() }
        #expect(await router.open("h://x").failure == Failure(.handlerFailed, "h://x failed: Broken()"))
        #expect(await router.open("h://y").failure == Failure(.handlerFailed, "guard failed: Broken()"))
    }

    @Test func `a failure with the code of success is no success`() async throws {
        let router = Router()
        try router.register("h://x") { _ in throw Failure(.ok, "fine") }
        let opening = await router.open("h://x")
        #expect(opening.code == .handlerFailed)
        #expect(!opening.isSuccess)
    }

    @Test func `codes of the application have a range and a status of their own`() {
        #expect(Code.noPaper.description == "1001 NO_PAPER")
        #expect(Code.noPaper.status == .failed)
        #expect(Code.closed.status == .rejected)
        #expect(Code.closed.isRetryable)
    }
}
