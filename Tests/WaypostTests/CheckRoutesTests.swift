import TestSupport
import Testing

@testable import Waypost
@testable import WaypostTools

@Suite(.patient) struct `Check routes` {
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

    private func redirects(_ pairs: [(String, String)]) -> [CheckReport.Finding] {
        let entries = pairs.map { RelocationEntry(.replace(origin: $0.0, target: $0.1)) }
        let routes = ["a://home", "a://end"].map { RouteDescription(path: $0) }
        return Router.check(routes: routes, layers: [RelocationLayer(name: "map", entries: entries)]).findings
    }

    @Test(arguments: [[], [("a://p/:id", "a://end")]])
    func `a circle and a long chain are one finding each, with their own numbers`(
        others: [(String, String)]
    ) {
        // An entry that leads into them gets no finding of its own; what is wrong behind them is found.
        let chain = (0..<12).map { ("a://c\($0)", $0 == 11 ? "a://end" : "a://c\($0 + 1)") }
        let circle = [("a://into", "a://x"), ("a://x", "a://y"), ("a://y", "a://x"), ("a://too", "a://into")]
        let findings = redirects(
            circle + chain + [("a://before", "a://c2")] + others + [
                ("a://z", "a://hoome"), ("a://ok", "a://home"),
            ])
        let dead = 18 + others.count
        #expect(findings.map(\.kind) == [.cycle, .cycle, .deadRedirect])
        #expect(findings.map(\.entrySubject) == ["a://x", "a://c0", "a://z"])
        #expect(findings[1].detail.hasPrefix("entry 5 of map (a://c0): there are "))
        #expect(findings.last?.detail == "entry \(dead) of map (a://z): no route matches a://hoome")
    }

    @Test func `two chains that end alike are both named`() {
        let end = (0..<6).map { ("a://e\($0)", $0 == 5 ? "a://end" : "a://e\($0 + 1)") }
        let starts = ["l", "r"].flatMap { side in
            (0..<3).map { ("a://\(side)\($0)", $0 == 2 ? "a://e0" : "a://\(side)\($0 + 1)") }
        }
        #expect(redirects(end + starts).map(\.entrySubject) == ["a://l0", "a://r0"])
    }

    @Test func `a reset is of something, in a layer below or inside a redirect of more`() {
        let below = RelocationLayer(
            name: "all",
            entries: [
                RelocationEntry(.replace(origin: "a://x", target: "a://home")),
                RelocationEntry(.replace(origin: "a://old/**", target: "a://new/**")),
            ])
        let above = RelocationLayer(
            name: "own",
            entries: ["a://x", "a://old/help", "a://nothing"].map {
                RelocationEntry(.reset(origin: $0, target: nil))
            } + [
                RelocationEntry(.add(path: "a://p", className: "C")), RelocationEntry(.delete(path: "a://p")),
            ])
        let routes = ["a://home", "a://p"].map { RouteDescription(path: $0, className: "C") }
        let findings = Router.check(routes: routes, layers: [below, above]).findings
        #expect(findings.map(\.kind) == [.deadReset, .overlap])
        #expect(findings.first?.detail.hasPrefix("entry 3 of own (a://nothing): nothing redirects ") == true)
        #expect(
            findings.last?.detail
                == "entry 5 of own (a://p): entry 4 is about the same path, and has no effect")
    }

    @Test func `a wrong class and a wrong priority are named, and paths are compared as patterns`() throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
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

    static let foreign: [(pattern: String, hint: String)] = [
        ("a://u/{id}", "{id} is plain text here; write a placeholder as :id"),
        ("a://u/{*rest}", "write a placeholder as <path:rest>"), ("a://u/x-{id}.html", "as :id"),
        ("a://u/[id]", "[id] is plain text here; write a placeholder as :id"),
        ("a://u/[...slug]", "<path:slug>"), ("a://u/[[...slug]]", "<path:slug>"),
        ("a://u/:id?", "the question mark in :id? begins the query here; write an optional part as (/:id)"),
        ("a://u/:id?/edit", "(/:id)"), ("a://u/:rest*", "<path:rest>"), ("a://u/:rest+", "<path:rest>"),
        ("a://u/*name", "*name is plain text here; match the rest with <path:name>"),
        (#"a://u/:id(\d+)"#, #"(\d+) is plain text here, not a regular expression; write <int:name> for a"#),
        (#"a://u/(\d+)"#, "<int:name>"), ("a://u/(.*)", "not a regular expression"),
        ("a://u/(a|b)", "<in(a|b):name>"),
    ]

    @Test(arguments: foreign)
    func `a pattern of another router gets a note`(pattern: String, hint: String) throws {
        let report = Router.check(routes: [RouteDescription(path: pattern, className: "U")])
        #expect(report.isClean)
        #expect(report.findings.map(\.kind) == [.foreignSyntax])
        #expect(report.text.contains("\(pattern) (class U): "))
        #expect(report.text.contains(hint), "\(report.text)")
        #expect(try recordingRouter([(pattern, "U")]).check().findings.map(\.kind) == [.foreignSyntax])
        let entry = RelocationEntry(.replace(origin: pattern, target: "a://x"))
        let layers = [RelocationLayer(name: "agent", entries: [entry])]
        let map = Router.check(routes: [RouteDescription(path: "a://x")], layers: layers)
        // An origin with a placeholder is read as a pattern, and some of these are none.
        if map.findings(.refused).isEmpty { #expect(map.findings(.deadOrigin).count == 1, "\(map.text)") }
    }

    @Test(arguments: ["a://u/{id:[0-9]+}/x", "a://u/:(\\d+)"])
    func `a pattern of another router that is none of ours says how it is written here`(pattern: String) {
        let report = Router.check(routes: [RouteDescription(path: pattern)])
        #expect(report.findings.map(\.kind) == [.badPattern])
        #expect(report.text.contains(" is plain text here"), "\(report.text)")
    }

    @Test(arguments: [
        "a://u/:id(/edit)", "a://u/<in(red|blue):color>", "a://u/<int(1..99):n>", "a://wiki/Foo_(bar)",
        "a://u/**",
        "a://u/*", "a://u/:id?page=:page", "a://u/:from-:to", "a://u/%7Bid%7D", "a://u/v1.0", "a://C++",
        "a://u/a[1]",
        "a://u/:a(/:b(/:c))",
    ])
    func `a pattern of our own gets none`(pattern: String) {
        #expect(Router.check(routes: [RouteDescription(path: pattern)]).findings.isEmpty)
    }

    @Test func `a wildcard in a dialect without wildcards gets a note`() {
        let configuration = RouterConfiguration(dialect: .theRouter)
        let report = Router.check(routes: [RouteDescription(path: "a://u/**")], configuration: configuration)
        #expect(report.findings.map(\.kind) == [.foreignSyntax])
    }

    @Test(arguments: [
        "a://cafe\u{301}/:name", "a://cafe%CC%81/:name", "a://caf\u{e9}/:id", "a://caf%C3%A9/:id",
    ])
    func `routes and entries that look alike get a note`(pattern: String) throws {
        // The first in the other form.
        let isComposed =
            pattern.utf8.starts(with: "a://caf".utf8) && !pattern.utf8.starts(with: "a://cafe".utf8)
        let twin = isComposed ? "a://cafe\u{301}/:id" : "a://caf\u{e9}/:id"
        let routes = [twin, pattern, "a://other"].map { RouteDescription(path: $0, className: "C") }
        let report = Router.check(routes: routes)
        #expect(report.isClean)
        #expect(report.findings.map(\.kind) == [.lookAlike], "\(report.text)")
        #expect(report.text.contains("a://caf%C3%A9/:") && report.text.contains("a://cafe%CC%81/:"))

        let entries = [
            RelocationEntry(.replace(origin: twin, target: "a://other")),
            RelocationEntry(.delete(path: twin)),
        ]
        let map = Router.check(
            routes: [routes[1], routes[2]], layers: [RelocationLayer(name: "agent", entries: entries)])
        #expect(map.findings(.lookAlike).count == 2, "\(map.text)")
        #expect(map.text.contains("entry 1 of agent (\(twin)): it does not match "))
    }

    @Test(
        arguments: [
            0x7, 0x85, 0xA0, 0xAD, 0x34F, 0x61C, 0x115F, 0x1680, 0x180E, 0x200B, 0x200D, 0x2028, 0x2029,
            0x202E, 0x2060,
            0x2800, 0x3000, 0x3164, 0xFDD0, 0xFE0F, 0xFEFF, 0xFFA0, 0x1D173, 0x1FFFF, 0xE0041, 0xE0100,
        ] as [UInt32])
    func `a name, pattern or URL with a character that no one sees is a mistake, wherever it stands`(
        number: UInt32
    ) throws {
        let odd = "x\(Character(try #require(Unicode.Scalar(number))))y"
        let routes = ["a://home", "a://\(odd)"].map { RouteDescription(path: $0, className: "C") }
        let report = Router.check(routes: routes + [RouteDescription(path: "a://d", className: odd)])
        // A control character is no pattern at all.
        let found = report.findings(.unseenCharacter) + report.findings(.badPattern)
        #expect(found.count == 2 && !report.isClean, "\(report.text)")

        let home = "a://home"
        let entries = [
            ("orginPath", RelocationEntry(.replace(origin: "a://\(odd)", target: home))),
            ("orginPath", RelocationEntry(.reset(origin: "a://r\(odd)", target: nil))),
            ("targetPath", RelocationEntry(.replace(origin: "a://t", target: "a://\(odd)"))),
            ("path", RelocationEntry(.add(path: "a://n\(odd)", className: "C"))),
            ("className", RelocationEntry(.add(path: "a://n", className: odd))),
            ("path", RelocationEntry(.delete(path: "a://\(odd)"))),
            (
                "except",
                RelocationEntry(.replace(origin: "a://e/:id", target: home), except: ["a://e/\(odd)"])
            ),
            ("params", RelocationEntry(.replace(origin: "a://p", target: home), params: [odd: 1])),
            ("when", RelocationEntry(.replace(origin: "a://w", target: home), when: ["group": .string(odd)])),
        ]
        for (field, entry) in entries {
            let map = Router.check(
                routes: routes, layers: [RelocationLayer(name: "agent", entries: [entry])])
            let found = map.findings(.unseenCharacter)
            #expect(found.contains { $0.detail.contains("\(field): it has U+") }, "\(field): \(map.text)")
        }
    }

    @Test func `an emoji of several characters can be seen`() {
        let routes = [RouteDescription(path: "a://👩‍👧/❤️", className: "Family")]
        #expect(Router.check(routes: routes).isClean)
    }

    @Test func `two routes of one pattern are named with their classes`() {
        let same = [("A", 0), ("B", 0), ("C", 1)].map {
            RouteDescription(path: "a://x/:id", className: $0.0, priority: $0.1)
        }
        let report = Router.check(routes: same)
        #expect(
            report.findings.map(\.detail) == [
                "a://x/:id (class A) is never opened: a://x/:id (class C) is tried first",
                "a://x/:id (class B): already held by a://x/:id (class A)",
            ])
    }

    @Test(arguments: [
        ("app://web", "app://web", true), ("app://web/:page", "app://web/home", true),
        ("app://", "app://web", true), ("app://web", "app://Web", false),
        ("app://web", "no url\u{7F}", false),
    ])
    func `a web path that no route takes is found`(route: String, webPath: String, isTaken: Bool) async throws
    {
        let configuration = RouterConfiguration(webPath: RouteKey(webPath))
        let report = Router.check(routes: [RouteDescription(path: route)], configuration: configuration)
        #expect(report.findings.map(\.kind.rawValue) == (isTaken ? [] : ["deadWebPath"]))
        #expect(report.isClean == isTaken)
        let router = try recordingRouter([(route, "Web")], configuration: configuration)
        #expect(router.check().findings == report.findings)
        // It says what an open does.
        #expect(await router.open("https://example.com/").isSuccess == isTaken)
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
