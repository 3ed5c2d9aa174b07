@testable import Waypost

/// Patterns, and a table of them.
///
/// The input is lines: patterns, and last the URL that is looked for. A line that begins with `!` has a higher
/// priority, one with `~` takes deeper URLs, one with `-` is taken out again. After a first line `^`, nothing has case.
enum PatternLaws: Laws {
    private static let maximumLines = 12

    static func read(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return }
        _ = try? RoutePattern(text) as RoutePattern
    }

    private static func isSame(_ one: RoutePattern, _ other: RoutePattern) -> Bool {
        one == other
            || one.ignoresCase && one.takesTheSame(as: other)
                && one.placeholderNames == other.placeholderNames
    }

    static func check(_ bytes: [UInt8]) throws(BrokenLaw) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: maximumLines).map {
            String(decoding: $0, as: UTF8.self)
        }
        var syntax = PatternSyntax()
        syntax.ignoresCase = lines.first == "^"
        var table = RouteTable(syntax: syntax)
        var reference = ReferenceMatcher()
        for (index, line) in lines.enumerated() {
            let mark = ["!", "~", "-"].first { line.utf8.starts(with: $0.utf8) }
            let text = mark == nil ? line : String(decoding: line.utf8.dropFirst(), as: UTF8.self)
            guard let pattern = try pattern(text, table) else { continue }
            if mark == "-" {
                let removed = table.remove(pattern)
                let expected = reference.routes.filter { isSame($0.pattern, pattern) }.map(\.index)
                try BrokenLaw.unless(
                    removed.sorted() == expected, "exactly the routes of a pattern are removed")
                reference.routes.removeAll { isSame($0.pattern, pattern) }
                try BrokenLaw.unless(
                    !table.routes.contains { removed.contains($0.index) }, "a removed pattern is gone")
                continue
            }
            let route = ReferenceMatcher.Route(
                pattern: pattern, priority: mark == "!" ? 1 : 0, takesDeeper: mark == "~",
                index: UInt32(index))
            let added = Result { () throws(RouteConflict) in
                try table.add(
                    pattern, priority: route.priority, takesDeeper: route.takesDeeper, index: route.index)
            }
            switch added {
            case .success:
                reference.routes.append(route)
                try BrokenLaw.unless(
                    table.routes.contains { $0.index == route.index && $0.priority == route.priority },
                    "what was added is there")
            case .failure(let conflict):
                try BrokenLaw.unless(
                    reference.routes.contains { $0.pattern.text == conflict.rival },
                    "a conflict names a pattern that is there")
            }
        }
        try BrokenLaw.unless(table.count == reference.routes.count, "every route is counted once")
        var copy = table
        copy.compact()
        for text in [lines.last ?? "", lines.first ?? "", "s://a/b", "/"] {
            guard let url = try? RouteURL(text) as RouteURL else { continue }
            let expected = reference.matches(url)
            try BrokenLaw.unless(
                table.match(url).map(\.index) == expected, "a table finds what a plain search finds")
            try BrokenLaw.unless(
                table.firstMatch(url)?.index == expected.first, "the first match is the best")
            try BrokenLaw.unless(
                copy.firstMatch(url)?.index == expected.first, "a compact table finds the same")
            for route in reference.routes.prefix(3) { try checkInverse(route.pattern, syntax, url) }
        }
    }

    /// What a pattern captures makes a URL that has the same components.
    private static func checkInverse(
        _ pattern: RoutePattern, _ syntax: PatternSyntax, _ url: RouteURL
    ) throws(BrokenLaw) {
        // Those of browsers have hosts that can't be written again, and a rest has slashes.
        let isRest = if case .rest = pattern.segments.last { true } else { false }
        guard !isRest, !pattern.isFallback, !pattern.segments.contains(.wildcard),
            !["http", "https", "ws", "wss", "ftp", "file"].contains(url.scheme),
            let descriptor = try? RouteDescriptor(pattern.text, syntax: syntax),
            descriptor.names == pattern.placeholderNames,
            let parameters = descriptor.parameters(of: url.text)
        else { return }
        var values: [String: JSONValue] = [:]
        for name in descriptor.names { values[name] = parameters.path[name] }
        // Numbers may be written in another way than they were, and without values the longest pattern is made.
        guard values.values.allSatisfy({ $0.stringValue != nil }), values.count == descriptor.names.count,
            pattern.optional.areNone
        else { return }
        let made = try? descriptor.url(for: values, scheme: url.scheme)
        try BrokenLaw.unless(
            made.flatMap { descriptor.parameters(of: $0) }?.path == parameters.path,
            "what a pattern captures makes a URL that gives it back")
    }

    /// The pattern; nil when the text is none.
    private static func pattern(_ text: String, _ table: RouteTable) throws(BrokenLaw) -> RoutePattern? {
        let pattern: RoutePattern
        do throws(RoutePatternError) {
            pattern = try table.pattern(text)
        } catch {
            try BrokenLaw.unless(0...text.utf8.count ~= error.offset, "an error is at a byte of the text")
            return nil
        }
        let names = pattern.placeholderNames
        try BrokenLaw.unless(Set(names.map { Array($0.utf8) }).count == names.count, "a name occurs once")
        try BrokenLaw.unless((try? RoutePattern(pattern.text)) == pattern, "the text is read as it was")
        return pattern
    }
}
