import Testing

@testable import Waypost

@Suite struct RoutePatternTests {
    typealias Segment = RoutePattern.Segment

    @Test(
        arguments: [
            ("demo", nil, [.literal("demo")]),
            (" Scheme://router/demo/ ", "scheme", [.literal("router"), .literal("demo")]),
            ("/a/:id/<name>", nil, [.literal("a"), .placeholder(name: "id"), .placeholder(name: "name")]),
            (
                "<int:n>/<uuid:u>", nil,
                [.typed(name: "n", converter: "int"), .typed(name: "u", converter: "uuid")]
            ),
            (":name.html", nil, [.partial(prefix: "", name: "name", suffix: ".html", converter: nil)]),
            ("v:major", nil, [.partial(prefix: "v", name: "major", suffix: "", converter: nil)]),
            ("v<int:n>x", nil, [.partial(prefix: "v", name: "n", suffix: "x", converter: "int")]),
            (
                ":from-:to", nil,
                [
                    .several(
                        prefix: "",
                        [
                            .init(name: "from", converter: nil, suffix: "-"),
                            .init(name: "to", converter: nil, suffix: ""),
                        ])
                ]
            ),
            (
                "%3A:a_b_<int(1..9):n>%2D%2d<c>.html", nil,
                [
                    .several(
                        prefix: ":",
                        [
                            .init(name: "a_b", converter: nil, suffix: "_"),
                            .init(name: "n", converter: "int(1..9)", suffix: "--"),
                            .init(name: "c", converter: nil, suffix: ".html"),
                        ])
                ]
            ),
            ("a/*/**", nil, [.literal("a"), .wildcard, .rest(name: "**")]),
            ("<path:rest>", nil, [.rest(name: "rest")]),
            ("s://u@host:80/a?x=:y#z", "s", [.literal("host"), .literal("a")]),
            ("s://:tenant/a", "s", [.placeholder(name: "tenant"), .literal("a")]),
            ("%3Aid/%2a/%E4%B8%AD/中", nil, [.literal(":id"), .literal("*"), .literal("中"), .literal("中")]),
            ("s://", "s", []), ("://", nil, []), ("/", nil, []),
            ("a*b/***", nil, [.literal("a*b"), .literal("***")]),
            (":user-id/:名", nil, [.placeholder(name: "user-id"), .placeholder(name: "名")]),
        ] as [(String, String?, [Segment])])
    func `patterns are read`(text: String, scheme: String?, segments: [Segment]) throws {
        let pattern = try RoutePattern(text)
        #expect(pattern.scheme == scheme)
        #expect(pattern.segments == segments)
        #expect(pattern.isFallback == (text == "s://" || text == "://"))
    }

    @Test(
        arguments: [
            ("", 0, .empty), ("a/:", 2, .missingName), ("a/<>", 2, .missingName),
            ("a/<int:>", 2, .missingName),
            ("a:/b", 1, .missingName), (":id/b/:id", 7, .repeatedName("id")), ("**/a", 0, .misplacedRest),
            ("a<path:x>", 1, .misplacedRest), ("<path:x>/a", 0, .misplacedRest),
            ("a/<id", 2, .malformedPlaceholder),
            ("<a:b:c>", 4, .malformedPlaceholder), ("<year:y>", 1, .unknownConverter("year")),
            (":a:b", 2, .adjacentPlaceholders), ("<a><b>", 3, .adjacentPlaceholders),
            ("x/:a-:b<c>", 7, .adjacentPlaceholders), (":-:b", 0, .missingName),
            (":a-:a", 4, .repeatedName("a")), (":a-:b/:c-:a", 10, .repeatedName("a")),
            ("x/:a-<path:r>", 5, .misplacedRest), ("<path:r>-:a", 0, .misplacedRest),
            (":a-<b", 3, .malformedPlaceholder), (":a-<nope:b>", 4, .unknownConverter("nope")),
            (":a%E4:b", 5, .invalidUTF8), ("a(/b", 1, .malformedOptional), ("a(/)", 1, .malformedOptional),
            ("(/a)", 0, .malformedOptional), ("s://(/a)", 4, .malformedOptional),
            ("/(/a)", 1, .malformedOptional), ("a(/b)/c", 5, .malformedOptional),
            ("a(/b)(/c)", 5, .malformedOptional), ("a(/b)x?y", 5, .malformedOptional),
            ("a(/b))", 5, .malformedOptional), ("a(/b(/c)", 1, .malformedOptional),
            ("a(/b(c(/d)))", 6, .malformedOptional), ("a(/(/b))", 1, .malformedOptional),
            (" a(/b(/c(/d(/e(/f)))))", 14, .tooManyOptionals), ("a(/:x(/:x))", 8, .repeatedName("x")),
            ("a/**(/b)", 2, .misplacedRest), ("a(/..)", 3, .dotComponent), ("a(/:)", 3, .missingName),
            ((0...16).map { ":p\($0)-" }.joined(), 16 * 4 + 6, .tooManyPlaceholders),
            ("a/../b", 2, .dotComponent), ("a/%2e", 2, .dotComponent),
            ("a\u{7}", 1, .controlCharacter), ("a/%00", 2, .controlCharacter), ("a/%ff", 2, .invalidUTF8),
            ("1://a", 0, .invalidScheme), ("://a", 0, .invalidScheme), (" a/:", 3, .missingName),
            (String(repeating: "a/", count: 129), 256, .tooManyComponents),
            (String(repeating: "a", count: 16_385), 16_384, .tooLong), ("a%E4:b", 4, .invalidUTF8),
        ] as [(String, Int, RoutePatternError.Reason)])
    func `what is no pattern is refused with the offset`(
        text: String, offset: Int, reason: RoutePatternError.Reason
    ) {
        let expected = RoutePatternError(pattern: text, offset: offset, reason: reason)
        #expect(throws: expected) { try RoutePattern(text) }
    }

    @Test(arguments: [
        ("a(b)/c", ["a(b)", "c"], []), ("a(/(x)y)", ["a", "(x)y"], [1]), ("s://h:80(/x)", ["h", "x"], [1]),
        ("a/(/b)", ["a", "b"], [1]), ("a(//b/)", ["a", "b"], [1]),
        ("a/b(/c/d(/e))#(/", ["a", "b", "c", "d", "e"], [2, 4]),
        ("a%28/b", ["a(", "b"], []), ("a(/b(/c(/d(/e))))", ["a", "b", "c", "d", "e"], [1, 2, 3, 4]),
    ])
    func `optional parts are whole components at the end, and other parentheses are literals`(
        text: String, literals: [String], cuts: [Int]
    ) throws {
        let pattern = try RoutePattern(text)
        #expect(pattern.segments == literals.map { .literal($0) })
        #expect(pattern.optional.pieces == cuts)
        #expect(pattern.rows.map(\.segments.count) == [literals.count] + cuts.reversed())
    }

    @Test func `patterns are equal when they say the same`() throws {
        #expect(try RoutePattern("/a(/:id)") == RoutePattern("a/(/<id>)"))
        #expect(try RoutePattern("/a(/:id)") != RoutePattern("a/:id"))
        #expect(try RoutePattern("/a(/b(/c))") != RoutePattern("a(/b/c)"))
        #expect(try RoutePattern("/a/:x(/<in(a|b):y>/z(/:v))").optionalNames == ["y", "v"])
        #expect(try RoutePattern("/a/:id") == RoutePattern("a//<id>/?x"))
        #expect(try RoutePattern("/a/:id") != RoutePattern("/a/:x"))
        #expect(try RoutePattern("S://a") == RoutePattern("s://a"))
        #expect(try RoutePattern("/") != RoutePattern("://"))
        #expect(try RoutePattern("/a/:id").placeholderNames == ["id"])
    }

    @Test func `in TheRouter's syntax a star is a literal`() throws {
        let table = try RouteTableTests.table(["a/*", "a/**/b"], syntax: PatternSyntax(wildcards: false))
        #expect(try RouteTableTests.matches(table, "a/x") == [])
        #expect(try RouteTableTests.matches(table, "a/*") == ["a/*"])
        #expect(try RouteTableTests.matches(table, "a/**/b") == ["a/**/b"])
    }

    @Test func `under a fixed host keys are paths, with or without a slash in front`() throws {
        let table = try RouteTableTests.table(
            ["user/profile", "/chat", "/"], syntax: PatternSyntax(host: "phoenix.com"))
        #expect(try RouteTableTests.matches(table, "any://phoenix.com/user/profile") == ["user/profile"])
        #expect(try RouteTableTests.matches(table, "any://phoenix.com/chat") == ["/chat"])
        #expect(try RouteTableTests.matches(table, "any://phoenix.com") == ["/"])
        #expect(try RouteTableTests.matches(table, "any://other.com/chat") == [])
        var copy = table
        #expect(try copy.remove(copy.pattern("chat")) == [1])
    }

    @Test func `where parents take deeper URLs every route does`() throws {
        let table = try RouteTableTests.table(
            ["foo", "foo/bar"], syntax: PatternSyntax(parentsTakeDeeper: true))
        #expect(try RouteTableTests.matches(table, "ky://foo/bar/baz") == ["foo/bar", "foo"])
        #expect(try RouteTableTests.matches(table, "ky://foo/x") == ["foo"])
    }

    @Test func `a custom converter decides and gives the value`() throws {
        var table = RouteTable(converters: [
            "year": RouteConverter { $0.count == 4 ? Int64($0).map { .int($0) } : nil }
        ])
        try table.add(table.pattern("archive/<int:n>"), index: 0)
        try table.add(table.pattern("archive/<year:y>"), index: 1)
        #expect(
            try RouteTableTests.matches(table, "archive/1999") == ["archive/<year:y>", "archive/<int:n>"])
        #expect(try RouteTableTests.matches(table, "archive/19") == ["archive/<int:n>"])
        #expect(try RouteTableTests.parameters(table, "archive/1999") == ["y": .int(1999)])
        // A pattern of another syntax names a converter that this table was not given: it never converts.
        let foreign = try RoutePattern("b/<hex:h>", syntax: PatternSyntax(converterNames: ["hex"]))
        try table.add(foreign, index: 2)
        #expect(try RouteTableTests.matches(table, "b/ff") == [])
    }

    @Test(arguments: [
        ("int", "9223372036854775807", true), ("int", "9223372036854775808", false),
        ("int", "-9223372036854775808", true),
        ("int", "+", false), ("int", "1e3", false), ("double", "1e3", true), ("double", "-.5", true),
        ("double", "nan", false), ("double", "0x1p3", false), ("double", "1e999", false),
        ("double", "-", false),
        ("bool", "TRUE", true), ("bool", "1", false), ("uuid", "123e4567-E89B-12d3-a456-426614174000", true),
        ("uuid", "123e4567-e89b-12d3-a456-42661417400g", false),
        ("uuid", "123e4567e89b12d3a456426614174000", false),
    ])
    func `built-in converters take what they say`(converter: String, text: String, fits: Bool) throws {
        let table = try RouteTableTests.table(["a/<\(converter):x>"])
        #expect(try RouteTableTests.matches(table, "a/\(text)").isEmpty != fits)
    }

    @Test(arguments: [
        ("int(1..99)", "1", true), ("int(1..99)", "99", true), ("int(1..99)", "0", false),
        ("int(1..99)", "100", false), ("int(1..99)", "+7", true), ("int(1..99)", "x", false),
        ("int(-5..-1)", "-3", true), ("int(5..)", "9223372036854775807", true), ("int(5..)", "4", false),
        ("int(..5)", "-9223372036854775808", true), ("int(..5)", "6", false), ("int(7..7)", "7", true),
        ("in(red|blue)", "red", true), ("in(red|blue)", "Red", false), ("in(red|blue)", "red|blue", false),
        ("in(a%7Cb|%28)", "a|b", true), ("in(a%7Cb|%28)", "(", true), ("in(好)", "%E5%A5%BD", true),
        ("in(é)", "e\u{301}", false), ("in(only)", "only", true),
    ])
    func `a constraint takes what it says`(constraint: String, text: String, fits: Bool) throws {
        let table = try RouteTableTests.table(["a/<\(constraint):x>", "b/v-<\(constraint):x>.html"])
        #expect(try RouteTableTests.matches(table, "a/\(text)").isEmpty != fits)
        #expect(try RouteTableTests.matches(table, "b/v-\(text).html").isEmpty != fits)
    }

    @Test(arguments: [
        "int()", "int(1)", "int(5..4)", "int(..)", "int(1..9223372036854775808)", "int(1...5)", "int(a..b)",
        "int(1..2", "int1..2)", "in()", "in(|a)", "in(a|)", "in(a(b)", "double(1..2)", "none(1..2)", "(1..2)",
        "in(" + (0...PatternConstraint.maximumTexts).map { "t\($0)" }.joined(separator: "|") + ")",
    ])
    func `what is no constraint is an unknown converter, with its place`(constraint: String) {
        let error = #expect(throws: RoutePatternError.self) { try RoutePattern("a/<\(constraint):x>") }
        #expect(error?.reason == .unknownConverter(constraint))
        #expect(error?.offset == 3)
    }

    @Test
    func `constraints go before what they constrain, give typed values, and equal ones are in conflict`()
        throws
    {
        let patterns = ["a/<int:n>", "a/:any", "a/<int(1..99):page>", "a/<in(1|x):c>", "a/<int(1..9):page>"]
        let table = try RouteTableTests.table(patterns)
        #expect(
            try RouteTableTests.matches(table, "a/1") == [
                "a/<in(1|x):c>", "a/<int(1..9):page>", "a/<int(1..99):page>", "a/<int:n>", "a/:any",
            ])
        #expect(try RouteTableTests.matches(table, "a/50").first == "a/<int(1..99):page>")
        #expect(try RouteTableTests.parameters(table, "a/50") == ["page": .int(50)])
        #expect(try RouteTableTests.parameters(table, "a/x") == ["c": .text("x")])
        var copy = table
        for equal in ["a/<int(01..+99):p>", "a/<in(x|1|x):d>"] {
            #expect(throws: RouteConflict.self) { try copy.add(RoutePattern(equal), index: 9) }
        }
        #expect(try copy.remove(RoutePattern("a/<in(1|x):c>")) == [3])
        #expect(try RouteTableTests.matches(copy, "a/x") == ["a/:any"])
    }

    @Test func `a converter of the program's own may have a constraint's name`() throws {
        var table = RouteTable(converters: ["in(a|b)": RouteConverter { $0 == "z" ? .text("Z") : nil }])
        try table.add(table.pattern("a/<in(a|b):x>"), index: 0)
        #expect(try RouteTableTests.matches(table, "a/z") == ["a/<in(a|b):x>"])
        #expect(try RouteTableTests.matches(table, "a/a") == [])
    }
}
