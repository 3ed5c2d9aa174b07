import TestSupport
import Testing
import Threading

@testable import Waypost

@Suite(.patient) struct `Open a service URL` {
    struct Config: Sendable {}

    func router() throws -> Router {
        let router = Router()
        try router.services.expose(
            ExposedService("AppConfigServiceProtocol", make: { Config() }) {
                Exposed("openMiniProgram(info:)", idempotent: true) {
                    (_: Config, info: [String: JSONValue]) in info
                }
                Exposed("add(a:b:)") { (_: Config, a: Int, b: Int) in a + b }
                Exposed("fail()") { (_: Config) throws -> Int in throw CodeError() }
            })
        return router
    }

    struct CodeError: Error {}

    static let base = "scheme://services?protocol=AppConfigServiceProtocol"

    @Test func `TheRouter's call of a local service works unchanged`() async throws {
        let router = try router()
        let url =
            "scheme://services?protocol=AppConfigServiceProtocol&method=openMiniProgramWithInfo:&resultType=0"
        let opening = await router.open(url, parameters: ["ivar1": ["key": "value"]])
        #expect(opening.outcome == .served(.null))
        #expect(opening.code == .ok)
        let value = await router.open(url, parameters: ["ivar1": ["key": "value"], "resultType": 1])
        #expect(value.value == ["key": "value"])
        let words = await router.open(url, parameters: ["ivar1": ["key": "value"], "resultType": "2"])
        #expect(words.value?.stringValue?.contains("key") == true)
        #expect(router.resolve(url).idempotent)
        #expect(router.canOpen(url))
        #expect(router.resolve(url).method?.name == "openMiniProgram(info:)")
    }

    static let good: [(String, [String: JSONValue], JSONValue)] = [
        ("&method=add&ivar1=1&ivar2=2", [:], 3), ("&method=addWithA:b:&ivar1=1", ["ivar2": 2], 3),
        ("&method=add(a:b:)&a=1&b=2&utm=x", [:], 3), ("&method=add", ["a": 4, "b": "5"], 9),
        ("&method=openMiniProgram&ivar1=%7B%22k%22%3A1%7D", [:], ["k": 1]),
        ("&method=openMiniProgram&id=7&name=AKyS", [:], ["id": "7", "name": "AKyS"]),
        ("&method=openMiniProgram", ["info": ["k": 1]], ["k": 1]),
    ]

    @Test(arguments: good)
    func `arguments come as ivars, by label and from the query as text`(
        query: String, parameters: [String: JSONValue], value: JSONValue
    ) async throws {
        let opening = try await router().open(Self.base + query, parameters: parameters)
        #expect(opening.outcome == .served(value))
    }

    static let bad: [(String, Int, String)] = [
        ("scheme://services?method=add", 422, "BAD_FIELD"),
        ("scheme://services?protocol=AppConfigServiceProtocol", 422, "BAD_FIELD"),
        ("scheme://services?protocol=AppConfigServiceProtocl&method=add", 404, "NO_SERVICE"),
        (base + "&method=adds", 404, "NO_METHOD"), (base + "&method=add&ivar1=1&ivar2=x", 422, "BAD_FIELD"),
        (base + "&method=add&ivar1=1", 422, "BAD_FIELD"),
        (base + "&method=add&ivar1=1&ivar2=2&resultType=7", 422, "BAD_FIELD"),
        (base + "&method=add&ivar1=1&ivar2=2&resultType=1.0", 422, "BAD_FIELD"),
        (base + "&method=fail", 500, "HANDLER_FAILED"),
    ]

    @Test(arguments: bad)
    func `a call that cannot be made is refused with its code`(url: String, code: Int, name: String)
        async throws
    {
        let opening = try await router().open(url)
        #expect(opening.code == Code(number: code, name: name))
    }

    @Test func `parameters cannot choose another service or method`() async throws {
        let called = Guarded<[String]>([])
        let router = try router()
        try router.services.expose(
            ExposedService("LedgerService", make: { Config() }) {
                Exposed("append(entry:)") { (_: Config, entry: String) in called.withLock { $0.append(entry) }
                }
            })
        let other: [String: JSONValue] = [
            "protocol": "LedgerService", "method": "append", "ivar1": 1, "ivar2": 2, "entry": "x",
        ]
        let url = Self.base + "&method=add"
        #expect(await router.open(url, parameters: other).outcome == .served(3))
        #expect(router.resolve(url, parameters: other).method?.name == "add(a:b:)")
        let bare = await router.open("scheme://services", parameters: other)
        #expect(bare.code == .badField)
        #expect(bare.detail.contains("protocol"))
        #expect(called.withLock { $0 }.isEmpty)
    }

    @Test func `a service URL inside another URL is not a call`() async throws {
        let router = try router()
        try router.register("scheme://router/demo") { request in .opened(request.parameters["next"]) }
        let called = Guarded(0)
        router.services.observe { _ in called.withLock { $0 += 1 } }
        let inner = "scheme://services?protocol=AppConfigServiceProtocol"
        let opening = await router.open("scheme://router/demo?next=\(inner)&method=fail")
        #expect(opening.value == .string(inner))
        for url in ["scheme://services/x?protocol=P&method=m", "SCHEME://services/?protocol=P&method=m"] {
            _ = await router.open(url)
        }
        #expect(called.withLock { $0 } == 1)
    }

    @Test func `the call's events carry the command's id`() async throws {
        let router = try router()
        let refs = Guarded<[String?]>([])
        router.services.observe { event in refs.withLock { $0.append(event.ref) } }
        _ = await router.open(Self.base + "&method=add&a=1&b=2", context: OpenContext(ref: "c-18"))
        #expect(refs.withLock { $0 } == ["c-18", "c-18"])
    }
}
