import TestSupport
import Testing

@testable import Waypost

/// Redirects and entries without a router; what they do to opens is tested with the router.
@Suite struct `Read relocation entries` {
    static let good: [(JSONValue, RelocationEntry.Kind)] = [
        (
            ["routerType": 1, "targetPath": "scheme://router/demo1", "orginPath": "scheme://router/demo"],
            .replace(origin: "scheme://router/demo", target: "scheme://router/demo1")
        ),
        (
            [
                "routerType": 1, "targetPath": "b://x", "originPath": "a://x", "params": ["k": 1],
                "extra": true,
            ],
            .replace(origin: "a://x", target: "b://x")
        ),
        (
            ["routerType": 1, "targetPath": "b://x", "originPath": "a://x", "orginPath": "a://x"],
            .replace(origin: "a://x", target: "b://x")
        ),
        (
            [
                "routerType": 2, "className": "TheRouter_Example.TheRouterControllerC",
                "path": "scheme://router/demo33",
            ], .add(path: "scheme://router/demo33", className: "TheRouter_Example.TheRouterControllerC")
        ),
        (["routerType": 3, "path": "scheme://router/demo3"], .delete(path: "scheme://router/demo3")),
        (
            ["routerType": 4, "targetPath": "scheme://router/demo", "orginPath": "scheme://router/demo"],
            .reset(origin: "scheme://router/demo", target: "scheme://router/demo")
        ),
        (
            ["routerType": 4, "orginPath": "scheme://router/demo", "targetPath": .null],
            .reset(origin: "scheme://router/demo", target: nil)
        ),
    ]

    @Test(arguments: good)
    func `TheRouter's dictionaries are read and written`(json: JSONValue, kind: RelocationEntry.Kind) throws {
        let entry = try RelocationEntry(json)
        #expect(entry.kind == kind)
        #expect(try RelocationEntry(entry.json) == entry)
    }

    static let bad: [(JSONValue, String?)] = [
        (["routerType": "1", "targetPath": "b://x", "orginPath": "a://x"], "routerType"),
        (["routerType": 1.0, "targetPath": "b://x", "orginPath": "a://x"], "routerType"),
        (["routerType": 1.5, "targetPath": "b://x", "orginPath": "a://x"], "routerType"),
        (["routerType": .bool(true), "targetPath": "b://x", "orginPath": "a://x"], "routerType"),
        (["routerType": 0, "targetPath": "b://x", "orginPath": "a://x"], "routerType"),
        (["routerType": 5, "targetPath": "b://x", "orginPath": "a://x"], "routerType"),
        (["routerType": .null, "targetPath": "b://x", "orginPath": "a://x"], "routerType"),
        (["targetPath": "b://x", "orginPath": "a://x"], "routerType"),
        (["routerType": 1, "orginPath": "a://x"], "targetPath"),
        (["routerType": 1, "targetPath": "b://x"], "orginPath"),
        (["routerType": 1, "targetPath": 3, "orginPath": "a://x"], "targetPath"),
        (["routerType": 1, "targetPath": " ", "orginPath": "a://x"], "targetPath"),
        (
            ["routerType": 1, "targetPath": "b://x", "orginPath": "a://x", "originPath": "c://x"],
            "originPath"
        ),
        (["routerType": 2, "path": "a://x"], "className"),
        (["routerType": 2, "className": "X"], "path"),
        (["routerType": 3, "orginPath": "a://x"], "path"),
        (["routerType": 4], "orginPath"),
        (["routerType": 3, "path": "a://x", "params": [1]], "params"),
        (["routerType": 1, "targetPath": "b://x/**", "orginPath": "a://x"], "orginPath"),
        (["routerType": 1, "targetPath": "b://x", "orginPath": "a://x/**"], "targetPath"),
        (["routerType": 1, "targetPath": "b://x/%00", "orginPath": "a://x"], "targetPath"),
        ("text", nil),
    ]

    @Test(arguments: bad)
    func `a bad entry is refused naming its index and field`(json: JSONValue, field: String?) {
        let error = #expect(throws: RelocationError.self) {
            try RelocationEntry.list([["routerType": 3, "path": "a://ok"], json])
        }
        #expect(error?.code == .badField)
        #expect(error?.index == 1)
        #expect(error?.field == field)
    }

    @Test func `an origin occurs once in a document`() {
        let error = #expect(throws: RelocationError.self) {
            try RelocationEntry.list([
                ["routerType": 1, "orginPath": "a://x/%C3%A4", "targetPath": "a://y"],
                ["routerType": 4, "orginPath": "A://x//ä/"],
            ])
        }
        #expect(error?.index == 1)
        #expect(error?.detail.contains("entry 1") == true)
    }

    @Test func `a document has at most its number of entries, and may be one entry alone`() throws {
        let entry: JSONValue = ["routerType": 3, "path": "a://x"]
        #expect(try RelocationEntry.list(entry).count == 1)
        #expect(try RelocationEntry.list([entry, entry], maximum: 2).count == 2)
        let error = #expect(throws: RelocationError.self) {
            try RelocationEntry.list([entry, entry, entry], maximum: 2)
        }
        #expect(error?.code == .tooLarge)
        #expect(error?.code.number == 413)
        #expect(throws: RelocationError.self) { try RelocationEntry.list("x") }
    }
}

@Suite struct `Follow redirects` {
    func plan(_ pairs: [(String, String)], layers: Int = 1) throws -> RelocationPlan {
        let entries = pairs.map { RelocationEntry(.replace(origin: $0.0, target: $0.1)) }
        return try RelocationPlan([RelocationLayer(name: "agent", entries: entries)], maximumHops: 8)
    }

    func hop(_ plan: RelocationPlan, _ text: String) throws -> String? {
        plan.hop(for: try RouteURL(text))?.url
    }

    static let hops: [(String, String?)] = [
        ("scheme://router/demo", "scheme://router/demo1"),
        ("SCHEME://router/demo/", "scheme://router/demo1"),
        ("scheme://router/demo?desc=跳转", "scheme://router/demo1?desc=跳转"),
        ("scheme://router/demo?a=1&b#f", "scheme://router/demo1?a=1&b#f"),
        ("scheme://router/demo9", nil), ("scheme://router/demo/x", nil), ("scheme://router/Demo", nil),
        ("other://router/demo", nil),
        ("scheme://q?id=1&tab=9&x=2", "scheme://t?tab=5&id=1&x=2#top"),
        ("scheme://q#own", "scheme://t?tab=5#top"),
        ("scheme://old/a/b%2Fc?x=1", "scheme://new/tree/a/b%2Fc?x=1"),
        ("scheme://old", nil), ("scheme://old/deep/x", "scheme://deeper/x"),
        ("scheme://old/deep", "scheme://new/tree/deep"),
        ("scheme://old/exact", "scheme://one"),
        // What was found by libFuzzer.
        ("scheme://slash/a?q=1", "scheme://new/a?q=1"), ("scheme://encoded/a", "scheme://new/a"),
        ("scheme://mark?q=1#f", "scheme://t?\u{301}=1&q=1#\u{301}"),
        ("scheme://router/demo#\u{301}", "scheme://router/demo1#\u{301}"),
    ]

    @Test(arguments: hops)
    func `a redirect matches by component and the query goes along`(url: String, result: String?) throws {
        let plan = try plan([
            ("scheme://router/demo", "scheme://router/demo1"), ("scheme://q", "scheme://t?tab=5#top"),
            ("scheme://old/**", "scheme://new/tree/**"), ("scheme://old/deep/**", "scheme://deeper/**"),
            ("scheme://old/exact", "scheme://one"), ("scheme://slash/**", "scheme://new/**/"),
            ("scheme://encoded/**", "scheme://new/%2A%2A"),
            ("scheme://mark", "scheme://t?\u{301}=1#\u{301}"),
        ])
        #expect(try hop(plan, url) == result)
    }

    static let circles: [([(String, String)], String)] = [
        ([("a://x", "a://x")], "a://x → a://x"), ([("a://x", "A://x/#f")], "a://x"),
        ([("a://x", "a://x?")], "a://x"),
        ([("a://x", "a://y?q=1"), ("a://y", "a://x?q=2")], "a://x → a://y?q=*** → a://x?q=***"),
        ([("a://1", "a://2"), ("a://2", "a://3"), ("a://3", "a://1")], "a://1 → a://2 → a://3 → a://1"),
        ([("a://1", "a://2"), ("a://2", "a://3"), ("a://3", "a://2")], "a://2 → a://3 → a://2"),
        ([("a://x/**", "a://y/**"), ("a://y/**", "a://x/**")], "a://x/** → a://y/** → a://x/**"),
        ([("a://x/**", "a://y/**"), ("a://y/c", "a://x/c")], "a://y/c → a://x/c → a://y/c"),
        ((0..<20).map { ("a://\($0)", "a://\(($0 + 1) % 20)") }, "a://0 → a://1"),
    ]

    @Test(arguments: circles)
    func `a circle is refused with its whole path`(pairs: [(String, String)], path: String) {
        let error = #expect(throws: RelocationError.self) { try plan(pairs) }
        #expect(error?.code == .cycle)
        #expect(error?.detail.contains(path) == true)
        #expect(error?.layer == "agent")
        #expect(error?.index != nil)
    }

    @Test(arguments: ["", "/:id"])
    func `a redirect that adds parameters counts in a chain`(rest: String) throws {
        func chain(_ hops: Int) -> [(String, String)] {
            (9 - hops..<8).map { ("a://\($0)\(rest)", "a://\($0 + 1)\(rest)") }
                + [("a://8\(rest)", "a://8\(rest)?x=1")]
        }
        _ = try plan(chain(8))
        let error = #expect(throws: RelocationError.self) { try plan(chain(9)) }
        #expect(error?.code == .chain)
    }

    @Test func `eight hops are a chain and nine are refused`() throws {
        func chain(_ hops: Int) -> [(String, String)] { (0..<hops).map { ("a://\($0)", "a://\($0 + 1)") } }
        _ = try plan(chain(8))
        let error = #expect(throws: RelocationError.self) { try plan(chain(9)) }
        #expect(error?.code == .chain)
        let growing = #expect(throws: RelocationError.self) { try plan([("a://x/**", "a://x/y/**")]) }
        #expect(growing?.code == .chain)
    }

    @Test func `a later layer wins and a reset forgets an earlier one`() throws {
        let plan = try RelocationPlan(
            [
                RelocationLayer(
                    name: "@all",
                    entries: [
                        RelocationEntry(.replace(origin: "a://1", target: "a://2")),
                        RelocationEntry(.replace(origin: "a://5", target: "a://6")),
                        RelocationEntry(.add(path: "a://new", className: "X")),
                        RelocationEntry(.delete(path: "a://old")),
                    ]),
                RelocationLayer(
                    name: "agent",
                    entries: [
                        RelocationEntry(.replace(origin: "a://1", target: "a://3")),
                        RelocationEntry(.reset(origin: "a://5", target: nil)),
                        RelocationEntry(.reset(origin: "a://7", target: "a://8")),
                        RelocationEntry(.delete(path: "a://new")),
                        RelocationEntry(.add(path: "a://old", className: "Y")),
                    ]),
            ], maximumHops: 8)
        #expect(try hop(plan, "a://1") == "a://3")
        #expect(try hop(plan, "a://5") == nil)
        #expect(try hop(plan, "a://7") == "a://8")
        #expect(plan.additions.map(\.pattern) == ["a://old"])
        #expect(plan.deletions.map(\.pattern) == ["a://new"])
        #expect(plan.entries == 9)
    }

    static let adversaries: [String: [(String, String)]] = [
        "flat": (0..<2000).map { ("a://page/\($0)", "a://other/\($0)") },
        "one chain": (0..<2000).map { ("a://\($0)", "a://\($0 + 1)") },
        "one circle": (0..<2000).map { ("a://\($0)", "a://\(($0 + 1) % 2000)") },
        "full chains": (0..<250).flatMap { block in
            (0..<8).map { ("a://\(block)/\($0)", "a://\(block)/\($0 + 1)") }
        },
        "deep": (0..<2000).map {
            ("a://x/\($0)", "a://y/" + Array(repeating: "z", count: 60).joined(separator: "/"))
        },
        "growing": [("a://x/**", "a://x/x/**")] + (0..<1999).map { ("a://\($0)", "a://x/x") },
    ]

    private static let flat = Result { try min(timePerByte("flat"), timePerByte("flat")) }

    private static func timePerByte(_ shape: String) throws -> Duration {
        let pairs = try #require(adversaries[shape])
        let time = processorTime { _ = try? Self().plan(pairs) }
        return time / pairs.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count }
    }

    /// Beside a plain one, by the length of what is written: whatever the machine, ten times as long is another order.
    @Test(.serialized, arguments: adversaries.keys.sorted())
    func `two thousand entries are compiled in proportion to their length whatever their shape`(shape: String)
        throws
    {
        let limit = try Self.flat.get() * 10
        // What runs beside it may have slowed it down once.
        let isInProportion = try Self.timePerByte(shape) < limit || Self.timePerByte(shape) < limit
        #expect(isInProportion)
    }
}
