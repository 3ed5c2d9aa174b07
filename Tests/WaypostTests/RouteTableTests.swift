import Testing

@testable import Waypost

@Suite struct RouteTableTests {
    static func table(_ patterns: [String], syntax: PatternSyntax = .init()) throws -> RouteTable {
        var table = RouteTable(syntax: syntax)
        for (index, pattern) in patterns.enumerated() {
            try table.add(table.pattern(pattern), index: UInt32(index))
        }
        return table
    }

    static func matches(_ table: RouteTable, _ url: String) throws -> [String] {
        try table.match(RouteURL(url)).map { $0.pattern }
    }

    static func parameters(_ table: RouteTable, _ url: String) throws -> [String: CapturedValue] {
        let first = try #require(try table.match(RouteURL(url)).first)
        return Dictionary(uniqueKeysWithValues: first.parameters.map { ($0.name, $0.value) })
    }

    @Test func `candidates come from literal to rest, then parents, then fallbacks`() throws {
        var table = try Self.table([
            "://", "s://", "**", "a/**", "a/*", "a/:x", "a/<double:d>", "a/<int:i>", "a/v:p", "a/v1",
            "s://a/v1",
        ])
        try table.add(RoutePattern("a"), takesDeeper: true, index: 100)
        #expect(
            try Self.matches(table, "s://a/v1")
                == ["s://a/v1", "a/v1", "a/v:p", "a/:x", "a/*", "a/**", "**", "a", "s://", "://"])
        #expect(
            try Self.matches(table, "s://a/7")
                == ["a/<int:i>", "a/<double:d>", "a/:x", "a/*", "a/**", "**", "a", "s://", "://"])
        #expect(try Self.matches(table, "t://b") == ["**", "://"])
        #expect(try Self.matches(table, "t://") == ["://"])
    }

    @Test func `a higher priority goes before everything else`() throws {
        var table = try Self.table(["a/b"])
        try table.add(RoutePattern("://"), priority: 9, index: 1)
        try table.add(RoutePattern("a/:x"), priority: 3, index: 2)
        #expect(try Self.matches(table, "a/b") == ["://", "a/:x", "a/b"])
    }

    @Test func `a literal that leads nowhere is left for a placeholder`() throws {
        let table = try Self.table(["a/b/c", "a/:x/d", ":y/b/e"])
        #expect(try Self.matches(table, "/a/b/d") == ["a/:x/d"])
        #expect(try Self.matches(table, "/a/b/e") == [":y/b/e"])
        #expect(try Self.matches(table, "/a/b/f") == [])
    }

    @Test func `parameters are decoded and converted`() throws {
        let table = try Self.table([
            "f/:name.html", "n/<int:n>/<bool:b>", "v<int:major>/x", "r/<path:rest>", "q/**", "s://:host/p",
        ])
        #expect(try Self.parameters(table, "f/a%2Fb.html") == ["name": .text("a/b")])
        #expect(try Self.parameters(table, "n/-5/TRUE") == ["n": .int(-5), "b": .bool(true)])
        #expect(try Self.parameters(table, "v12/x") == ["major": .int(12)])
        #expect(try Self.parameters(table, "r/a//%E4%B8%AD/") == ["rest": .text("a/中")])
        #expect(try Self.parameters(table, "q/a/b?x#y") == ["**": .text("a/b")])
        #expect(try Self.parameters(table, "S://u:p@h:80/p") == ["host": .text("h")])
    }

    @Test func `patterns that no URL can tell apart are a conflict that names both`() throws {
        var table = try Self.table(["/orders/:id"])
        let conflict = try #require(throws: RouteConflict.self) {
            try table.add(RoutePattern("/orders/<number>"), index: 1)
        }
        #expect(conflict.description == "insert /orders/<number>: already held by /orders/:id")
        #expect(try table.add(RoutePattern("/orders/:number"), index: 2, replacing: true) == 0)
        try table.add(RoutePattern("/orders/:other"), priority: 1, index: 3)
        #expect(try Self.matches(table, "orders/7") == ["/orders/:other", "/orders/:number"])
        #expect(try table.remove(RoutePattern("orders/:id")) == [])
        #expect(try table.remove(RoutePattern("orders/:other")) == [3])
        #expect(try Self.matches(table, "orders/7") == ["/orders/:number"])
    }

    @Test func `a changed copy leaves the original as it was`() throws {
        let table = try Self.table(
            (0..<3000).map { "/s\($0 % 50)/m\($0)/:id/a-long-literal-component-\($0)" })
        var copy = table
        #expect(try copy.remove(RoutePattern("/s7/m7/:id/a-long-literal-component-7")) == [7])
        try copy.add(RoutePattern("/new/:x"), index: 9)
        let url = "/s7/m7/5/a-long-literal-component-7"
        #expect(try Self.matches(table, url).count == 1)
        #expect(try Self.matches(copy, url) == [])
        #expect(try Self.matches(copy, "/new/1") == ["/new/:x"])
        #expect(try Self.matches(table, "/new/1") == [])
    }

    @Test func `a large table stays what it is when it is compacted`() throws {
        var table = RouteTable()
        let count: UInt32 = 6_000
        for index in 0..<count {
            try table.add(table.pattern("s://a\(index % 97)/\(index)/:id"), index: index)
        }
        let before = table
        table.compact()
        #expect(table.storage.deadBytes == 0)
        #expect(table.byteCount < before.byteCount)
        // A compacted table is changed page by page, as any other, and what shares its memory sees nothing.
        for index in stride(from: 0, to: count, by: 2) {
            try table.remove(table.pattern("s://a\(index % 97)/\(index)/:id"))
        }
        table.compact()
        for index in 0..<count {
            let url = try RouteURL("s://a\(index % 97)/\(index)/7")
            #expect(before.firstMatch(url)?.index == index)
            #expect(table.firstMatch(url)?.index == (index % 2 == 0 ? nil : index))
        }
    }

    @Test func `a small table frees the space that it had for growing`() throws {
        var table = RouteTable()
        for index in 0..<3000 as Range<UInt32> {
            try table.add(table.pattern("/a\(index)/:id"), index: index)
        }
        let before = table
        table.compact()
        #expect(table.byteCount < before.byteCount)
        #expect(table.byteCount < 3000 * 250)
        let lost = try (0..<3000 as Range<UInt32>).filter {
            try table.firstMatch(RouteURL("/a\($0)/7"))?.index != $0
        }
        #expect(lost.isEmpty)
    }

    // The host was one component more than the space for components, and all that followed it came behind that space.
    @Test(arguments: ["s://", "/"])
    func `a table of fallbacks reads no more of a URL with a port than it needs`(pattern: String) throws {
        let table = try Self.table([pattern, "://"])
        let url = try RouteURL("s://host:80" + String(repeating: "/a", count: 1_000))
        #expect(table.firstMatch(url)?.index == table.match(url).first?.index)
        #expect(table.firstMatch(url) != nil)
    }

    @Test func `the nearest patterns are what was probably meant`() throws {
        let table = try Self.table([
            "scheme://router/demo", "scheme://router/demo1", "scheme://router/:x/edit",
            "scheme://other/thing",
        ])
        #expect(
            try table.nearest(to: RouteURL("scheme://router/dmo")).first == "scheme://router/demo")
        #expect(try table.nearest(to: RouteURL("scheme://zzzzzzzzzzzzzz")) == [])
    }

    // Registered from the farthest to the nearest, so that no order is right by chance.
    @Test func `three patterns are named, the nearest first, each once, and none that is far away`() throws {
        let patterns = ["a://orders/stxyz", "a://orders/stxy", "a://orders/stx", "a://orders/st"]
        let table = try Self.table(patterns + ["a://somewhere/else/completely"])
        let url = try RouteURL("a://orders/s")
        #expect(table.nearest(to: url) == Array(patterns.reversed().prefix(3)))
        #expect(table.nearest(to: url, limit: 1) == ["a://orders/st"])
        #expect(table.nearest(to: url, limit: 9) == patterns.reversed())
        #expect(table.nearest(to: url, limit: 0) == [])
        // Half of the URL's letters and one may be others, and no more.
        let far = try Self.table(["a://abcdefghij", "a://abcdeXXXXX", "a://abcdXXXXXX", "a://abcXXXXXXX"])
        #expect(
            try far.nearest(to: RouteURL("a://abcdefghij"), limit: 9)
                == ["a://abcdefghij", "a://abcdeXXXXX", "a://abcdXXXXXX"])
    }
}
