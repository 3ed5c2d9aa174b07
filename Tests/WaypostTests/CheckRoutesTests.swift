import Testing

@testable import Waypost

@Suite struct `Check routes` {
    @Test func `routes that agree with their list are clean`() throws {
        let router = try recordingRouter(`Open a URL`.theRouter)
        #expect(router.check().isClean)
        #expect(router.check(declared: router.routes).isClean)
    }

    @Test func `differences between declared and registered are named on both sides`() throws {
        let router = try recordingRouter([("a://x", "X"), ("a://y", "Y")])
        let report = router.check(declared: [
            RouteDescription(path: "a://y"), RouteDescription(path: "a://z"),
        ])
        #expect(report.findings(.declaredNotRegistered).map(\.subject) == ["a://z"])
        #expect(report.findings(.registeredNotDeclared).map(\.subject) == ["a://x"])
    }

    @Test func `a file of routes and a map are checked without a router`() throws {
        let routes = [
            ("a://x/:id", 0), ("a://x/:other", 0), ("a://x/:", 0), ("a://high/**", 9), ("a://high/page", 0),
            ("a://home", 0), ("a://new", 0), ("a://typed/<int:n>", 0), ("a://typed/:any", 0),
        ].map { RouteDescription(path: $0.0, className: "C", priority: $0.1) }
        let layers = [
            RelocationLayer(
                name: "agent",
                entries: [
                    RelocationEntry(.replace(origin: "a://home", target: "a://new")),
                    RelocationEntry(.replace(origin: "a://dead", target: "a://nowhere")),
                    RelocationEntry(.replace(origin: "a://1", target: "a://2")),
                    RelocationEntry(.replace(origin: "a://2", target: "a://1")),
                    RelocationEntry(.add(path: "a://added", className: "Unknown")),
                    RelocationEntry(.delete(path: "a://absent")),
                    RelocationEntry(.replace(origin: "a://3", target: "other://1")),
                    RelocationEntry(.replace(origin: "a://4", target: "scheme://services")),
                ])
        ]
        let report = Router.check(routes: routes, layers: layers)
        #expect(report.findings(.conflict).map(\.subject) == ["a://x/:other"])
        #expect(report.findings(.badPattern).map(\.subject) == ["a://x/:"])
        #expect(report.findings(.unreachable).map(\.subject) == ["a://high/page"])
        #expect(report.findings(.redirected).map(\.subject) == ["a://home"])
        #expect(Set(report.findings(.deadRedirect).map(\.subject)).isSuperset(of: ["a://dead", "a://3"]))
        #expect(report.findings(.unknownClass).map(\.subject) == ["Unknown"])
        #expect(report.findings(.deadDeletion).map(\.subject) == ["a://absent"])
        #expect(report.findings(.cycle).count == 1)
        #expect(report.findings(.refused).count == 1)
        #expect(report.text.contains("a://1 → a://2 → a://1"))
        #expect(report.json.arrayValue?.count == report.findings.count)
    }

    @Test func `a wrong class and a wrong priority are named, and paths are compared as patterns`() throws {
        let router = Router()
        try router.register([
            Route("hd://a/:id", name: "A", priority: 1) { _ in .opened() },
            Route("hd://a/:id", name: "Low") { _ in .opened() },
            Route("hd://b", name: "B") { _ in .opened() }, Route("hd://c") { _ in .opened() },
            Route("hd://d", name: "D", priority: 5) { _ in .opened() },
        ])
        let report = router.check(declared: [
            RouteDescription(path: "hd://a/:id", className: "Low"),
            RouteDescription(path: "hd://a/:number/", className: "A", priority: 1),
            RouteDescription(path: "hd://b/", className: "Bee"),
            RouteDescription(path: "hd://c", className: "C"),
            RouteDescription(path: "hd://d", className: "D", priority: 4), RouteDescription(path: "hd://<"),
        ])
        #expect(
            report.findings(.wrongClass).map(\.detail) == [
                "hd://b/ is declared for Bee, but registered for B",
                "hd://c is declared for C, but registered without a class",
            ])
        #expect(
            report.findings(.wrongPriority).map(\.detail)
                == ["hd://d is declared with priority 4, but registered with 5"])
        #expect(report.findings(.declaredNotRegistered).map(\.subject) == ["hd://<"])
        #expect(report.findings(.unreachable).map(\.subject) == ["hd://a/:id"])
        #expect(report.findings.count == 5)
    }

    @Test func `the redirect of a registered page is listed and no mistake`() throws {
        let router = try recordingRouter(`Open a URL`.theRouter)
        try router.relocate([
            RelocationLayer(
                name: "agent",
                entries: [
                    RelocationEntry(
                        .replace(origin: "scheme://router/demo", target: "scheme://router/demo1"))
                ])
        ])
        let report = router.check()
        #expect(report.isClean)
        #expect(report.findings.map(\.kind) == [.redirected])
        #expect(report.json[0]?["mistake"] == .bool(false))
        #expect(report.text.contains("scheme://router/demo is not opened: a redirect leads to"))
    }

    @Test func `the scope of an interceptor that names no route is a mistake`() throws {
        let router = try recordingRouter([("hd://x", "X"), ("hd://y/:id", "Y"), ("hd://y/:id/z", "Z")])
        try router.intercept("good", scope: .patterns(["hd://x/", "hd://y/<number>"])) { _ in .proceed }
        try router.intercept("good", scope: .subtree("hd://y/7/**")) { _ in .proceed }
        try router.intercept("bad", scope: .patterns(["hd://y"])) { _ in .proceed }
        try router.intercept("bad", scope: .allBut(["HD://x", "hd://login"])) { _ in .proceed }
        try router.intercept("bad", scope: .subtree("hd://z/**")) { _ in .proceed }
        let report = router.check()
        #expect(report.findings.map(\.kind) == [.deadScope, .deadScope, .deadScope])
        #expect(report.findings.map(\.subject) == ["hd://login", "hd://y", "hd://z/"])
        #expect(report.findings.allSatisfy { $0.detail.contains("bad") })
    }

    @Test func `routes without a scheme beside others with one are told which schemes they open with`() throws
    {
        let routes = [RouteDescription(path: "user"), RouteDescription(path: "hd://x")]
        let report = Router.check(routes: routes)
        #expect(report.isClean)
        #expect(report.findings.map(\.kind) == [.limitedSchemes])
        #expect(report.findings.first?.subject == "hd")
        let configuration = RouterConfiguration(allowedSchemes: ["hd", "app"])
        #expect(Router.check(routes: routes, configuration: configuration).findings.isEmpty)
        #expect(Router.check(routes: [routes[0]]).findings.isEmpty)
    }
}
