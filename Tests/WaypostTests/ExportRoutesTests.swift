import Testing

@testable import Waypost
@testable import WaypostTools

@Suite struct `Export routes` {
    let routes = [
        RouteDescription(
            path: "scheme://router/demo", className: "TheRouter_Example.TheRouterController", priority: 1000),
        RouteDescription(path: "scheme://router/user/:id", className: "A|B<C>&\"D\"", kind: .action),
        RouteDescription(path: "scheme://"), RouteDescription(path: "ky://search/直播"),
        RouteDescription(path: "scheme://router/user/<int:id>"), RouteDescription(path: "a://switch"),
        RouteDescription(path: "a://9/x-y/**?q=1"),
        RouteDescription(
            path: "a://with", metadata: ["auth": true, "roles": ["a", 1, 1.5, ["<": .null]]],
            defaults: ["page": 1]),
    ]

    @Test func `the JSON is TheRouter's and is read again`() throws {
        let text = RouteExport(routes: routes).text(.json)
        let json = try JSONValue(parsing: text)
        #expect(
            json[0]
                == [
                    "path": "scheme://router/demo", "class": "TheRouter_Example.TheRouterController",
                    "priority": 1000, "kind": "page",
                ])
        #expect(try RouteDescription.list(json) == routes)
        #expect(
            try RouteDescription.list([["path": "a://x", "className": "X", "priority": "5"]])
                == [RouteDescription(path: "a://x", className: "X", priority: 5)])
    }

    static let bad: [(JSONValue, String?)] = [
        ([["class": "X"]], "path"), ([["path": 5]], "path"),
        ([["path": "a://x", "priority": 1.5]], "priority"),
        ([["path": "a://x", "priority": "x"]], "priority"), ([["path": "a://x", "metadata": 1]], "metadata"),
        ([["path": "a://x", "defaults": []]], "defaults"), ([["path": "a://x", "kind": "odd"]], "kind"),
        ([5], nil), (.object([:]), nil),
    ]

    @Test(arguments: bad)
    func `a list that is not one is refused naming the field`(json: JSONValue, field: String?) {
        let error = #expect(throws: RouteImportError.self) { try RouteDescription.list(json) }
        #expect(error?.field == field)
    }

    @Test func `the property list escapes what XML would read`() {
        let text = RouteExport(routes: routes).text(.plist)
        #expect(text.contains("<string>A|B&lt;C&gt;&amp;\"D\"</string>"))
        #expect(text.contains("<key>priority</key>\n\t\t<integer>1000</integer>"))
        #expect(text.hasSuffix("</array>\n</plist>\n"))
    }

    @Test func `the table and the graph show routes and redirects`() throws {
        let router = try recordingRouter(`Open a URL`.theRouter)
        try router.relocate([
            RelocationLayer(
                name: "agent",
                entries: [
                    RelocationEntry(.replace(origin: "scheme://router/demo", target: "scheme://router/demo1"))
                ])
        ])
        let markdown = router.export.text(.markdown)
        #expect(
            markdown.contains(
                "| `scheme://router/demo` | `TheRouter_Example.TheRouterController` | 0 | page |"))
        #expect(markdown.contains("| `scheme://router/demo` | `scheme://router/demo1` |"))
        let dot = router.export.text(.dot)
        #expect(dot.contains("\"scheme://router/demo\" -> \"scheme://router/demo1\" [style=dashed"))
        #expect(RouteExport(routes: routes).text(.markdown).contains("`A\\|B<C>&\"D\"`"))
        #expect(RouteExport(routes: routes).text(.dot).contains("A|B<C>&\\\"D\\\""))
    }

    @Test func `the constants are Swift and each has its own name`() {
        let text = RouteExport(routes: routes).text(.swift)
        let names = [
            "routerDemo: RouteKey = \"scheme://router/demo\"", "routerUserById: RouteKey",
            "fallback: RouteKey",
            "search直播: RouteKey", "routerUserById2: RouteKey", "`switch`: RouteKey", "_9XYRest: RouteKey",
        ]
        for name in names { #expect(text.contains("public static let \(name)")) }
        #expect(text.contains("/// TheRouter_Example.TheRouterController"))
        for (path, name) in [
            ("a://trip/:from-:to", "tripByFromTo"),
            ("a://day/<int:y>-<int:m>(/:hour(/all))", "dayByYMByHourAll"),
        ] {
            #expect(SwiftConstants.name(path) == name)
        }
    }

    @Test func `what look-up depends on is exported and read again`() throws {
        let year = RouteConverter { text in text.count == 4 ? Int64(text).map { .int($0) } : nil }
        let live = Router(
            configuration: RouterConfiguration(converters: ["year": year], registersLinked: false))
        try live.register("a://docs", takesDeeper: true, idempotent: true) { _ in .opened() }
        try live.register("a://moved", redirect: { _ in nil }, handler: { _ in .opened() })
        try live.register("a://news/<year:y>") { _ in .opened() }
        try live.register("a://news/<int:n>") { _ in .opened() }
        let json = try JSONValue(parsing: live.export.text(.json))
        #expect(try RouteDescription.list(json) == live.routes)
        #expect(live.routes.map(\.converters) == [[], [], [], ["year"]])
        #expect(json[0]?["takesDeeper"] == true)
        #expect(
            json[1] == ["path": "a://moved", "class": "", "priority": 0, "kind": "page", "redirects": true])
        #expect(live.export.text(.plist).contains("<key>takesDeeper</key>\n\t\t<true/>"))
        // Offline, without the converter.
        let offline = Router(configuration: RouterConfiguration(registersLinked: false))
        let known = live.routes.filter { $0.missingConverter(offline.configuration) == nil }
        #expect(known.count == 3)
        try offline.register(known.map { Route($0) { _ in .opened() } })
        for url in ["a://docs/deep/er", "a://moved", "a://news/12", "a://none"] {
            #expect(offline.resolve(url).route == live.resolve(url).route, "\(url)")
            #expect(offline.resolve(url).idempotent == live.resolve(url).idempotent, "\(url)")
        }
        let report = Router.check(routes: live.routes)
        #expect(report.findings.map(\.kind) == [.unknownConverter])
        #expect(report.isClean)
        #expect(throws: RouteImportError.self) {
            try RouteDescription.list([["path": "a://x", "redirects": 1]])
        }
        #expect(throws: RouteImportError.self) {
            try RouteDescription.list([["path": "a://x", "converters": [1]]])
        }
    }
}
