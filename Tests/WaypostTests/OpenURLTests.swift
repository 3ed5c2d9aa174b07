import TestSupport
import Testing
import Threading

@testable import Waypost

/// A router whose destinations answer with their name and the merged parameters.
func recordingRouter(
    _ routes: [(String, String)], configuration: RouterConfiguration = .init()
) throws -> Router {
    // What other tests declare by macros is in the same image.
    var configuration = configuration
    configuration.registersLinked = false
    let router = Router(configuration: configuration)
    try router.register(
        routes.map { pattern, name in
            Route(RouteKey(pattern), name: name) { request in
                .opened(.object(["name": .string(name), "params": .object(request.parameters.merged)]))
            }
        })
    return router
}

@Suite(.patient) struct `Open a URL` {
    static let theRouter: [(String, String)] = [
        ("scheme://router/demo", "TheRouter_Example.TheRouterController"),
        ("scheme://router/demo1", "TheRouter_Example.TheRouterControllerA"),
        ("scheme://router/demo2", "TheRouter_Example.TheRouterControllerB"),
        ("scheme://router/demo2Android", "TheRouter_Example.TheRouterControllerB"),
        ("scheme://router/demo3", "TheRouter_Example.TheRouterControllerC"),
        ("scheme://router/user/:id", "UserScreen"),
    ]

    @Test func `a destination gets the query, the path and the caller's parameters`() async throws {
        let router = try recordingRouter(Self.theRouter)
        let opening = await router.open(
            "scheme://router/user/42?id=2&value=3&name=AKyS", parameters: ["model": ["age": 18]],
            context: OpenContext(ref: "c-1"))
        #expect(opening.outcome == .opened)
        #expect(opening.route == "scheme://router/user/:id")
        #expect(opening.code == .ok)
        #expect(opening.ref == "c-1")
        #expect(opening.value?["params"] == ["id": "42", "value": "3", "name": "AKyS", "model": ["age": 18]])
        #expect(opening.json["route"] == "scheme://router/user/:id")
    }

    @Test func `an unknown URL is not found and near routes are named`() async throws {
        let router = try recordingRouter(Self.theRouter)
        let failures = Guarded<[[Opening]]>([[], []])
        router.onFailure { opening in failures.withLock { $0[0].append(opening) } }
        let second = router.onFailure { opening in failures.withLock { $0[1].append(opening) } }
        let opening = await router.open("scheme://router/dmeo")
        #expect(opening.outcome == .notFound)
        #expect(opening.code == .noRoute)
        // Those of the open count, also when they are read after a change of the routes.
        #expect(router.unregister("scheme://router/demo"))
        #expect(opening.nearest.contains("scheme://router/demo"))
        #expect(opening == opening && router.lastOpens.map(\.opening.nearest) == [[]])
        second.cancel()
        _ = await router.open("scheme://router/nowhere")
        #expect(failures.withLock { $0.map(\.count) } == [2, 1])
    }

    @Test(arguments: [
        ("s://caf\u{e9}/:id", "s://cafe\u{301}/7"), ("s://caf\u{e9}/:id", "s://cafe%CC%81/7"),
        ("s://cafe%CC%81", "s://caf%C3%A9"),
        ("s://\u{d55c}\u{ae00}", "s://\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"),
        ("s://x/caf\u{e9}(/:tab)", "s://x/cafe\u{301}/all"), ("s://x/caf\u{e9}/**", "s://x/cafe\u{301}/a/b"),
    ])
    func `an unknown URL that looks like a route is told so`(pattern: String, url: String) async throws {
        let router = try recordingRouter([("s://other", "O"), (pattern, "Cafe"), ("s://caff", "F")])
        let opening = await router.open(url)
        #expect(opening.code == .noRoute)
        #expect(opening.nearest.first?.utf8.elementsEqual(pattern.utf8) == true)
        #expect(opening.detail.contains("; \(pattern) has the same letters in another Unicode form"))
        let error = try #require(router.resolve(url).error)
        #expect(error.detail.contains("the same letters"))
        #expect(error.nearest.first?.utf8.elementsEqual(pattern.utf8) == true)
        for other in ["s://caf", "s://cafe", "s://caf\u{e8}/7", "t://cafe\u{301}/7"] {
            #expect(await !router.open(other).detail.contains("the same letters"))
        }
        let entry = RelocationEntry(.replace(origin: "s://old", target: url))
        let report = try router.relocate([RelocationLayer(name: "agent", entries: [entry])])
        #expect(report.inactive.first?.reason.contains("the same letters") == true)
    }

    @Test func `a listener gets each open whole, and may show its parameters without secrets`() async throws {
        let router = try recordingRouter([("a://user/:id", "User")])
        let map: JSONValue = [
            ["routerType": 1, "orginPath": "a://profile/:id", "targetPath": "a://user/:id"]
        ]
        try router.relocate([RelocationLayer(name: "map", entries: RelocationEntry.list(map))])
        let openings = Guarded<[Opening]>([])
        let listener = router.onOpen { opening in openings.withLock { $0.append(opening) } }
        _ = await router.open(
            "a://profile/7?tab=a&access_token=x1",
            parameters: ["note": "see token=x2", "card": "x3", "list": [["password": "x4"]]],
            context: OpenContext(ref: "c-1", caller: "ops"))
        _ = await router.open("a://nowhere")
        _ = await router.open("")
        listener.cancel()
        _ = await router.open("a://user/8")
        let seen = openings.withLock { $0 }
        #expect(seen.map(\.code) == [.ok, .noRoute, .badField])
        let first = try #require(seen.first)
        #expect(first.route == "a://user/:id" && first.hops == ["a://user/7?tab=a&access_token=x1"])
        #expect(first.ref == "c-1" && first.caller == "ops" && first.duration > .zero)
        #expect(first.parameters["access_token"] == "x1")
        #expect(
            first.redactedParameters(further: ["card"]) == [
                "id": "7", "tab": "a", "access_token": "***", "note": "see token=***", "card": "***",
                "list": [["password": "***"]],
            ])
    }

    @Test func `a handler answers with what can be encoded, and with numbers`() async throws {
        struct Order: Encodable {
            var id: Int
            var lines: [String]
        }
        struct Never: Encodable {
            func encode(to encoder: any Encoder) throws { throw CancellationError() }
        }
        let router = Router()
        try router.register("a://order/:id") { request in
            let id = try request.parameters.value("id", as: Int.self)
            return try .opened(encoding: Order(id: id, lines: ["tea"]))
        }
        try router.register("a://plain") { _ in try .opened(encoding: 42) }
        try router.register("a://never") { _ in try .opened(encoding: Never()) }
        #expect(await router.open("a://order/7").value == ["id": 7, "lines": ["tea"]])
        #expect(await router.open("a://plain").value == 42)
        #expect(await router.open("a://never").isSuccess == false)
        #expect(JSONValue(UInt8(3)) == 3 && JSONValue(Int64.min) == .int(.min))
    }

    static let refused: [(String, Int, String)] = [
        ("", 422, "BAD_FIELD"), ("   ", 422, "BAD_FIELD"), ("scheme://router/%00", 422, "BAD_FIELD"),
        ("scheme://router/../x", 422, "BAD_FIELD"), ("evil://router/demo", 403, "NOT_ALLOWED"),
        ("https://example.com", 403, "NOT_ALLOWED"), ("javascript://router/demo", 403, "NOT_ALLOWED"),
        ("scheme://router/" + String(repeating: "x", count: 2048), 413, "TOO_LARGE"),
        ("://router/demo", 422, "BAD_FIELD"),
    ]

    @Test(arguments: refused)
    func `a URL that may not be opened is rejected with its code`(url: String, code: Int, name: String)
        async throws
    {
        let router = try recordingRouter(Self.theRouter)
        let opening = await router.open(url)
        #expect(opening.code == Code(number: code, name: name))
        #expect(!opening.detail.isEmpty)
        #expect(router.canOpen(url) == false)
        #expect(router.resolve(url).error?.code == opening.code)
    }

    @Test func `only allowed hosts are opened`() async throws {
        let configuration = RouterConfiguration(
            allowedSchemes: ["HTTPS", "scheme"], allowedHosts: ["router", "*.example.com"],
            webPath: "scheme://router/demo")
        let router = try recordingRouter(Self.theRouter, configuration: configuration)
        #expect(await router.open("scheme://router/demo").isSuccess)
        #expect(await router.open("https://WWW.Example.com/x").isSuccess)
        #expect(await router.open("https://example.org/x").code == .notAllowed)
        #expect(await router.open("https://evilexample.com/x").code == .notAllowed)
        #expect(await router.open("scheme://other/x").code == .notAllowed)
        #expect(await router.open("http://www.example.com/x").code == .notAllowed)
    }

    @Test func `a handler that passes leaves the URL to the next candidate`() async throws {
        let router = Router()
        let tried = Guarded<[String]>([])
        for pattern in ["a://x/:any", "a://x/*", "a://", "a://x/y"] {
            try router.register(RouteKey(pattern)) { request in
                tried.withLock { $0.append(request.route) }
                return pattern == "a://x/*" ? .opened() : .pass
            }
        }
        #expect(await router.open("a://x/y").route == "a://x/*")
        #expect(tried.withLock { $0 } == ["a://x/y", "a://x/:any", "a://x/*"])
        router.unregister("a://x/*")
        let opening = await router.open("a://x/y")
        #expect(opening.code == .noRoute)
        #expect(opening.route == nil)
        #expect(tried.withLock { $0.suffix(3) } == ["a://x/y", "a://x/:any", "a://"])
    }

    @Test func `what a handler throws becomes the outcome`() async throws {
        struct Broken: Error {}
        let router = Router()
        try router.register("a://broken") { _ in throw Broken() }
        try router.register("a://typed") { request in
            .opened(.int(Int64(try request.parameters.value("id", as: Int.self))))
        }
        try router.register("a://refuses") { _ in
            throw Failure(.notAllowed, "not today")
        }
        #expect(await router.open("a://broken").code == .handlerFailed)
        #expect(await router.open("a://typed?id=7").value == 7)
        let typed = await router.open("a://typed?id=x")
        #expect(typed.code == .badField)
        #expect(typed.detail.contains("\"id\""))
        #expect(await router.open("a://refuses").code == .notAllowed)
    }

    @Test func `a handler that ignores its cancellation does not hold the caller`() async throws {
        let gate = Gate()
        let router = Router(configuration: RouterConfiguration(handlerDeadline: .milliseconds(5)))
        try router.register("a://slow") { _ in
            await gate.wait()
            return .opened()
        }
        #expect(await router.open("a://slow").code == .deadline)
        let long = Task { await router.open("a://slow", context: OpenContext(deadline: .seconds(60))) }
        long.cancel()
        #expect(await long.value.code == .canceled)
        gate.open()
    }

    @Test func `native objects reach a destination in the process`() async throws {
        struct Model: Sendable, Equatable { var name: String }
        let router = Router()
        let seen = Guarded<Model?>(nil)
        try router.register("a://x") { request in
            seen.withLock { $0 = request.parameters.object("model") }
            return .opened()
        }
        _ = await router.open("a://x", objects: ["model": Model(name: "AKyS")])
        #expect(seen.withLock { $0 } == Model(name: "AKyS"))
    }

    @Test func `an odd presentation hint is a warning and a push`() async throws {
        let router = try recordingRouter(Self.theRouter)
        let events = Guarded<[RouterEvent]>([])
        router.observe { event in events.withLock { $0.append(event) } }
        let opening = await router.open("scheme://router/demo?jumpType=9")
        #expect(opening.presentation.jumpType == .push)
        #expect(events.withLock { $0.map(\.kind) } == [.willOpen, .warned, .opened])
        let modal = await router.open("scheme://router/demo?jumpType=0")
        #expect(modal.presentation.jumpType == .modal)
        #expect(modal.value?["params"] == ["jumpType": "0"])
    }

    @Test func `can open and resolve run nothing and are exact`() async throws {
        let router = try recordingRouter(Self.theRouter)
        let events = Guarded(0)
        router.observe { _ in events.withLock { $0 += 1 } }
        try router.intercept { _ in .stop(reason: "never asked") }
        #expect(router.canOpen("scheme://router/user/7"))
        #expect(!router.canOpen("scheme://router/user"))
        let resolution = router.resolve("scheme://router/user/7?x=1", parameters: ["y": 2])
        #expect(resolution.route == "scheme://router/user/:id")
        #expect(resolution.className == "UserScreen")
        #expect(resolution.parameters.merged == ["id": "7", "x": "1", "y": 2])
        #expect(router.resolve("scheme://router/nowhere").error?.code == .noRoute)
        #expect(events.withLock { $0 } == 0)
        #expect(router.lastOpens.isEmpty)
    }

    @Test func `parameters of a resolution that are read later are those of the routes as they were`() throws
    {
        let router = Router()
        try router.register("myapp://orders/:id") { _ in .opened() }
        var resolution = router.resolve("myapp://orders/42?tab=items", parameters: ["y": 2])
        try router.register("myapp://orders/:number", replacing: true) { _ in .opened() }
        #expect(resolution.parameters.merged == ["id": "42", "tab": "items", "y": 2])
        resolution.parameters.query["tab"] = "all"
        #expect(resolution.parameters.merged == ["id": "42", "tab": "all", "y": 2])
    }

    @Test func `the history keeps the last opens`() async throws {
        let router = try recordingRouter(Self.theRouter, configuration: RouterConfiguration(historyLength: 3))
        for url in ["demo", "demo1", "demo2", "nowhere"] { _ = await router.open("scheme://router/\(url)") }
        let history = router.lastOpens
        #expect(history.map(\.opening.code.number) == [0, 0, 404])
        #expect(history.map(\.opening.url).first == "scheme://router/demo1")
        #expect(history[2].json["name"] == "NO_ROUTE")
    }
}
