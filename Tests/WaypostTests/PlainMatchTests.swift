import Testing

@testable import Waypost

/// Tables of literals and plain placeholders are searched by their patterns' shapes, all others through the tree.
@Suite struct PlainMatchTests {
    static let words = [
        "a", "b", "ab", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghabcdefgh", "abcdefghabcdefghi",
        "abcdefghabcdefghabcdefghabcdefgh", "abcdefghabcdefgXabcdefghabcdefgh", "7", "中文", ".well-known",
    ]

    static func pattern(_ random: inout Seeded) -> String {
        let components = (0..<Int.random(in: 1...5, using: &random)).map { position in
            random.chance(3, in: 5) ? random.pick(words) : random.pick([":p\(position)", "<p\(position)>"])
        }
        let scheme = random.pick(["", "/", "/", "s://", "a-scheme-longer-than-16://"])
        return scheme + components.joined(separator: "/") + random.pick(["", "", "/", "?q=1"])
    }

    static func path(_ random: inout Seeded) -> String {
        var path = ""
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let word = random.pick(words)
            path += random.chance(1, in: 12) ? "//" : "/"
            let isEncoded = random.chance(1, in: 12)
            path += isEncoded ? word.utf8.map { "%" + String($0, radix: 16) }.joined() : word
        }
        return path + random.pick(["", "", "", "/", "//"])
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `the best match of a path is what a plain reading of the rules finds first`(seed: UInt64) throws {
        var random = Seeded(seed &+ 1000)
        for _ in 0..<20 {
            var table = RouteTable()
            var reference = ReferenceMatcher()
            for index in 0..<UInt32.random(in: 1...80, using: &random) {
                // Now and then something that only the tree can find.
                let text =
                    random.chance(1, in: 40)
                    ? random.pick(["a/*", "b/**", "<int:n>"]) : Self.pattern(&random)
                let pattern = try RoutePattern(text)
                guard case .success = Result(catching: { try table.add(pattern, index: index) }) else {
                    continue
                }
                reference.routes.append(
                    .init(pattern: pattern, priority: 0, takesDeeper: false, index: index))
            }
            for _ in 0..<random.pick([0, 10]) where !reference.routes.isEmpty {
                let route = reference.routes.remove(
                    at: Int.random(in: 0..<reference.routes.count, using: &random))
                #expect(table.remove(route.pattern) == [route.index])
            }
            for _ in 0..<100 {
                let path = Self.path(&random)
                let scheme = random.pick(["", "", "s:/", "t:/"])
                let url = try RouteURL(scheme + path)
                let expected = reference.matches(url).first
                // Written only where it is wanted: for each path it would take longer than the search.
                func comment() -> Comment { "seed \(seed), \(url), \(reference.routes.map(\.pattern.text))" }
                let found = table.firstMatch(url)
                #expect(found?.index == expected, comment())
                #expect(
                    try table.firstMatch(url: Array((scheme + path).utf8).span)?.index == expected, comment())
                if scheme == "" {
                    #expect(table.firstMatch(path: Array(path.utf8).span)?.index == expected, comment())
                }
                guard let found, !table.pattern(of: found).contains("*"), !path.contains("%") else {
                    continue
                }
                let ranges = (0..<found.parameterCount).compactMap { found.range(ofParameter: $0) }
                #expect(
                    ranges.map { String(decoding: Array(url.text.utf8)[$0], as: UTF8.self) }
                        == table.parameters(of: found, in: url).map(\.text), comment())
            }
        }
    }

    @Test func `a table finds as much when it was filled in another order, thinned out and copied`() throws {
        var random = Seeded(5)
        let patterns = Array(Set((0..<400).map { _ in Self.pattern(&random) })).sorted()
        var table = RouteTable()
        var kept: [String] = []
        for (index, text) in patterns.shuffled(using: &random).enumerated() {
            let pattern = try RoutePattern(text)
            guard case .success = Result(catching: { try table.add(pattern, index: UInt32(index)) }) else {
                continue
            }
            if index % 3 == 0 {
                var copy = table
                copy.remove(pattern)
                table = copy
            } else {
                kept.append(text)
            }
        }
        var fresh = RouteTable()
        for (index, text) in kept.enumerated() { try fresh.add(RoutePattern(text), index: UInt32(index)) }
        #expect(table.count == kept.count && kept.count > 100)
        for _ in 0..<3000 {
            let text = Self.path(&random)
            let path = Array(text.utf8)
            #expect(
                table.firstMatch(path: path.span).map { table.pattern(of: $0) }
                    == fresh.firstMatch(path: path.span).map { fresh.pattern(of: $0) }, "\(text)")
        }
    }

    @Test func `more shapes than are tried, more components and longer paths are found all the same`() throws
    {
        var table = RouteTable()
        for number in 0..<200 as Range<UInt32> {
            let components = (0..<8).map { number >> UInt32($0) & 1 == 0 ? "x\($0)" : ":p\($0)" }
            try table.add(RoutePattern(components.joined(separator: "/")), index: number)
        }
        let deep = (0..<20).map { "d\($0)" }.joined(separator: "/")
        try table.add(RoutePattern(deep), index: 500)
        let long = String(repeating: "long", count: 40)
        try table.add(RoutePattern("a/\(long)/:id"), index: 501)
        func index(_ path: String) -> UInt32? { table.firstMatch(path: Array(path.utf8).span)?.index }
        for number in 0..<200 as Range<UInt32> {
            let components = (0..<8).map { number >> UInt32($0) & 1 == 0 ? "x\($0)" : "y" }
            #expect(index("/" + components.joined(separator: "/")) == number)
        }
        #expect(index("/" + deep) == 500)
        #expect(index("/a/\(long)/7") == 501)
        #expect(index("/a/\(long.dropLast())x/7") == nil)
        #expect(index("") == nil)
        #expect(index("/") == nil)
        #expect(index("//") == nil)
        try table.add(RoutePattern("/"), index: 502)
        #expect(index("") == 502)
        #expect(index("//") == 502)
    }

    // In the table, a length from 32 768 says that a step is no literal.
    @Test func `a component as long as the mark of a step is one like any other`() throws {
        var table = RouteTable()
        let patterns = ["a/:id/end", "b/v:id/end", "c/v/end", "d/<int:id>/end", "e/**"]
        for (index, text) in patterns.enumerated() { try table.add(RoutePattern(text), index: UInt32(index)) }
        for length in 32_760...32_800 {
            let text = String(repeating: "v", count: length)
            let found = ["a", "b", "c", "d", "e"].map { first in
                table.firstMatch(path: Array("/\(first)/\(text)/end".utf8).span)?.index
            }
            #expect(found == [0, 1, nil, nil, 4], "\(length)")
        }
    }

    @Test func `a pattern that is written in another way takes the place of the plain one`() throws {
        var table = RouteTable()
        try table.add(RoutePattern("a/b/:id"), index: 1)
        try table.add(RoutePattern("a/%62/:other"), index: 2, replacing: true)
        func index(_ path: String) -> UInt32? { table.firstMatch(path: Array(path.utf8).span)?.index }
        #expect(index("/a/b/7") == 2)
        try table.add(RoutePattern("a//b/<id>/"), index: 3, replacing: true)
        #expect(index("/a/b/7") == 3)
        #expect(table.remove(try RoutePattern("a/b/<id>")) == [3])
        #expect(index("/a/b/7") == nil)
        try table.add(RoutePattern("s://a/b/:id"), index: 4)
        try table.add(RoutePattern("a/b/:id"), index: 5)
        #expect(index("/a/b/7") == 5)
        #expect(try table.firstMatch(RouteURL("s://a/b/7"))?.index == 4)
        #expect(table.remove(try RoutePattern("s://a/b/:id")) == [4])
        #expect(try table.firstMatch(RouteURL("s://a/b/7"))?.index == 5)
    }
}
