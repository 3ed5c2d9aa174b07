import Testing

@testable import Waypost

@Suite struct `Several placeholders in a component` {
    static let captures: [(String, String, [String]?)] = [
        (":from-:to", "a-b", ["a", "b"]), (":from-:to", "a-b-c", ["a", "b-c"]),
        (":from-:to", "-a-b", ["-a", "b"]), (":from-:to", "---", ["-", "-"]), (":from-:to", "--", nil),
        (":from-:to", "a-", nil), (":from-:to", "-b", nil), (":from-:to", "ab", nil),
        ("<int:a>-<int:b>", "-5--3", ["-5", "-3"]), ("<int:a>-<int:b>", "1-2-3", nil),
        ("<int:y>-<int:m>-<int:d>", "2026-11-22", ["2026", "11", "22"]),
        ("x:a.:b.html", "x1.2.html", ["1", "2"]), ("x:a.:b.html", "x1.html", nil),
        ("x:a.:b.html", "x.1.html", nil), (":a-:b", "%61%2D%62", ["a", "b"]),
        ("<a>直<b>", "中直文", ["中", "文"]), ("<a>直<b>", "%E4%B8%AD%E7%9B%B4%E6%96%87", ["中", "文"]),
        ("<a>ab<b>", "aabab", ["a", "ab"]), ("<a>aab<b>c", "aaaabxc", ["aa", "x"]),
        ("<int(1..12):m>.<in(red|blue):c>", "12.red", ["12", "red"]),
        ("<int(1..12):m>.<in(red|blue):c>", "13.red", nil), ("<int(1..12):m>.<in(red|blue):c>", "1.Red", nil),
    ]

    @Test(arguments: captures)
    func `take as little as they can from the left, and the last what is left`(
        pattern: String, component: String, captured: [String]?
    ) throws {
        let table = try RouteTableTests.table(["s://h/" + pattern + "/end"])
        let url = try RouteURL("s://h/\(component)/end")
        let match = try #require(table.match(url).first.map { $0.parameters.map(\.text) } ?? [] as [String]?)
        #expect(match == captured ?? [])
    }

    @Test
    func `come in one order: more literal bytes, a longer beginning, more placeholders, text, converters`()
        throws
    {
        let order = [
            "<a>--<b>-x", "<a>-<b>-<c>-<d>", "x-:a", "x:a", "<a>-<int:b>", "<a>-<b>", "<a>2<b>", "<a>x",
            "<int:n>",
            ":any",
        ]
        var random = Seeded(7)
        for _ in 0..<5 {
            let table = try RouteTableTests.table(order.shuffled(using: &random))
            #expect(try RouteTableTests.matches(table, "a--2-3-x").first == "<a>--<b>-x")
            #expect(
                try RouteTableTests.matches(table, "x-2-3-4") == [
                    "<a>-<b>-<c>-<d>", "x-:a", "x:a", "<a>-<b>", "<a>2<b>", ":any",
                ])
            #expect(
                try RouteTableTests.matches(table, "y-2") == ["<a>-<int:b>", "<a>-<b>", ":any"])
        }
    }

    @Test func `give typed values, and what takes the same is in conflict`() throws {
        var table = try RouteTableTests.table(["cal/<int:y>-<int:m>-<int:d>", "trip/:from-:to"])
        #expect(
            try RouteTableTests.parameters(table, "cal/2026-11-22") == [
                "y": .int(2026), "m": .int(11), "d": .int(22),
            ])
        #expect(throws: RouteConflict.self) { try table.add(RoutePattern("trip/<a>%2D:b"), index: 9) }
        for other in ["trip/:from_:to", "trip/:from-<int:to>", "trip/:from--:to"] {
            try table.add(RoutePattern(other), index: 9)
        }
        #expect(try table.remove(RoutePattern("trip/:from-:till")) == [])
        #expect(try table.remove(RoutePattern("trip/:from-:to")) == [1])
        #expect(try RouteTableTests.matches(table, "trip/a-b") == [])
        #expect(try RouteTableTests.matches(table, "trip/a--b") == ["trip/:from--:to"])
    }

    @Test func `stay what they are when the table is compacted and its texts are moved`() throws {
        var table = RouteTable()
        let pattern = try RoutePattern("/trip/:from-:to.<int:page>")
        try table.add(pattern, index: 1)
        for index in 0..<5_000 {
            let other = try RoutePattern(
                "/a-component-of-some-length-\(index)/:x\(index)-and-some-more-text-:y")
            try table.add(other, index: 2)
            #expect(table.remove(other) == [2])
        }
        #expect(table.byteCount < 1_000_000)
        table.compact()
        let parameters = try #require(table.match(RouteURL("/trip/a-b.7")).first).parameters
        #expect(parameters.map(\.value) == [.text("a"), .text("b"), .int(7)])
        #expect(table.remove(pattern) == [1])
        #expect(table.storage.nodes[TableSeed.root]?.isEmpty == true)
    }

    @Test func `cost time in proportion to the component, however it is made`() throws {
        let literal = String(repeating: "a", count: 4000) + "b"
        let holes = (1..<RoutePattern.maximumPlaceholders).map { "<p\($0)>a" }.joined() + "<last>"
        let table = try RouteTableTests.table(["x/<a>\(literal)<b>", "y/\(holes)"])
        let many = String(repeating: "a", count: 200_000)
        #expect(try RouteTableTests.matches(table, "x/" + many) == [])
        #expect(try RouteTableTests.matches(table, "y/" + many) == ["y/\(holes)"])
        let captured = try #require(table.match(RouteURL("x/\(many)b!")).first).parameters.map(
            \.text.utf8.count)
        #expect(captured == [196_000, 1])
    }

    @Test func `build URLs that give the values back`() throws {
        let trip = try RouteDescriptor("hd://trip/:from-:to")
        #expect(trip.names == ["from", "to"])
        #expect(try trip.url(for: ["from": "a b", "to": "c-d"]) == "hd://trip/a%20b-c-d")
        // It would be read as another: from `a` to `b-c`.
        let error = #expect(throws: RouteGenerationError.self) { try trip.url(values: ["a-b", "c"]) }
        #expect(error == .unfit(name: "from", value: "a-b", pattern: "hd://trip/:from-:to"))
    }
}
