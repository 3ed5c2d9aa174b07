import Testing

@testable import Waypost
@testable import WaypostTools

@Suite struct `Check the scopes of interceptors` {
    /// What a scope says that sees no route, by the scope.
    static let blind: [(InterceptorScope, String)] = [
        (.metadata("roles"), "matches no route: none has roles"),
        (.metadata("auth", 1), "none has auth = 1; hd://x has auth = true"),
        (.metadata("auth", "true"), "none has auth = \"true\"; hd://x has auth = true"),
        (.patterns(["hd://z"]), "the scope hd://z of the interceptor blind matches no route"),
        (.patterns([]), "the interceptor blind is never called: its scope has no pattern"),
        (
            .allBut(["hd://x", "hd://y/:id"]),
            "the interceptor blind is never called: its scope excludes all routes"
        ),
        (.subtree("hd://z"), "the subtree hd://z of the interceptor"),
    ]

    private func router() throws -> Router {
        let router = try recordingRouter([("hd://y/:id", "Y")])
        try router.register("hd://x", metadata: ["auth": true]) { _ in .opened() }
        return router
    }

    @Test(arguments: blind) func `one that can see no route is named`(scope: InterceptorScope, detail: String)
        throws
    {
        let router = try router()
        let handle = try router.intercept("blind", scope: scope) { _ in .proceed }
        let findings = router.check().findings
        #expect(findings.map(\.kind) == [.deadScope])
        #expect(findings.first?.detail.contains(detail) == true, "\(findings)")
        handle.cancel()
        #expect(router.check().findings.isEmpty)
    }

    @Test func `that of a group without routes is named`() throws {
        let router = try router()
        try router.group("hd://admin") { $0.intercept("staff") { _ in .proceed } }
        let findings = router.check().findings
        #expect(findings.map(\.kind) == [.deadScope])
        #expect(findings.first?.detail == "the interceptor staff is never called: its group has no route")
    }

    @Test
    func `a destination for which a map may add paths is seen, and a list has the metadata that it gives`()
        throws
    {
        let router = try recordingRouter([("hd://x", "X")])
        try router.intercept("roles", scope: .metadata("roles")) { _ in .proceed }
        try router.register(.destination("D", metadata: ["roles": ["staff"]]) { _ in .opened() })
        #expect(router.check().findings.isEmpty)

        let listed = Router(configuration: RouterConfiguration(registersLinked: false))
        try listed.intercept("login", scope: .metadata("auth")) { _ in .proceed }
        let plain: JSONValue = [["path": "hd://x", "class": "X", "priority": 0]]
        try listed.register(RouteDescription.list(plain).map { Route($0) { _ in .opened() } })
        #expect(listed.check().findings.map(\.kind) == [.deadScope])
        let full: JSONValue = [["path": "hd://y", "class": "Y", "metadata": ["auth": "user"]]]
        try listed.register(RouteDescription.list(full).map { Route($0) { _ in .opened() } })
        #expect(listed.check().findings.isEmpty)
    }
}
