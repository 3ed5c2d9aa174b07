import TestSupport
import Testing

@testable import Waypost

/// Redirects whose origin is a pattern, and exceptions to redirects.
@Suite(.patient) struct `Redirect patterns` {
    func plan(_ entries: [JSONValue], converters: [String: RouteConverter] = [:]) throws -> RelocationPlan {
        let layer = RelocationLayer(name: "agent", entries: try RelocationEntry.list(.array(entries)))
        return try RelocationPlan([layer], maximumHops: 8, converters: converters)
    }

    static func entry(_ origin: String, _ target: String, except: [String] = []) -> JSONValue {
        [
            "routerType": 1, "orginPath": .string(origin), "targetPath": .string(target),
            "except": .array(except.map(JSONValue.string)),
        ]
    }

    func hop(_ plan: RelocationPlan, _ url: String) throws -> String? {
        plan.hop(for: try RouteURL(url))?.url
    }

    static let hops: [(String, String, String, String?)] = [
        ("a://profile/:id", "a://user/:id", "a://profile/7?x=1#f", "a://user/7?x=1#f"),
        ("a://profile/:id", "a://user/:id", "a://profile/7/8", nil),
        ("a://profile/:id", "a://user/:id", "a://profile", nil),
        ("a://profile/:id", "a://user/:id", "b://profile/7", nil),
        ("a://profile/:id", "a://user/:id", "a://profile/a%2Fb%20%E4%BD%A0", "a://user/a%2Fb%20%E4%BD%A0"),
        ("a://profile/:id", "a://user/<id>", "A://profile/7/", "a://user/7"),
        ("a://p/:a/:b", "a://q/:b/:a", "a://p/1/2", "a://q/2/1"),
        ("a://p/<int:n>", "a://q/n-:n.html", "a://p/0042", "a://q/n-0042.html"),
        ("a://p/<int:n>", "a://q/:n", "a://p/x", nil),
        ("a://p/:name.html", "a://q/:name", "a://p/top.html", "a://q/top"),
        ("a://p/:id", "a://q?id=:id&tab=1", "a://p/a&b?tab=2&x=3", "a://q?id=a%26b&tab=1&x=3"),
        ("a://p/:id", "a://q?id=<id>", "a://p/7?id=8", "a://q?id=7"),
        ("a://p/:id", "a://q?id=id:id", "a://p/7", "a://q?id=id:id"),
        ("a://p/*", "a://q", "a://p/7?x", "a://q?x"),
        ("a://p/:a-:b.html", "a://q/:b-:a?page=:a", "a://p/x-y-z.html", "a://q/y-z-x?page=x"),
        ("a://p/<int:a>-<int:b>", "a://q/<b>/:a", "a://p/1-x", nil),
        ("a://p/*/z", "a://q", "a://p/7/z", "a://q"),
        ("a://p/:x/**", "a://q/**", "a://p/1/2%2F3/4", "a://q/2%2F3/4"),
        ("a://p/:x/<path:r>", "a://q/:x/z/<path:r>", "a://p/1/2/3", "a://q/1/z/2/3"),
        ("a://p/:x/**", "a://q?r=**", "a://p/1/2/3", "a://q?r=**"),
        ("a://p/:x/<path:r>", "a://q?r=:r", "a://p/1/2/3", "a://q?r=2/3"),
        // Without a scheme on both sides the scheme of the URL stays.
        ("/old/:id", "/new/:id", "a://old/7", "a://new/7"),
        ("/old/:id", "/new/:id", "/old/7", "/new/7"),
        ("/old/:id", "b://new/:id", "a://old/7", "b://new/7"),
        ("/old/**", "/new/**", "a://old/7/8?x=1", "a://new/7/8?x=1"),
        ("你/:名", "a://新/:名", "b://你/好", "a://新/%E5%A5%BD"),
        // An encoded mark is a literal.
        ("a://p/%3Aid", "a://q", "a://p/:id", "a://q"), ("a://p/%3Aid", "a://q", "a://p/7", nil),
        ("a://p/%2A", "a://q", "a://p/*", "a://q"), ("a://p/%2A", "a://q", "a://p/7", nil),
        ("a://h:8080/p", "a://q", "a://h/p", "a://q"), ("a://h:8080/:id", "a://q/:id", "a://h/p", "a://q/p"),
    ]

    @Test func `the text of an entry has all that decides where it applies`() {
        let entry = RelocationEntry(
            .replace(origin: "app://a/**", target: "app://b/**"), except: ["app://a/help", "app://a/x/**"],
            when: ["labels": ["region": "eu"]])
        #expect(
            entry.text
                == #"app://a/** → app://b/**, except app://a/help, app://a/x/**, when {"labels":{"region":"eu"}}"#
        )
    }

    @Test(arguments: hops)
    func `what the origin captures goes to the target`(
        origin: String, target: String, url: String, result: String?
    ) throws {
        #expect(try hop(plan([Self.entry(origin, target)]), url) == result)
    }

    static let refused: [(String, String, String)] = [
        ("a://p/:id", "a://q/:name", "targetPath"), ("a://p/:id", "a://q?x=:name", "targetPath"),
        ("a://p/:id", "a://q/*", "targetPath"), ("a://p/:id", "a://q/**", "targetPath"),
        ("a://p/*", "a://q/*", "targetPath"), ("a://p", "a://q/:id", "targetPath"),
        ("a://p", "a://q/*", "targetPath"), ("a://p/**", "a://q/:id/**", "targetPath"),
        ("a://p/:", "a://q", "orginPath"), ("a://p/<x", "a://q", "orginPath"),
        ("a://p/:a/:a", "a://q", "orginPath"), ("a://p/**/x", "a://q", "orginPath"),
        ("a://p/<none:x>", "a://q", "orginPath"), ("a://p/:id", "a://q/%00:id", "targetPath"),
        ("a://p/:id", "a://q?x=%00", "targetPath"), ("a://p/:id", "a://q?x=:id&y=\u{7f}", "targetPath"),
        ("a://p/:id", "a://q#\u{9b}", "targetPath"), ("a://p/:id", "a://q/:id#\u{1}", "targetPath"),
        (
            "a://" + Array(repeating: ":a", count: 1).joined() + String(repeating: "/x", count: 64), "a://q",
            "orginPath"
        ),
    ]

    @Test(arguments: refused)
    func `a placeholder that nothing fills refuses the map and is named`(
        origin: String, target: String, field: String
    ) {
        let error = #expect(throws: RelocationError.self) {
            try plan([["routerType": 3, "path": "a://ok"], Self.entry(origin, target)])
        }
        #expect(error?.code == .badField)
        #expect(error?.index == 1)
        #expect(error?.field == field)
    }

    @Test func `redirects are tried in the order of routes, whatever the order of the entries`() throws {
        let entries = [
            Self.entry("a://x/y/z", "a://t/literal"), Self.entry("a://x/v:n/z", "a://t/partial"),
            Self.entry("a://x/<int:n>/z", "a://t/typed"), Self.entry("a://x/:n/z", "a://t/placeholder"),
            Self.entry("a://x/*/w", "a://t/wildcard"), Self.entry("a://x/**", "a://t/rest/**"),
            Self.entry("a://:h/y/w", "a://t/host"), Self.entry("/x/y/:q", "a://t/any"),
        ]
        let expected = [
            "a://x/y/z": "a://t/literal", "a://x/v1/z": "a://t/partial", "a://x/1/z": "a://t/typed",
            "a://x/b/z": "a://t/placeholder", "a://x/b/w": "a://t/wildcard",
            "a://x/b/c/d": "a://t/rest/b/c/d",
            "a://x/b": "a://t/rest/b", "a://o/y/w": "a://t/host", "a://x/y/q": "a://t/any",
        ]
        var random = Seeded(13)
        for _ in 0..<20 {
            let plan = try plan(entries.shuffled(using: &random))
            for (url, target) in expected { #expect(try hop(plan, url) == target, "\(url)") }
        }
    }

    @Test func `an exception is left alone, and the next best redirect is tried`() throws {
        let plan = try plan([
            Self.entry(
                "a://old/**", "a://new/**", except: ["a://old/keep/**", "/old/login", "a://old/:x/mine"]),
            Self.entry("a://old/:id/mine", "a://me", except: ["a://old/7/mine"]),
            Self.entry("a://one", "a://two", except: ["a://one"]),
        ])
        #expect(try hop(plan, "a://old/a/b") == "a://new/a/b")
        #expect(try hop(plan, "a://old/keep/a") == nil)
        #expect(try hop(plan, "a://old/keep") == "a://new/keep")
        #expect(try hop(plan, "a://old/login") == nil)
        #expect(try hop(plan, "a://old/8/mine") == "a://me")
        #expect(try hop(plan, "a://old/7/mine") == nil)
        #expect(try hop(plan, "a://one") == nil)
    }

    @Test func `exceptions are read, written, limited, and only for redirects`() throws {
        let json = Self.entry("a://old/**", "a://new/**", except: ["a://old/keep"])
        #expect(try RelocationEntry(json).json == json)
        let bad: [JSONValue] = [
            "a://x", [1], [.null], ["a://x/:"],
            .array(Array(repeating: "a://x", count: RelocationEntry.maximumExceptions + 1)),
        ]
        for except in bad {
            let error = #expect(throws: RelocationError.self) {
                try RelocationEntry.list([
                    ["routerType": 1, "orginPath": "a://p", "targetPath": "a://q", "except": except]
                ])
            }
            #expect(error?.field == "except")
        }
        #expect(throws: RelocationError.self) {
            try RelocationEntry([
                "routerType": 3, "path": "a://p", "except": ["a://x"],
            ])
        }
    }

    @Test func `a reset below a redirect makes an exception, in any order`() throws {
        let entries = [
            Self.entry("a://old/**", "a://new/**"), Self.entry("a://user/:id", "a://person/:id"),
            ["routerType": 4, "orginPath": "a://old/deep/**"], ["routerType": 4, "orginPath": "a://old/x"],
            ["routerType": 4, "orginPath": "a://user/<int:id>", "targetPath": "a://user/<int:number>"],
            Self.entry("a://old/deep/y", "a://z"),
        ]
        for entries in [entries, entries.reversed()] {
            let plan = try plan(entries)
            #expect(try hop(plan, "a://old/a") == "a://new/a")
            #expect(try hop(plan, "a://old/x") == nil)
            #expect(try hop(plan, "a://old/x/y") == "a://new/x/y")
            #expect(try hop(plan, "a://old/deep/x") == nil)
            #expect(try hop(plan, "a://old/deep/y") == "a://z")
            #expect(try hop(plan, "a://user/7") == nil)
            #expect(try hop(plan, "a://user/x") == "a://person/x")
        }
    }

    @Test func `a later layer takes the place of an equal pattern, whatever its names`() throws {
        func layer(_ name: String, _ entries: [JSONValue]) throws -> RelocationLayer {
            RelocationLayer(name: name, entries: try RelocationEntry.list(.array(entries)))
        }
        let all = try layer(
            "@all", [Self.entry("a://p/:id", "a://q/:id"), Self.entry("a://s/**", "a://t/**")])
        let own = try layer(
            "agent", [Self.entry("a://p/:name", "a://r/:name"), Self.entry("a://s/<path:x>", "a://u/:x")])
        let plan = try RelocationPlan([all, own], maximumHops: 8)
        #expect(try hop(plan, "a://p/7") == "a://r/7")
        #expect(try hop(plan, "a://s/7/8") == "a://u/7/8")
        #expect(plan.redirects.count == 2)
        let reset = try layer("patch", [["routerType": 4, "orginPath": "a://p/<anything>"]])
        #expect(try hop(RelocationPlan([all, own, reset], maximumHops: 8), "a://p/7") == nil)
        let twice = #expect(throws: RelocationError.self) {
            try layer("agent", [Self.entry("a://p/:id", "a://q"), Self.entry("A://p/<name>", "a://q")])
        }
        #expect(twice?.detail.contains("entry 1") == true)
    }

    static let circles: [([(String, String)], Code)] = [
        ([("a://p/:id", "a://p/:id")], .cycle), ([("a://p/:a/:b", "a://p/:b/:a")], .cycle),
        ([("a://p/:a/:b", "a://p/:b/:a?x=1")], .cycle),
        ([("a://p/:id", "a://q/:id?x=1"), ("a://q/:id", "a://p/:id?x=2")], .cycle),
        ([("a://p/:id", "a://q/:id"), ("a://q/:name", "a://p/:name")], .cycle),
        ([("a://p/:id", "a://q"), ("a://q", "a://p/1")], .cycle),
        ([("a://p/:x/**", "a://p/:x/y/**")], .chain), ([("/x/**", "/x/x/**")], .chain),
        ((0..<9).map { ("a://\($0)/:id", "a://\($0 + 1)/:id") }, .chain),
    ]

    @Test(arguments: circles)
    func `circles and long chains of patterns are refused`(pairs: [(String, String)], code: Code) throws {
        let error = #expect(throws: RelocationError.self) {
            try plan(pairs.map { Self.entry($0.0, $0.1) })
        }
        #expect(error?.code == code)
        #expect(error?.detail.contains(" → ") == true)
        #expect(error?.layer == "agent")
    }

    @Test func `a circle that no sample finds ends the open with CYCLE`() async throws {
        let year = RouteConverter { $0.utf8.count == 4 ? Int64($0).map { .int($0) } : nil }
        let router = try recordingRouter(
            [("a://p/:id", "P"), ("a://q/:id", "Q")],
            configuration: RouterConfiguration(converters: ["year": year]))
        try router.relocate([
            RelocationLayer(
                name: "agent",
                entries: try RelocationEntry.list([
                    Self.entry("a://p/:id", "a://q/:id"), Self.entry("a://q/<year:id>", "a://p/:id"),
                ]))
        ])
        #expect(await router.open("a://p/x").route == "a://q/:id")
        #expect(await router.open("a://p/1999").code == .cycle)
        #expect(router.resolve("a://p/1999").error?.code == .cycle)
    }

    @Test func `a router with a converter of its own takes it in a map, another refuses it`() throws {
        let year = RouteConverter { $0.utf8.count == 4 ? Int64($0).map { .int($0) } : nil }
        let entries = [Self.entry("a://archive/<year:y>", "a://old/:y")]
        let plan = try plan(entries, converters: ["year": year])
        #expect(try hop(plan, "a://archive/1999") == "a://old/1999")
        #expect(try hop(plan, "a://archive/19") == nil)
        #expect(throws: RelocationError.self) { try self.plan(entries) }
    }

    @Test func `opens and resolves follow patterns, with allow-lists checked for each URL`() async throws {
        let router = try recordingRouter(
            [("a://user/:id", "User"), ("a://profile/:id", "Profile"), ("a://x/:h", "X")],
            configuration: RouterConfiguration(allowedHosts: ["user", "profile", "x"]))
        let report = try router.relocate([
            RelocationLayer(
                name: "agent",
                entries: try RelocationEntry.list([
                    Self.entry("a://profile/:id", "a://user/:id"), Self.entry("a://x/:h", "a://:h/9"),
                ]))
        ])
        #expect(report.inactive.isEmpty)
        let opening = await router.open("a://profile/7?tab=1", parameters: ["p": true])
        #expect(opening.route == "a://user/:id")
        #expect(opening.hops == ["a://user/7?tab=1"])
        #expect(opening.value?["params"] == ["id": "7", "tab": "1", "p": true])
        #expect(router.resolve("a://profile/7").url == "a://user/7")
        #expect(await router.open("a://x/user").route == "a://user/:id")
        #expect(await router.open("a://x/evil").code == .notAllowed)
    }

    @Test func `two thousand patterns are compiled in a moment, whatever their shape`() {
        let shapes: [[(String, String)]] = [
            (0..<2000).map { ("a://page/\($0)/:id", "a://other/\($0)/:id") },
            (0..<2000).map { ("a://\($0)/:id", "a://\($0 + 1)/:id") },
            (0..<250).flatMap { block in
                (0..<8).map { ("a://\(block)/\($0)/:id", "a://\(block)/\($0 + 1)/:id") }
            },
            (0..<2000).map { ("a://:a/\($0)/**", "a://:a/\(($0 + 1) % 2000)/**") },
        ]
        for shape in shapes {
            let time = processorTime { _ = try? plan(shape.map { Self.entry($0.0, $0.1) }) }
            #expect(time < .seconds(30))
        }
    }
}

extension RelocationPlan {
    /// The redirect of a plan without conditions.
    func hop(for url: RouteURL) -> Hop? {
        var decisions = [RelocationDecision]?.none
        var steps = RelocationSteps.ofOpen
        return hop(for: url, nil, &decisions, &steps)
    }
}
