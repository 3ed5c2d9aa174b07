import Waypost

/// URLs, as text and as bytes, and the search for their routes.
enum URLLaws: Laws {
    private static let schemesOfBrowsers = ["http", "https", "ws", "wss", "ftp", "file"]

    private static let tables: [(table: RouteTable, reference: ReferenceMatcher)] = [
        // All kinds of components and priorities, and parents.
        [
            "scheme://router/demo", "myapp://orders/:id", "s://:id/<int:n>/v:major.html/*/**", "<path:rest>",
            "a/<uuid:u>/<double:d>/<bool:b>", "/a/b%2Fc/%E4%B8%AD/中", "s://", "https://example.com/:a/:b",
            "s://h/x:name.y/:z", "/:one/:two/:three", "s://h/:a-:b", "s://opt/:a(/b(/:c))",
            "s://h/<int:a>.<int:b>-:c/x",
        ],
        // Literals and plain placeholders of one priority, which are searched in another way.
        [
            "scheme://router/demo", "/a/b", "/a/:x", "s://h/:x/c", "/:x/:y", "s://a/b/c/d", "/:x/b/:z/d",
            "://",
        ],
    ].enumerated().map { number, texts in
        var table = RouteTable()
        var reference = ReferenceMatcher()
        for (index, text) in texts.enumerated() {
            guard let pattern = try? RoutePattern(text) as RoutePattern else { continue }
            let route = ReferenceMatcher.Route(
                pattern: pattern, priority: number == 0 ? index % 2 : 0,
                takesDeeper: number == 0 && index % 3 == 0, index: UInt32(index))
            _ = try? table.add(
                pattern, priority: route.priority, takesDeeper: route.takesDeeper, index: route.index)
            reference.routes.append(route)
        }
        return (table, reference)
    }

    static func read(_ bytes: [UInt8]) {
        _ = try? tables[0].table.firstMatch(url: bytes.span)
        guard let text = String(validating: bytes, as: UTF8.self), let url = try? RouteURL(text) as RouteURL
        else {
            return
        }
        _ = (url.components, url.query.pairs, url.fragment)
    }

    static func check(_ bytes: [UInt8]) throws(BrokenLaw) {
        let text = String(decoding: bytes, as: UTF8.self)
        let isUTF8 = text.utf8.elementsEqual(bytes)
        for (table, _) in tables { _ = table.firstMatch(path: bytes.span) }
        let url: RouteURL
        do throws(RouteURLError) {
            url = try RouteURL(text)
        } catch {
            try BrokenLaw.unless(0...text.utf8.count ~= error.offset, "an error is at a byte of the text")
            let found = Result { () throws(RouteURLError) in try tables[0].table.firstMatch(url: bytes.span) }
            if isUTF8, case .success = found { throw BrokenLaw(law: "bytes are refused as text is") }
            return
        }
        let components = url.components
        try BrokenLaw.unless(
            components.allSatisfy {
                !["", ".", ".."].contains($0) && !$0.utf8.contains { $0 < 0x20 || $0 == 0x7F }
            },
            "a component is not empty, no dots and has no control characters")
        try checkBuilding(url, components)
        try checkQuery(url)
        for (table, reference) in tables {
            try checkSearch(table, reference, url)
            guard isUTF8 else { continue }
            let found = Result { () throws(RouteURLError) in try table.firstMatch(url: bytes.span)?.index }
            try BrokenLaw.unless(
                found == .success(table.firstMatch(url)?.index), "bytes and text find the same")
        }
    }

    private static func checkBuilding(_ url: RouteURL, _ components: [String]) throws(BrokenLaw) {
        let again =
            try? RouteURL(
                scheme: url.scheme, components: components, query: url.query.pairs.map { ($0.key, $0.value) },
                fragment: url.fragment) as RouteURL
        guard let again else {
            // An address in brackets cannot be written as a component.
            return try BrokenLaw.unless(schemesOfBrowsers.contains(url.scheme), "what was read can be built")
        }
        try BrokenLaw.unless(
            again.scheme == url.scheme && again.components == components && again.fragment == url.fragment
                && again.query.pairs == url.query.pairs, "what is built is read as it was")
        try BrokenLaw.unless((try? RouteURL(url.text)) == url, "the text is read as it was")
    }

    private static func checkQuery(_ url: RouteURL) throws(BrokenLaw) {
        let pairs = url.query.pairs
        guard let last = pairs.last else { return }
        try BrokenLaw.unless(url.query[last.key] == last.value, "the last value of a key counts")
        try BrokenLaw.unless(
            url.query.allValues(of: last.key)
                == pairs.filter { $0.key.utf8.elementsEqual(last.key.utf8) }.map(\.value),
            "all values of a key are kept")
    }

    private static func checkSearch(
        _ table: RouteTable, _ reference: ReferenceMatcher, _ url: RouteURL
    ) throws(BrokenLaw) {
        let expected = reference.matches(url)
        try BrokenLaw.unless(
            table.match(url).map(\.index) == expected, "a table finds what a plain search finds")
        let first = table.firstMatch(url)
        try BrokenLaw.unless(first?.index == expected.first, "the first match is the best")
        guard let first else { return }
        try BrokenLaw.unless(
            table.parameters(of: first, in: url).count == first.parameterCount,
            "every placeholder has a value")
        for number in 0..<first.parameterCount {
            guard let range = first.range(ofParameter: number) else { continue }
            try BrokenLaw.unless(range.upperBound <= url.text.utf8.count, "a parameter lies in the text")
        }
    }
}
