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
        #expect(Set(report.findings(.unreachable).map(\.subject)) == ["a://high/page", "a://home"])
        #expect(Set(report.findings(.deadRedirect).map(\.subject)).isSuperset(of: ["a://dead", "a://3"]))
        #expect(report.findings(.unknownClass).map(\.subject) == ["Unknown"])
        #expect(report.findings(.deadDeletion).map(\.subject) == ["a://absent"])
        #expect(report.findings(.cycle).count == 1)
        #expect(report.findings(.refused).count == 1)
        #expect(report.text.contains("a://1 → a://2 → a://1"))
        #expect(report.json.arrayValue?.count == report.findings.count)
    }
}
