extension RouteTable {
    /// How many routes are looked at for the nearest ones, so that a miss stays cheap in a table of any size.
    static var nearestRoutesLookedAt: Int { 20_000 }
    /// How many of those are compared letter by letter.
    static var nearestRoutesCompared: Int { 32 }
    /// How many components of either are compared.
    fileprivate static var nearestComponentsCompared: Int { 16 }

    /// The patterns that are nearest to a URL which found no route, nearest first: what was probably meant.
    ///
    /// Components are compared one by one by edit distance; a placeholder fits any. Patterns more than about half of
    /// the URL away are no help and are left out. At most 20 000 routes are looked at, and the 32 that have most in
    /// common with the URL are compared.
    func nearest(to url: RouteURL, limit: Int = 3) -> [String] {
        guard limit > 0 else { return [] }
        // Longer ones are cut: the distance of two texts costs the product of their lengths.
        let wanted = url.components.prefix(Self.nearestComponentsCompared).map { component in
            component.utf8.prefix(64).map { storage.ignoresCase ? RouteScheme.lowercased($0) : $0 }
        }
        let scheme = Array(url.scheme.utf8)
        let bound = max(3, wanted.reduce(0) { $0 + $1.count } / 2 + 1)
        // By a quick guess; of equally likely ones the oldest first.
        let likest = storage.records.routes.prefix(Self.nearestRoutesLookedAt)
            .filter { !$0.header.pointee.isShorter }.map { ($0, likeness: $0.likeness(to: wanted)) }
            .sorted { $0.likeness > $1.likeness }.prefix(Self.nearestRoutesCompared)
        let found = likest.map { record, _ in
            (record.distance(to: wanted, scheme: scheme, isUnderHost: syntax.host != nil), record.pattern)
        }
        var patterns: [String] = []
        for (distance, pattern) in found.sorted(by: <)
        where distance <= bound && patterns.count < limit && !patterns.contains(pattern) {
            patterns.append(pattern)
        }
        return patterns
    }
}

extension RouteRecordPointer {
    /// The steps that are compared.
    private var comparedSteps: some Sequence<PathStep> {
        steps.prefix(header.pointee.isFallback ? 0 : RouteTable.nearestComponentsCompared)
    }

    /// Guesses how near its pattern is to a path: how many components are equal from either end, and whether the first
    /// letters are.
    fileprivate func likeness(to wanted: [[UInt8]]) -> Int {
        let depth = header.pointee.isFallback ? 0 : Int(header.pointee.depth)
        let shift = wanted.count - min(depth, RouteTable.nearestComponentsCompared)
        var likeness = -2 * abs(shift)
        for (index, step) in comparedSteps.enumerated() {
            let literal = step.literal
            if index < wanted.count {
                if isEqual(literal, wanted[index]) {
                    likeness += 4
                } else if literal.first == wanted[index].first {
                    likeness += 1
                }
            }
            if index + shift >= 0, isEqual(literal, wanted[index + shift]) { likeness += 2 }
        }
        return likeness
    }

    /// The edit distance component by component; a missing or superfluous one costs its length, at least 3.
    ///
    /// Literals are compared by their first 64 bytes; what a placeholder takes is not known to be wrong, but an equal
    /// literal is better.
    fileprivate func distance(to wanted: [[UInt8]], scheme wantedScheme: [UInt8], isUnderHost: Bool) -> Int {
        let scheme = scheme.map { RouteScheme.lowercased($0) }
        // Behind how many components an optional part begins.
        let cuts = header.pointee.optional.pieces.map { $0 + (isUnderHost && scheme.isEmpty ? 1 : 0) }
        // The distance to as many of the wanted components as the index says.
        var row = wanted.reduce(into: [0]) { $0.append(($0.last ?? 0) + max(3, $1.count)) }
        var shorter = Int.max
        for (number, step) in comparedSteps.enumerated() {
            if cuts.contains(number) { shorter = min(shorter, row.last ?? shorter) }
            let literal = step.isLiteral ? Array(step.literal.prefix(64)) : nil
            let cost = max(3, literal?.count ?? 3)
            var next = [row[0] + cost]
            for (index, other) in wanted.enumerated() {
                let change = literal.map { EditDistance.between($0, other) } ?? 1
                next.append(
                    min(row[index] + change, row[index + 1] + cost, next[index] + max(3, other.count)))
            }
            row = next
        }
        var distance = min(row.last ?? 0, shorter)
        if header.pointee.endsWithRest { distance = min(distance, row.min() ?? distance) }
        if !scheme.isEmpty { distance += EditDistance.between(scheme, wantedScheme) }
        return distance
    }
}

private func isEqual(_ literal: UnsafeBufferPointer<UInt8>, _ component: [UInt8]) -> Bool {
    // Most differ in length already.
    literal.count == component.count && literal.elementsEqual(component)
}
