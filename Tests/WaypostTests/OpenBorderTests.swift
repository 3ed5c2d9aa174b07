import TestSupport
import Testing
import Threading

@testable import Waypost

/// What a router decides, each at its border and beside it, and with what is left of before.
@Suite(.patient) struct `Opens at their borders` {
    private func waiting(_ caller: String?) -> WaitingOpen {
        WaitingOpen(url: "a://b", gate: "g", interceptor: "i", since: 0, caller: caller)
    }

    @Test func `so many opens wait, of one caller a part of them, until one goes on`() throws {
        var opens = WaitingOpens()
        let first = try opens.add(waiting("flood"))
        for _ in 1..<WaitingOpens.maximumOfCaller { _ = try opens.add(waiting("flood")) }
        #expect(throws: Failure.self) { try opens.add(waiting("flood")) }
        opens.remove(first)
        _ = try opens.add(waiting("flood"))
        for _ in WaitingOpens.maximumOfCaller..<WaitingOpens.maximum { _ = try opens.add(waiting(nil)) }
        #expect(throws: Failure.self) { try opens.add(waiting("ops")) }
        #expect(opens.all.count == WaitingOpens.maximum)
    }

    private func condition(_ when: JSONValue) throws -> RelocationCondition {
        let json: JSONValue = [
            "routerType": 1, "orginPath": "a://x", "targetPath": "a://y", "when": when,
        ]
        let entry = try RelocationEntry(json, index: 0)
        return try #require(RelocationConditionReader.condition(of: entry) { _ in nil }.condition)
    }

    @Test func `windows that touch have no moment in common, and those that lap over have`() throws {
        for (end, isApart) in [(99, true), (100, true), (101, false)] as [(Int64, Bool)] {
            let (early, late) = (try condition(["before": .int(end)]), try condition(["after": 100]))
            #expect(early.excludes(late) == isApart && late.excludes(early) == isApart)
        }
    }

    @Test func `a share covers those up to its own size`() throws {
        func share(_ percent: Int64) throws -> RelocationCondition {
            try condition(["share": ["percent": .int(percent), "salt": "s"]])
        }
        for (percent, isCovered) in [(9, true), (10, true), (11, false)] as [(Int64, Bool)] {
            #expect(try share(percent).isCovered(by: try share(10)) == isCovered)
        }
    }

    @Test func `only an entry without a condition hides what lies below it`() throws {
        func entry(_ target: String, _ when: JSONValue? = nil) throws -> RelocationEntry {
            var json: [String: JSONValue] = [
                "routerType": 1, "orginPath": "a://x", "targetPath": .string(target),
            ]
            json["when"] = when
            return try RelocationEntry(.object(json), index: 0)
        }
        let lower = [try entry("a://low")]
        #expect(RelocationEntry.merged(lower, under: [try entry("a://up")]).count == 1)
        #expect(RelocationEntry.merged(lower, under: [try entry("a://up", ["build": ">1"])]).count == 2)
    }

    @Test func `each hook sees the URL that the one before it chose`() async throws {
        let router = try recordingRouter([("app://a", "A"), ("app://c", "C")])
        router.willOpen("first") { $0.url == "app://a" ? .open("app://b") : .proceed }
        router.willOpen("second") { $0.url == "app://b" ? .open("app://c") : .proceed }
        #expect(await router.open("app://a").route == "app://c")
    }

    @Test func `a page above is guarded by what guards it when it is opened`() async throws {
        let stack = NavigationStack()
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register(.page("g://x", name: "list", in: stack))
        try router.register(.page("g://x/:id", name: "page", in: stack))
        try router.intercept("first", scope: .patterns(["g://x/:id"])) { [weak router] _ in
            try router?.intercept("later", scope: .patterns(["g://x"])) { _ in .stop(reason: "closed") }
            return .proceed
        }
        #expect(await router.open("g://x/7?route_parents=true").isSuccess)
        #expect(stack.state.tabs[0].map(\.name) == ["page"])
    }

    @Test func `a web page gets its own URL, however often it names another`() async throws {
        let router = Router(configuration: RouterConfiguration(webPath: "scheme://router/web"))
        let seen = Guarded<[String: [JSONValue]]>([:])
        try router.register("scheme://router/web") { request in
            seen.withLock { $0 = request.parameters.repeated }
            return .opened(request.parameters["url"])
        }
        let url = "https://example.com/?url=a&url=b&c=1&c=2"
        #expect(await router.open(url).value == .string(url))
        #expect(seen.withLock { $0 } == ["c": ["1", "2"]])
    }

    private struct Pair: Sendable {}

    private func registry() throws -> ServiceRegistry {
        let registry = ServiceRegistry(clock: EndlessClock())
        try registry.expose(
            ExposedService("Pair", make: Pair.init) {
                Exposed("both(_:_:)") { (_: Pair, one: String, two: String) in one + two }
            })
        return registry
    }

    @Test func `arguments by number are the first two`() async throws {
        let registry = try registry()
        let answer = try await registry.call(
            "Pair", "both", arguments: .labeled(["ivar1": "a", "ivar2": "b"]))
        #expect(answer == "ab")
    }

    @Test func `a hook that goes takes no other one with it`() async throws {
        let registry = try registry()
        let first = registry.willCall("first") { _ in .proceed }
        let second = registry.willCall("second") { _ in .stop(reason: "no") }
        func code() async -> Code {
            let ending = await ending {
                try await registry.call("Pair", "both", arguments: .positional(["a", "b"]))
            }
            return if case .failure(let failure) = ending { failure.code } else { .ok }
        }
        #expect(await code() == .intercepted)
        first.cancel()
        #expect(await code() == .intercepted)
        second.cancel()
        #expect(await code() == .ok)
    }
}
