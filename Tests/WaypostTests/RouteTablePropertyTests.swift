import Testing

@testable import Waypost

@Suite struct RouteTablePropertyTests {
    static let words = [
        "a", "b", "ab", "v1", "v2x", "7", "4.5", "true", "x.html", "eine-sehr-lange-komponente", "中",
        "4-5", "a-b-c", "v1.2-x", "-7--1", "A", "aB", "V1", "x.HTML", "A-B-c",
    ]
    static let holes = [
        ":p", "<int:p>", "<double:p>", "<bool:p>", "v:p", "v<int:p>", "<int(0..9):p>", "<int(..7):p>",
        "<in(a|b):p>",
        "<in(b|a|%E4%B8%AD):p>", "v<in(1|a):p>", ":p.html", "x:p", "*", ":p", "a:p",
        "%E4:p", ":p-:q", "<int:p>-<int:q>", "v:p.:q", "<p>-<q>-x", ":p-<in(b|5|-1):q>", "<p>-b-<q>", "V:p",
        ":p-B-<q>",
    ]

    static func pattern(_ random: inout Seeded) -> String {
        var components: [String] = []
        for position in 0..<Int.random(in: 0...4, using: &random) {
            // One word in three, so that few words make many near misses.
            var component = random.chance(3, in: 5) ? random.pick(words) : random.pick(holes)
            component = component.split(separator: "p", omittingEmptySubsequences: false)
                .joined(separator: "p\(position)")
            component = component.split(separator: "q", omittingEmptySubsequences: false)
                .joined(separator: "q\(position)")
            if component.contains("%E4") { component = "%E4%B8%AD:p\(position)" }
            components.append(component.hasPrefix("eine-sehr-lange-kom") ? words[9] : component)
        }
        if random.chance(1, in: 8) { components.append(random.chance(1, in: 2) ? "**" : "<path:rest>") }
        let scheme = random.pick(["", "", "/", "s://", "t://", "a-scheme-longer-than-16://"])
        if components.isEmpty { return scheme.isEmpty ? "://" : scheme }
        guard components.count > 1, random.chance(1, in: 5) else {
            return scheme + components.joined(separator: "/")
        }
        // Some of the components at the end may be absent.
        var text = scheme + components[0]
        var open = 0
        for (number, component) in components.enumerated().dropFirst() {
            let begins = number == components.count - 1 && open == 0 || open < 4 && random.chance(1, in: 3)
            if begins { open += 1 }
            text += (begins ? "(/" : "/") + component
        }
        return text + String(repeating: ")", count: open)
    }

    static func url(_ random: inout Seeded) -> String {
        var components: [String] = []
        for _ in 0..<Int.random(in: 0...5, using: &random) {
            let word = random.pick(words)
            components.append(
                random.chance(1, in: 6) ? word.utf8.map { "%" + String($0, radix: 16) }.joined() : word)
        }
        if random.chance(1, in: 9) { components.append("") }
        let scheme = random.pick(["/", "s://", "S://", "T://u@", "a-scheme-longer-than-16://", "other://"])
        if components.isEmpty || components[0].isEmpty { return scheme }
        let port = scheme.count > 3 && random.chance(1, in: 3) ? ":80" : ""
        return scheme + components[0] + port + components.dropFirst().map { "/" + $0 }.joined()
            + random.pick(["", "?q=1", "#f"])
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `a table finds what a plain reading of the rules finds, in the same order`(seed: UInt64) throws {
        var random = Seeded(seed)
        for _ in 0..<25 {
            var syntax = PatternSyntax()
            syntax.ignoresCase = random.chance(1, in: 4)
            var table = RouteTable(syntax: syntax)
            var reference = ReferenceMatcher()
            let priorities = random.pick([[0], [0], [0, 0, 0, 1], [-1, 0, 5]])
            let deeper = random.chance(1, in: 2)
            for index in 0..<UInt32.random(in: 1...60, using: &random) {
                let text = Self.pattern(&random)
                let route = ReferenceMatcher.Route(
                    pattern: try table.pattern(text), priority: random.pick(priorities),
                    takesDeeper: deeper && random.chance(1, in: 4), index: index)
                do throws(RouteConflict) {
                    try table.add(
                        route.pattern, priority: route.priority, takesDeeper: route.takesDeeper, index: index)
                    reference.routes.append(route)
                } catch {
                    #expect(error.pattern == text)
                }
            }
            for _ in 0..<random.pick([0, 3, 20]) where !reference.routes.isEmpty {
                let route = reference.routes.remove(
                    at: Int.random(in: 0..<reference.routes.count, using: &random))
                #expect(table.remove(route.pattern, priority: route.priority) == [route.index])
            }
            #expect(table.count == reference.routes.count)
            for _ in 0..<40 {
                let url = try RouteURL(Self.url(&random))
                let expected = reference.matches(url)
                let found = table.match(url).map(\.index)
                #expect(found == expected, "seed \(seed), \(url), \(reference.routes.map(\.pattern.text))")
                #expect(table.firstMatch(url)?.index == expected.first)
                if found != expected { return }
            }
        }
    }

    @Test(arguments: 0..<5 as Range<UInt64>)
    func `the order of candidates does not depend on the order of insertion`(seed: UInt64) throws {
        var random = Seeded(seed &+ 100)
        for _ in 0..<20 {
            var syntax = PatternSyntax()
            syntax.ignoresCase = random.chance(1, in: 4)
            // Of patterns that match the same URLs only one takes part.
            var first = RouteTable(syntax: syntax)
            let patterns = try (0..<40).map { _ in try first.pattern(Self.pattern(&random)) }
            var kept: [RoutePattern] = []
            for pattern in patterns {
                guard case .success = Result(catching: { try first.add(pattern, index: 0) }) else { continue }
                kept.append(pattern)
            }
            var second = RouteTable(syntax: syntax)
            for pattern in kept.shuffled(using: &random) { try second.add(pattern, index: 0) }
            for _ in 0..<50 {
                let url = try RouteURL(Self.url(&random))
                #expect(
                    first.match(url).map(\.pattern) == second.match(url).map(\.pattern),
                    "seed \(seed), \(url), \(kept)")
            }
        }
    }

    @Test func `a table that was filled and emptied holds nothing and can be filled again`() throws {
        var random = Seeded(4)
        var table = RouteTable()
        for round in 0..<3 {
            var patterns: [RoutePattern] = []
            for index in 0..<3000 {
                let text = "/r\(index % 37)/a-component-of-some-length-\(index)/:id/v\(index):x/<int:n>"
                let pattern = try RoutePattern(random.chance(1, in: 3) ? "s\(index % 5):/" + text : text)
                try table.add(pattern, priority: index % 3, index: UInt32(index))
                patterns.append(pattern)
            }
            let bytes = table.byteCount
            for pattern in patterns.shuffled(using: &random) { #expect(table.remove(pattern).count == 1) }
            #expect(table.isEmpty)
            // What is left is the root and that of the fallbacks.
            #expect(table.storage.nodes.count == 2)
            #expect(table.storage.nodes[TableSeed.root]?.isEmpty == true)
            #expect(round == 0 || table.byteCount < 2 * bytes)
        }
    }

    @Test func `a table that is changed often does not grow without end`() throws {
        var table = RouteTable()
        for index in 0..<5000 {
            let pattern = try RoutePattern(
                "/a/:name\(index)/a-literal-longer-than-sixteen-\(index)/v\(index):x")
            try table.add(pattern, index: 1)
            try table.add(RoutePattern("/a/:other\(index)/b"), index: 2, replacing: true)
            #expect(table.remove(pattern) == [1])
        }
        #expect(table.count == 1)
        #expect(table.storage.nodes.count < 2000)
        #expect(table.byteCount < 300_000)
    }

    @Test func `adversarial patterns cost no more than the nodes they make`() throws {
        // Every literal has a placeholder beside it: 2¹² ways lead through the table, and none to the end.
        var table = RouteTable()
        let clock = ContinuousClock()
        let building = try clock.measure {
            for number in 0..<4096 as Range<UInt32> {
                let components = (0..<12).map { number >> UInt32($0) & 1 == 0 ? "a" : ":p\($0)" }
                try table.add(RoutePattern(components.joined(separator: "/") + "/end"), index: number)
            }
        }
        let url = try RouteURL(Array(repeating: "a", count: 12).joined(separator: "/") + "/nowhere")
        let searches = (0..<5).map { _ in clock.measure { #expect(table.firstMatch(url) == nil) } }
        let search = try #require(searches.min())
        #expect(search < building)
    }
}
