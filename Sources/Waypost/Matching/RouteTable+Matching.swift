extension RouteTable {
    /// The routes that take `url`, best first; each is looked for when it is asked for.
    package func match(_ url: RouteURL) -> RouteCandidates {
        RouteCandidates(table: self, url: url)
    }

    /// The best route for `url`.
    ///
    /// No memory is allocated, unless the table has patterns of more than 23 components, the URL is longer than a
    /// kilobyte and encoded or matched without case, or a custom converter is asked.
    package func firstMatch(_ url: RouteURL) -> RouteMatch? {
        url.text.utf8Span.span.withUnsafeBufferPointer { bytes in
            search(bytes, url.parts)
        }
    }

    /// The best route for the URL in `bytes`, which nothing is copied from.
    ///
    /// - Throws: ``RouteURLError`` for what is no URL.
    package func firstMatch(url bytes: Span<UInt8>) throws(RouteURLError) -> RouteMatch? {
        do throws(RouteURLFault) {
            return try bytes.withUnsafeBufferPointer { (bytes) throws(RouteURLFault) in
                let parts = try RouteURLParser.parse(bytes)
                guard !parts.hasCapitalsInHost else {
                    return parts.lowercasingHost(bytes).withUnsafeBufferPointer { search($0, parts) }
                }
                return search(bytes, parts)
            }
        } catch {
            let text = bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            throw RouteURLError(url: text, offset: error.offset, reason: error.reason)
        }
    }

    /// The best route for a path without scheme, query and fragment: `/orders/42`.
    ///
    /// For those who have parsed already: the bytes are not checked. A text that ``RouteURL`` would refuse finds a
    /// route or none and does no harm.
    package func firstMatch(path bytes: Span<UInt8>) -> RouteMatch? {
        bytes.withUnsafeBufferPointer { bytes in
            guard bytes.count < Int32.max else { return nil }
            return search(bytes, RouteURLParts(pathEnd: UInt32(bytes.count)))
        }
    }

    /// All hits in their order.
    func allMatches(_ url: RouteURL) -> [RouteMatch] { searchAll(url).matches }

    /// The same with what it took.
    func searchAll(_ url: RouteURL) -> AllMatches {
        var all = AllMatches()
        url.text.utf8Span.span.withUnsafeBufferPointer { bytes in
            _ = withUnsafeMutablePointer(to: &all) { search(bytes, url.parts, all: $0) }
        }
        return all
    }

    /// How many components fit on the stack beside the caller's own things.
    private static var stackComponents: Int { 24 }

    /// The best route for a parsed URL; puts all of them into `all` instead, where that is given.
    @inline(__always)
    private func search(
        _ bytes: UnsafeBufferPointer<UInt8>, _ parts: RouteURLParts,
        all: UnsafeMutablePointer<AllMatches>? = nil
    ) -> RouteMatch? {
        guard let start = bytes.baseAddress else { return nil }
        let (reader, count) = (storage.reader, bytes.count)
        // Sixteen bytes are read at once, so that many must be there.
        var copy = SIMD2<UInt64>()
        if count < 16 {
            copy = SIMD2(ByteWord.load(start, at: 0, limit: count), ByteWord.load(start, at: 8, limit: count))
        }
        return withUnsafeBytes(of: &copy) { copy in
            let copy = copy.assumingMemoryBound(to: UInt8.self).baseAddress ?? start
            let bytes = UnsafeBufferPointer(start: count < 16 ? copy : start, count: max(count, 16))
            if reader.pointee.deepest >= Self.stackComponents {
                return withUnsafePointer(to: parts) { searchDeep(bytes, $0, all) }
            }
            return withUnsafeTemporaryAllocation(of: PathComponent.self, capacity: Self.stackComponents) {
                TableSearch.run(reader, bytes, parts, all, space: $0)
            }
        }
    }

    @inline(never)
    private func searchDeep(
        _ bytes: UnsafeBufferPointer<UInt8>, _ parts: UnsafePointer<RouteURLParts>,
        _ all: UnsafeMutablePointer<AllMatches>?
    ) -> RouteMatch? {
        let reader = storage.reader
        return withUnsafeTemporaryAllocation(of: PathComponent.self, capacity: reader.pointee.deepest &+ 1) {
            TableSearch.run(reader, bytes, parts.pointee, all, space: $0)
        }
    }
}
