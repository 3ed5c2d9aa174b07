/// The routes that take a URL, in the total order of ``RouteTable``.
///
/// The first is found without looking at the others: only who goes on, because a handler passed, pays for a list.
package struct RouteCandidates: Sequence, Sendable {
    let table: RouteTable
    let url: RouteURL

    /// Finds the candidates one after the other.
    package func makeIterator() -> Iterator {
        Iterator(candidates: self)
    }

    /// The best one.
    package var first: RouteCandidate? {
        table.firstMatch(url).map(candidate)
    }

    fileprivate func candidate(_ match: RouteMatch) -> RouteCandidate {
        RouteCandidate(match: match, table: table, url: url)
    }

    /// Goes through the candidates.
    package struct Iterator: IteratorProtocol, Sendable {
        fileprivate let candidates: RouteCandidates
        fileprivate var given = 0
        fileprivate var all: [RouteMatch] = []

        /// The next best one.
        package mutating func next() -> RouteCandidate? {
            defer { given += 1 }
            if given == 0 { return candidates.first }
            if given == 1 { all = candidates.table.allMatches(candidates.url) }
            return given < all.count ? candidates.candidate(all[given]) : nil
        }
    }
}

/// One route that takes a URL.
package struct RouteCandidate: Sendable {
    /// The hit itself.
    package let match: RouteMatch
    fileprivate let table: RouteTable
    fileprivate let url: RouteURL

    /// The index that the route was added with.
    package var index: UInt32 { match.index }
    /// The route's pattern, as it was written.
    package var pattern: String { table.pattern(of: match) }
    /// The values of the placeholders, from left to right, decoded and converted.
    package var parameters: [CapturedParameter] { table.parameters(of: match, in: url) }
}
