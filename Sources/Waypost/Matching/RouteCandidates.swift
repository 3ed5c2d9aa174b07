/// The routes that take a URL, in the total order of ``RouteTable``.
///
/// The first is found without looking at the others: only who goes on, because a handler passed, pays for a list.
struct RouteMatches: Sendable {
    private var given = 0
    private var all: [RouteMatch]?

    /// The next best one; the same URL and table each time, of which it holds no copy.
    mutating func next(_ url: borrowing RouteURL, in table: borrowing RouteTable) -> RouteMatch? {
        defer { given += 1 }
        guard given > 0 else {
            let first = table.firstMatch(url)
            if first == nil { all = [] }
            return first
        }
        let matches = all ?? table.allMatches(url)
        all = matches
        return given < matches.count ? matches[given] : nil
    }
}

/// The same with what was captured.
package struct RouteCandidates: Sequence, IteratorProtocol, Sendable {
    let table: RouteTable
    let url: RouteURL
    private var matches = RouteMatches()

    init(table: RouteTable, url: RouteURL) { (self.table, self.url) = (table, url) }

    /// The best one.
    package var first: RouteCandidate? { first { _ in true } }

    /// The next best one.
    package mutating func next() -> RouteCandidate? {
        matches.next(url, in: table).map { RouteCandidate(match: $0, table: table, url: url) }
    }
}

/// One route that takes a URL.
package struct RouteCandidate: Sendable {
    /// The hit itself.
    let match: RouteMatch
    fileprivate let table: RouteTable
    fileprivate let url: RouteURL

    /// The index that the route was added with.
    package var index: UInt32 { match.index }
    /// The route's pattern, as it was written.
    package var pattern: String { table.pattern(of: match) }
    /// The values of the placeholders, from left to right, decoded and converted.
    package var parameters: [CapturedParameter] { table.parameters(of: match, in: url) }
}
