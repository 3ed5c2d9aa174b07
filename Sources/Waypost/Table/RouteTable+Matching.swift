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
            return search(URLText(path: text, count: bytes.count), BestMatch(pathEnd: bytes.count))
        }
    }

    @inline(__always)
    private func firstMatch(_ bytes: UnsafeBufferPointer<UInt8>, _ parts: RouteURLParts) -> RouteMatch? {
        search(bytes, parts, BestMatch(pathEnd: Int(parts.pathEnd)))
    }

    /// What `query` makes of a search for a parsed URL.
    @inline(__always)
    func search<Query: TableQuery>(
        _ bytes: UnsafeBufferPointer<UInt8>, _ parts: RouteURLParts, _ query: Query
    ) -> Query.Result? {
        guard let text = bytes.baseAddress else { return nil }
        return search(URLText(text, limit: bytes.count, parts), query)
    }

    // How many components fit on the stack beside the caller's own things.
    private static var stackComponents: Int { 24 }

    @inline(__always)
    private func search<Query: TableQuery>(_ url: consuming URLText, _ query: Query) -> Query.Result? {
        let deepest = storage.reader.pointee.deepest
        guard deepest < Self.stackComponents else { return searchDeep(url, space: deepest + 1, query) }
        var words = SIMD2<UInt64>()
        return withUnsafeMutableBytes(of: &words) { copy in
            url.move(to: copy)
            return withUnsafeTemporaryAllocation(of: PathComponent.self, capacity: Self.stackComponents) {
                $0.baseAddress.flatMap { search(url, $0, query) }
            }
        }
    }

    @inline(never)
    private func searchDeep<Query: TableQuery>(
        _ url: consuming URLText, space: Int, _ query: Query
    ) -> Query.Result? {
        var words = SIMD2<UInt64>()
        return withUnsafeMutableBytes(of: &words) { copy in
            url.move(to: copy)
            return withUnsafeTemporaryAllocation(of: PathComponent.self, capacity: space) {
                $0.baseAddress.flatMap { search(url, $0, query) }
            }
        }
    }

    @inline(__always)
    private func search<Query: TableQuery>(
        _ url: URLText, _ target: UnsafeMutablePointer<PathComponent>, _ query: Query
    ) -> Query.Result? {
        let reader = storage.reader
        let scheme = reader.pointee.scheme(url.text, start: url.start, length: url.schemeLength)
        if !url.isEncoded, !reader.pointee.ignoresCase {
            var splitter = PathSplitter(
                text: url.text, target: target, capacity: reader.pointee.deepest &+ 1)
            if !splitter.split(url) {
                return query.result(
                    of: TableSearch(
                        reader: reader, components: target, end: splitter.next, text: url.text,
                        given: url.text, scheme: scheme))
            }
        }
        return searchEncoded(url.text, url.host, url.path, scheme, target, query)
    }

    @inline(never)
    private func searchEncoded<Query: TableQuery>(
        _ text: UnsafePointer<UInt8>, _ host: Range<Int>, _ path: Range<Int>, _ scheme: URLScheme,
        _ target: UnsafeMutablePointer<PathComponent>,
        _ query: Query
    ) -> Query.Result? {
        let reader = storage.reader
        let space = max(path.upperBound, 16)
        let ignoresCase = reader.pointee.ignoresCase
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ignoresCase ? 2 * space : space) {
            guard let scratch = $0.baseAddress else { return nil }
            let lower = ignoresCase ? scratch + space : nil
            var splitter = PathSplitter(
                text: lower ?? scratch, target: target, capacity: reader.pointee.deepest &+ 1)
            splitter.splitEncoded(text, host, scratch: scratch, lower: lower)
            splitter.splitEncoded(text, path, scratch: scratch, lower: lower)
            return query.result(
                of: TableSearch(
                    reader: reader, components: target, end: splitter.next, text: lower ?? scratch,
                    given: scratch, scheme: scheme))
        }
    }
}
