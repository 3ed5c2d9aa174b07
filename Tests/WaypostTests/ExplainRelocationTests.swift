import TestSupport
import Testing

@testable import Waypost

@Suite(.patient) struct `Explain relocation` {
    private func router() throws -> Router {
        let router = Router()
        for name in ["demo", "demo1", "demo2", "user/:id"] {
            try router.register("scheme://router/\(name)", name: name) { _ in .opened() }
        }
        return router
    }

    private func replace(_ origin: String, _ target: String, when: JSONValue? = nil) -> RelocationEntry {
        RelocationEntry(
            .replace(origin: "scheme://router/\(origin)", target: "scheme://router/\(target)"), when: when)
    }

    private func delete(_ path: String, when: JSONValue? = nil) -> RelocationEntry {
        RelocationEntry(.delete(path: "scheme://router/\(path)"), when: when)
    }

    @Test func `a URL whose route was deleted says by which entry, and suggests nothing`() async throws {
        let router = try router()
        try router.relocate([
            RelocationLayer(name: "agent", entries: [replace("x", "demo")]),
            RelocationLayer(
                name: "patch", entries: [replace("y", "demo"), delete("demo2"), delete("user/:id")]),
        ])
        let opening = await router.open("scheme://router/demo2?id=1")
        #expect(opening.outcome == .notFound && opening.nearest.isEmpty)
        #expect(
            opening.detail == "no route matches scheme://router/demo2?id=***: deleted by entry 2 of patch")
        let resolution = router.resolve("scheme://router/user/7")
        #expect(
            resolution.error?.detail == "no route matches scheme://router/user/7: deleted by entry 3 of patch"
        )
        #expect(resolution.error?.nearest == [])
        // A URL that no route ever took has its suggestions.
        #expect(router.resolve("scheme://router/dem").error?.nearest.first == "scheme://router/demo")
        #expect(await router.open("scheme://router/dem").detail.contains("deleted") == false)
    }

    @Test func `a condition that does not hold deletes nothing, and what is added again is there`() throws {
        let router = try router()
        try router.relocate([
            RelocationLayer(
                name: "agent",
                entries: [delete("demo2", when: ["labels": ["region": "eu"]]), delete("demo")]),
            RelocationLayer(
                name: "patch",
                entries: [RelocationEntry(.add(path: "scheme://router/demo", className: "demo1"))]),
        ])
        #expect(router.resolve("scheme://router/demo2").error == nil)
        #expect(router.resolve("scheme://router/demo").className == "demo1")
        #expect(router.hiddenEntries == ["agent": [1: "entry 1 of patch"]])
    }

    @Test func `each redirect is named with its layer and its entry, counted from 1`() throws {
        let router = try router()
        try router.register("scheme://router/old", redirect: { _ in "scheme://router/b" }) { _ in .opened() }
        try router.intercept("audit") { _ in .proceed }
        try router.intercept("login", priority: 9, scope: .patterns(["scheme://router/demo2"])) { _ in
            .proceed
        }
        try router.intercept("other", scope: .patterns(["scheme://router/demo"])) { _ in .proceed }
        try router.relocate([
            RelocationLayer(name: "@all", entries: [replace("a", "old")]),
            RelocationLayer(name: "agent", entries: [replace("z", "demo"), replace("b", "demo2")]),
        ])
        let resolution = router.resolve("scheme://router/a")
        #expect(
            resolution.redirects == [
                Resolution.Redirect(
                    from: "scheme://router/a", to: "scheme://router/old", layer: "@all", entry: 1),
                Resolution.Redirect(
                    from: "scheme://router/old", to: "scheme://router/b", route: "scheme://router/old"),
                Resolution.Redirect(
                    from: "scheme://router/b", to: "scheme://router/demo2", layer: "agent", entry: 2),
            ])
        #expect(resolution.interceptors == ["login", "audit"])
        #expect(resolution.hops == resolution.redirects.map(\.to))
    }

    @Test func `an open that a redirect led to nothing says from where`() async throws {
        let router = try router()
        try router.register("scheme://router/old", redirect: { _ in "scheme://router/none" }) { _ in .opened()
        }
        let opening = await router.open("scheme://router/old")
        let text = "no route matches scheme://router/none, to which scheme://router/old was redirected"
        #expect(opening.detail.hasPrefix(text))
        #expect(router.resolve("scheme://router/old").error?.detail == text)
    }

    @Test func `entries that nothing looks at are named with the one that takes their place`() throws {
        let router = try router()
        try router.relocate([
            RelocationLayer(name: "@all", entries: [replace("a", "demo"), replace("c", "demo")]),
            RelocationLayer(
                name: "agent", entries: [replace("a", "demo1", when: [:]), replace("c", "demo1")]),
            RelocationLayer(
                name: "patch", entries: [RelocationEntry(.reset(origin: "scheme://router/c", target: nil))]),
        ])
        #expect(
            router.hiddenEntries == ["@all": [1: "entry 2 of agent"], "agent": [1: "entry 1 of patch"]])
    }

    @Test func `two lists of entries differ by what they say of each origin and path`() {
        let older = [
            replace("a", "demo"), delete("demo2"), replace("b", "demo"), replace("s", "x", when: [:]),
        ]
        let newer = [
            replace("b", "demo1"), replace("a", "demo"), replace("d", "demo"), replace("s", "x", when: [:]),
            replace("s", "y"),
        ]
        let changes = RelocationChanges(from: older, to: newer)
        #expect((changes.added, changes.removed, changes.changed) == (2, 1, 1))
        #expect(changes.list.map(\.after) == [newer[0], newer[2], newer[4], nil])
        #expect(changes.list.map(\.before) == [older[2], nil, nil, older[1]])
        #expect(RelocationChanges(from: older, to: older.reversed()).list.isEmpty)
        // Among entries about one origin the order decides.
        let first = [replace("s", "x", when: [:]), replace("s", "y", when: [:])]
        #expect(RelocationChanges(from: first, to: first.reversed()).changed == 2)
    }
}
