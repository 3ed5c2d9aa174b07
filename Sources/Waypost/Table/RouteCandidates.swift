/// The routes that take a URL, in the total order of ``RouteTable``.
///
/// The first is found without looking at the others: only who goes on, because a handler passed, pays for a list.
public struct RouteCandidates: Sequence, Sendable {
    let table: RouteTable
    let url: RouteURL

    /// Finds the candidates one after the other.
    public func makeIterator() -> Iterator {
        Iterator(table: table, url: url)
    }

    /// The best one.
    public var first: RouteCandidate? {
        table.firstMatch(url).map { RouteCandidate(match: $0, table: table, url: url) }
    }

    /// Goes through the candidates.
    public struct Iterator: IteratorProtocol, Sendable {
        private let table: RouteTable
        private let url: RouteURL
        private var given = 0
        private var others: [RouteMatch]?

        init(table: RouteTable, url: RouteURL) {
            self.table = table
            self.url = url
        }

        /// The next best one.
        public mutating func next() -> RouteCandidate? {
            let match: RouteMatch?
            if given == 0 {
                match = table.firstMatch(url)
                if match == nil { others = [] }
            } else {
                let all = others ?? table.allMatches(url)
                others = all
                match = given < all.count ? all[given] : nil
            }
            given += 1
            return match.map { RouteCandidate(match: $0, table: table, url: url) }
        }
    }
}

/// One route that takes a URL.
public struct RouteCandidate: Sendable {
    /// The hit itself.
    public let match: RouteMatch
    private let table: RouteTable
    private let url: RouteURL

    init(match: RouteMatch, table: RouteTable, url: RouteURL) {
        self.match = match
        self.table = table
        self.url = url
    }

    /// The index that the route was added with.
    public var index: UInt32 { match.index }
    /// The route's pattern, as it was written.
    public var pattern: String { table.pattern(of: match) }
    /// The values of the placeholders, from left to right, decoded and converted.
    public var parameters: [CapturedParameter] { table.parameters(of: match, in: url) }
}

extension RouteTable {
    /// All hits in their order.
    func allMatches(_ url: RouteURL) -> [RouteMatch] {
        url.text.utf8Span.span.withUnsafeBufferPointer { bytes in
            search(bytes, url.parts, AllMatches(table: self, pathEnd: Int(url.parts.pathEnd))) ?? []
        }
    }

    private struct AllMatches: TableQuery {
        let table: RouteTable
        let pathEnd: Int

        func result(of search: TableSearch) -> [RouteMatch]? {
            var list = CandidateList()
            search.visitAll(&list)
            return table.withoutRepeats(list.references).map { search.match($0, pathEnd: pathEnd) }
        }
    }

    /// A parent with optional parts may take a URL in several ways, of which the first counts.
    fileprivate func withoutRepeats(_ references: [UInt32]) -> [UInt32] {
        var known: Set<String> = []
        return references.filter { reference in
            let record = storage.record(reference)
            guard record.header.pointee.takesDeeper, !record.header.pointee.optional.areNone else {
                return true
            }
            return known.insert("\(record.header.pointee.priority) \(record.pattern)").inserted
        }
    }
}
