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
    package func nearest(to url: RouteURL, limit: Int = 3) -> [String] {
        guard limit > 0 else { return [] }
        // Longer ones are cut: the distance of two texts costs the product of their lengths.
        let wanted = url.components.prefix(Self.nearestComponentsCompared).map { component in
            component.utf8.prefix(64).map { storage.ignoresCase ? RouteScheme.lowercased($0) : $0 }
        }
        let scheme = Array(url.scheme.utf8)
        let bound = max(3, wanted.reduce(0) { $0 + $1.count } / 2 + 1)
        var found: [(distance: Int, pattern: String)] = []
        for record in likest(to: wanted) {
            let distance = record.distance(to: wanted, scheme: scheme, isUnderHost: syntax.host != nil)
            if distance <= bound { found.append((distance, record.pattern)) }
        }
        found.sort { $0 < $1 }
        var patterns: [String] = []
        for candidate in found where !patterns.contains(candidate.pattern) {
            patterns.append(candidate.pattern)
            if patterns.count == limit { break }
        }
        return patterns
    }

    /// The records that have most in common with a path, by a quick guess; of equally likely ones the oldest first.
    private func likest(to wanted: [[UInt8]]) -> [RouteRecordPointer] {
        var likest: [(likeness: Int, record: RouteRecordPointer)] = []
        for record in storage.records.routes.prefix(Self.nearestRoutesLookedAt)
        where !record.header.pointee.isShorter {
            let guess = record.likeness(to: wanted)
            if likest.count == Self.nearestRoutesCompared {
                guard let last = likest.last, guess > last.likeness else { continue }
                likest.removeLast()
            }
            likest.insert(
                (guess, record), at: likest.firstIndex { $0.likeness < guess } ?? likest.endIndex)
        }
        return likest.map(\.record)
    }
}

extension RouteRecordPointer {
    /// How many components there are to compare with.
    fileprivate var comparedSteps: Int {
        header.pointee.isFallback ? 0 : min(Int(header.pointee.depth), RouteTable.nearestComponentsCompared)
    }

    /// Guesses how near its pattern is to a path: how many components are equal from either end, and whether the first
    /// letters are.
    fileprivate func likeness(to wanted: [[UInt8]]) -> Int {
        let count = comparedSteps
        let shift = wanted.count - count
        var likeness = -2 * abs(shift)
        var step = step(at: 0)
        for index in 0..<count {
            let literal = step.literal
            step = step.next
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
        let header = header.pointee
        let scheme = text.prefix(Int(header.schemeLength)).map { RouteScheme.lowercased($0) }
        // Behind how many components an optional part begins.
        let cuts = header.optional.pieces.map { $0 + (isUnderHost && scheme.isEmpty ? 1 : 0) }
        var row = [0]
        for other in wanted { row.append((row.last ?? 0) + max(3, other.count)) }
        var shorter = Int.max
        var step = step(at: 0)
        for number in 0..<comparedSteps {
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
            step = step.next
        }
        var distance = min(row.last ?? 0, shorter)
        if header.endsWithRest { distance = min(distance, row.min() ?? distance) }
        if !scheme.isEmpty { distance += EditDistance.between(scheme, wantedScheme) }
        return distance
    }
}

private func isEqual(_ literal: UnsafeBufferPointer<UInt8>, _ component: [UInt8]) -> Bool {
    // Most differ in length already.
    literal.count == component.count && literal.elementsEqual(component)
}
