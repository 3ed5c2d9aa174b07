extension RouteTable {
    /// The routes that take `url`, best first; each is looked for when it is asked for.
    public func match(_ url: RouteURL) -> RouteCandidates {
        RouteCandidates(table: self, url: url)
    }

    /// The best route for `url`.
    ///
    /// No memory is allocated, unless the table has patterns of more than 23 components, the URL is longer than a
    /// kilobyte and encoded or matched without case, or a custom converter is asked.
    public func firstMatch(_ url: RouteURL) -> RouteMatch? {
        url.text.utf8Span.span.withUnsafeBufferPointer { bytes in
            firstMatch(bytes, url.parts)
        }
    }

    /// The best route for the URL in `bytes`, which nothing is copied from.
    ///
    /// - Throws: ``RouteURLError`` for what is no URL.
    public func firstMatch(url bytes: Span<UInt8>) throws(RouteURLError) -> RouteMatch? {
        do throws(RouteURLFault) {
            return try bytes.withUnsafeBufferPointer { (bytes) throws(RouteURLFault) in
                let parts = try RouteURLParser.parse(bytes, trusted: false)
                guard !parts.hasCapitalsInHost else {
                    return parts.lowercasingHost(bytes).withUnsafeBufferPointer { firstMatch($0, parts) }
                }
                return firstMatch(bytes, parts)
            }
        } catch {
            let text = bytes.withUnsafeBufferPointer { String(repairing: $0) }
            throw RouteURLError(url: text, offset: error.offset, reason: error.reason)
        }
    }

    /// The best route for a path without scheme, query and fragment: `/orders/42`.
    ///
    /// For those who have parsed already: the bytes are not checked. A text that ``RouteURL`` would refuse finds a
    /// route or none and does no harm.
    public func firstMatch(path bytes: Span<UInt8>) -> RouteMatch? {
        bytes.withUnsafeBufferPointer { bytes in
            guard let text = bytes.baseAddress, bytes.count < Int32.max else { return nil }
            return search(URLText(path: text, count: bytes.count)) { $0.bestMatch(pathEnd: bytes.count) }
        }
    }

    @inline(__always)
    private func firstMatch(_ bytes: UnsafeBufferPointer<UInt8>, _ parts: RouteURLParts) -> RouteMatch? {
        withSearch(bytes, parts) { $0.bestMatch(pathEnd: Int(parts.pathEnd)) }
    }

    /// Calls `body` with a search for a parsed URL.
    @inline(__always)
    func withSearch<Result>(
        _ bytes: UnsafeBufferPointer<UInt8>, _ parts: RouteURLParts, _ body: (TableSearch) -> Result?
    ) -> Result? {
        guard let text = bytes.baseAddress else { return nil }
        return search(URLText(text, limit: bytes.count, parts), body)
    }

    // How many components fit on the stack beside the caller's own things.
    private static var stackComponents: Int { 24 }

    @inline(__always)
    private func search<Result>(_ url: consuming URLText, _ body: (TableSearch) -> Result?) -> Result? {
        let deepest = storage.reader.pointee.deepest
        guard deepest < Self.stackComponents else { return searchDeep(url, space: deepest + 1, body) }
        var words = SIMD2<UInt64>()
        return withUnsafeMutableBytes(of: &words) { copy in
            url.move(to: copy)
            return withUnsafeTemporaryAllocation(of: PathComponent.self, capacity: Self.stackComponents) {
                $0.baseAddress.flatMap { search(url, $0, body) }
            }
        }
    }

    @inline(never)
    private func searchDeep<Result>(
        _ url: consuming URLText, space: Int, _ body: (TableSearch) -> Result?
    ) -> Result? {
        var words = SIMD2<UInt64>()
        return withUnsafeMutableBytes(of: &words) { copy in
            url.move(to: copy)
            return withUnsafeTemporaryAllocation(of: PathComponent.self, capacity: space) {
                $0.baseAddress.flatMap { search(url, $0, body) }
            }
        }
    }

    @inline(__always)
    private func search<Result>(
        _ url: URLText, _ target: UnsafeMutablePointer<PathComponent>, _ body: (TableSearch) -> Result?
    ) -> Result? {
        let reader = storage.reader
        let scheme = reader.pointee.scheme(url.text, start: url.start, length: url.schemeLength)
        if !url.isEncoded, !reader.pointee.ignoresCase {
            var splitter = PathSplitter(target: target, capacity: reader.pointee.deepest &+ 1)
            if !splitter.split(url) {
                return body(
                    TableSearch(
                        reader: reader, components: target, count: splitter.count, text: url.text,
                        given: url.text, scheme: scheme))
            }
        }
        return searchEncoded(url, scheme, target, body)
    }

    @inline(never)
    private func searchEncoded<Result>(
        _ url: URLText, _ scheme: URLScheme, _ target: UnsafeMutablePointer<PathComponent>,
        _ body: (TableSearch) -> Result?
    ) -> Result? {
        let reader = storage.reader
        let space = max(url.path.upperBound, 16)
        let ignoresCase = reader.pointee.ignoresCase
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ignoresCase ? 2 * space : space) {
            guard let scratch = $0.baseAddress else { return nil }
            let lower = ignoresCase ? scratch + space : nil
            var splitter = PathSplitter(target: target, capacity: reader.pointee.deepest &+ 1)
            splitter.splitEncoded(url, scratch: scratch, lower: lower)
            return body(
                TableSearch(
                    reader: reader, components: target, count: splitter.count, text: lower ?? scratch,
                    given: scratch, scheme: scheme))
        }
    }
}
