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
            return firstMatch(text, limit: bytes.count, scheme: 0, path: 0..<bytes.count)
        }
    }

    @inline(__always)
    private func firstMatch(_ bytes: UnsafeBufferPointer<UInt8>, _ parts: RouteURLParts) -> RouteMatch? {
        // A port stands between host and path, so that they are not one text.
        guard let text = bytes.baseAddress, parts.hostEnd == parts.pathStart else {
            return withSearch(bytes, parts) { $0.bestMatch(pathEnd: Int(parts.pathEnd)) }
        }
        let reader = storage.reader
        let scheme = reader.pointee.scheme(
            text, start: Int(parts.start), length: Int(parts.schemeLength), limit: bytes.count)
        let path = Int(parts.hostStart)..<Int(parts.pathEnd)
        guard path.upperBound < 64, bytes.count >= 16, parts.slashes != .max, !parts.isEncoded,
            reader.pointee.isPlain
        else { return firstUncommonMatch(text, limit: bytes.count, scheme: scheme, path: path) }
        let search = PathSearch(reader: reader, text: text, path: path, scheme: scheme) {
            ShortPathEnds(slashes: parts.slashes, from: $0, to: $1)
        }
        return firstMatch(search, text, limit: bytes.count, scheme, path)
    }

    @inline(__always)
    private func firstMatch(
        _ text: UnsafePointer<UInt8>, limit: Int, scheme: UInt32, path: Range<Int>
    ) -> RouteMatch? {
        let reader = storage.reader
        guard reader.pointee.isPlain, path.upperBound < 64 else {
            return firstLongMatch(text, limit: limit, scheme: scheme, path: path)
        }
        var space = SIMD2<UInt64>()
        return withUnsafeMutableBytes(of: &space) { space in
            var (text, limit) = (text, limit)
            if limit < 16, let copy = space.baseAddress {
                // As many bytes must be there to be read.
                let words = SIMD2(
                    ByteWord.load(text, at: 0, limit: limit), ByteWord.load(text, at: 8, limit: limit))
                copy.storeBytes(of: words, as: SIMD2<UInt64>.self)
                text = UnsafePointer(copy.assumingMemoryBound(to: UInt8.self))
                limit = 16
            }
            let search = PathSearch(reader: reader, text: text, path: path, scheme: scheme) {
                ShortPathEnds(text, limit: limit, from: $0, to: $1)
            }
            return firstMatch(search, text, limit: limit, scheme, path)
        }
    }

    @inline(__always)
    private func firstMatch(
        _ search: PathSearch<some PathEnds>?, _ text: UnsafePointer<UInt8>, limit: Int, _ scheme: UInt32,
        _ path: Range<Int>
    ) -> RouteMatch? {
        switch search?.find() ?? .unsuited {
        case .match(let match): match
        case .nothing: storage.reader.pointee.fallbackMatch(scheme)
        case .unsuited: firstMatchInTree(text, limit: limit, scheme: scheme, path: path)
        }
    }

    // What follows is kept apart from that, which is made short.

    /// The same, for callers that have no use for another copy of it.
    @inline(never)
    private func firstUncommonMatch(
        _ text: UnsafePointer<UInt8>, limit: Int, scheme: UInt32, path: Range<Int>
    ) -> RouteMatch? {
        firstMatch(text, limit: limit, scheme: scheme, path: path)
    }

    @inline(never)
    private func firstLongMatch(
        _ text: UnsafePointer<UInt8>, limit: Int, scheme: UInt32, path: Range<Int>
    ) -> RouteMatch? {
        let reader = storage.reader
        guard reader.pointee.isPlain else {
            return firstMatchInTree(text, limit: limit, scheme: scheme, path: path)
        }
        let search = PathSearch(reader: reader, text: text, path: path, scheme: scheme) {
            LongPathEnds(text, limit: limit, from: $0, to: $1)
        }
        return firstMatch(search, text, limit: limit, scheme, path)
    }

    @inline(never)
    private func firstMatchInTree(
        _ text: UnsafePointer<UInt8>, limit: Int, scheme: UInt32, path: Range<Int>
    ) -> RouteMatch? {
        search(text, limit: limit, scheme: scheme, host: 0..<0, path: path, isEncoded: nil) {
            $0.bestMatch(pathEnd: path.upperBound)
        }
    }

    /// Calls `body` with a search for a parsed URL.
    @inline(__always)
    func withSearch<Result>(
        _ bytes: UnsafeBufferPointer<UInt8>, _ parts: RouteURLParts, _ body: (TableSearch) -> Result?
    ) -> Result? {
        guard let text = bytes.baseAddress else { return nil }
        let scheme = storage.reader.pointee.scheme(
            text, start: Int(parts.start), length: Int(parts.schemeLength), limit: bytes.count)
        var host = Int(parts.hostStart)..<Int(parts.hostEnd)
        var path = Int(parts.pathStart)..<Int(parts.pathEnd)
        if host.upperBound == path.lowerBound {
            // Without a port between them they are one text.
            path = host.lowerBound..<path.upperBound
            host = 0..<0
        }
        return search(
            text, limit: bytes.count, scheme: scheme, host: host, path: path, isEncoded: parts.isEncoded, body
        )
    }

    // How many components fit on the stack beside the caller's own things.
    static var stackComponents: Int { 24 }

    @inline(__always)
    private func search<Result>(
        _ text: UnsafePointer<UInt8>, limit: Int, scheme: UInt32, host: Range<Int>, path: Range<Int>,
        isEncoded: Bool?, _ body: (TableSearch) -> Result?
    ) -> Result? {
        let deepest = storage.reader.pointee.deepest
        if deepest < Self.stackComponents {
            return withUnsafeTemporaryAllocation(of: PathComponent.self, capacity: Self.stackComponents) {
                space in
                guard let target = space.baseAddress else { return nil }
                return search(
                    text, limit: limit, scheme: scheme, host: host, path: path, isEncoded: isEncoded,
                    target: target, body)
            }
        }
        return withUnsafeTemporaryAllocation(of: PathComponent.self, capacity: deepest + 1) { space in
            guard let target = space.baseAddress else { return nil }
            return search(
                text, limit: limit, scheme: scheme, host: host, path: path, isEncoded: isEncoded,
                target: target,
                body)
        }
    }

    @inline(__always)
    private func search<Result>(
        _ text: UnsafePointer<UInt8>, limit: Int, scheme: UInt32, host: Range<Int>, path: Range<Int>,
        isEncoded: Bool?, target: UnsafeMutablePointer<PathComponent>, _ body: (TableSearch) -> Result?
    ) -> Result? {
        let reader = storage.reader
        if isEncoded != true, !reader.pointee.ignoresCase {
            var splitter = PathSplitter(
                text: text, limit: limit, seed: reader.pointee.seed, target: target,
                capacity: reader.pointee.deepest &+ 1)
            var sawPercent = false
            if !host.isEmpty { sawPercent = splitter.split(from: host.lowerBound, to: host.upperBound) }
            if splitter.split(from: path.lowerBound, to: path.upperBound) { sawPercent = true }
            if !sawPercent || isEncoded != nil {
                return body(
                    TableSearch(
                        reader: reader, components: target, count: splitter.count, text: text, given: text,
                        scheme: scheme)
                )
            }
        }
        return searchEncoded(text, limit, scheme, host, path, target, body)
    }

    private func searchEncoded<Result>(
        _ text: UnsafePointer<UInt8>, _ limit: Int, _ scheme: UInt32, _ host: Range<Int>, _ path: Range<Int>,
        _ target: UnsafeMutablePointer<PathComponent>, _ body: (TableSearch) -> Result?
    ) -> Result? {
        let reader = storage.reader
        let space = max(path.upperBound, 1)
        let ignoresCase = reader.pointee.ignoresCase
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ignoresCase ? 2 * space : space) {
            guard let scratch = $0.baseAddress else { return nil }
            let lower = ignoresCase ? scratch + space : nil
            var splitter = PathSplitter(
                text: text, limit: limit, seed: reader.pointee.seed, target: target,
                capacity: reader.pointee.deepest &+ 1)
            splitter.splitEncoded(
                from: host.lowerBound, to: host.upperBound, scratch: scratch, lower: lower)
            splitter.splitEncoded(
                from: path.lowerBound, to: path.upperBound, scratch: scratch, lower: lower)
            return body(
                TableSearch(
                    reader: reader, components: target, count: splitter.count, text: lower ?? scratch,
                    given: scratch, scheme: scheme))
        }
    }

    // MARK: Parameters

    /// What the placeholders of the matched pattern gave, from left to right, decoded and converted.
    ///
    /// `match` must come from this table and `url`.
    public func parameters(of match: RouteMatch, in url: RouteURL) -> [CapturedParameter] {
        guard match.parameterCount > 0, match.entry < storage.entries.count else { return [] }
        let layout = Int(storage.entries[match.entry].layout)
        guard layout < storage.captures.count else { return [] }
        var components: [String]?
        var parameters: [CapturedParameter] = []
        for (number, capture) in storage.captures[layout].captures.enumerated() {
            var text: String
            if !capture.isRest, let range = match.range(ofParameter: number) {
                text = url.decoded(
                    UInt32(truncatingIfNeeded: range.lowerBound), UInt32(truncatingIfNeeded: range.upperBound)
                )
            } else {
                let all = components ?? url.components
                components = all
                guard capture.position < all.count else { continue }
                text =
                    capture.isRest ? all[capture.position...].joined(separator: "/") : all[capture.position]
            }
            text = capture.text(of: text, ignoringCase: storage.ignoresCase)
            let converter = capture.converter - 1
            parameters.append(
                CapturedParameter(
                    name: capture.name, text: text,
                    converter: converter >= 0 ? storage.converters.names[converter] : nil,
                    value: converter >= 0 ? storage.converters.value(text, converter: converter) : nil))
        }
        return parameters
    }

    /// The pattern of the matched route, as it was written.
    ///
    /// `match` must come from this table.
    package func pattern(of match: RouteMatch) -> String {
        guard match.entry < storage.entries.count else { return "" }
        return storage.patternText(storage.entries[match.entry])
    }
}
