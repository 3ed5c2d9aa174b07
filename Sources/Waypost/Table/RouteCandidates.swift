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
