import TestSupport
import Testing

@testable import Waypost

extension RouteKey {
    fileprivate static let user: RouteKey = "app://user/:id"
    fileprivate static let year: RouteKey = "app://archive/<year:y>"
}

@Suite(.patient) struct `Open by key` {
    @Test(arguments: [Dialect.waypost, .theRouter, .reerRouter, .kyRouter])
    func `values keep their types, whatever the dialect`(dialect: Dialect) async throws {
        let router = Router(configuration: RouterConfiguration(dialect: dialect))
        try router.register(.user) { request in
            .opened(
                .object(request.parameters.merged), object: request.parameters.object("model", as: Int.self))
        }
        let values: [String: JSONValue] = [
            "id": 42, "on": true, "text": "7", "sizes": [1, 2], "deep": ["a": 1.5], "none": .null,
        ]
        let opening = await router.open(.user, values, objects: ["model": 3])
        #expect(opening.value == .object(values.filter { !$0.value.isNull }))
        #expect(opening.object(as: Int?.self) == 3)
        #expect(opening.url.hasPrefix("app://user/42?deep="))
    }

    @Test func `what a redirect changes is no longer the key's value`() async throws {
        let router = try recordingRouter([("app://new/:id", "New")])
        try router.register(.user, redirect: { _ in "app://new/43?tab=1" }, handler: { _ in .pass })
        let opening = await router.open(.user, ["id": 42, "tab": 1])
        #expect(opening.value?["params"] == ["id": "43", "tab": 1])
    }

    @Test func `a pattern with a custom converter opens by its key`() async throws {
        let year = RouteConverter { text in text.count == 4 ? Int64(text).map { .int($0) } : nil }
        let router = Router(configuration: RouterConfiguration(converters: ["year": year]))
        try router.register(.year) { request in .opened(request.parameters["y"]) }
        #expect(await router.open(.year, ["y": 2026]).value == 2026)
        #expect(await router.open(.year, ["y": 26]).code == .badField)
    }
}
