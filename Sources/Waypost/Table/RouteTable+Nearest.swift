extension RouteTable {
    /// How many routes are looked at for the nearest ones, so that a miss stays cheap in a table of any size.
    static var nearestRoutesLookedAt: Int { 20_000 }
    /// How many of those are compared letter by letter.
    static var nearestRoutesCompared: Int { 32 }

    /// The patterns that are nearest to a URL which found no route, nearest first: what was probably meant.
    ///
    /// Components are compared one by one by edit distance; a placeholder fits any. Patterns more than about half of
    /// the URL away are no help and are left out. At most 20 000 routes are looked at, and the 32 that have most in
    /// common with the URL are compared.
    package func nearest(to url: RouteURL, limit: Int = 3) -> [String] {
        guard limit > 0 else { return [] }
        // Longer ones are cut: the distance of two texts costs the product of their lengths.
        let wanted = url.components.prefix(PatternSketch.components).map { component in
            component.utf8.prefix(64).map { storage.ignoresCase ? RouteScheme.lowercased($0) : $0 }
        }
        let scheme = Array(url.scheme.utf8)
        let bound = max(3, wanted.reduce(0) { $0 + $1.count } / 2 + 1)
        var found: [(distance: Int, pattern: String)] = []
        for record in likest(to: wanted) {
            let sketch = PatternSketch(record, isUnderHost: syntax.host != nil)
            let distance = sketch.distance(to: wanted, scheme: scheme)
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

    /// The records that have most in common with a path, by a quick guess that needs no memory for each.
    private func likest(to wanted: [[UInt8]]) -> [RouteRecordPointer] {
        var likest: [(likeness: Int, record: RouteRecordPointer)] = []
        let limit = 2 * Self.nearestRoutesCompared
        likest.reserveCapacity(limit)
        func cut() {
            // Of equally likely ones the oldest first.
            likest.sort {
                ($1.likeness, $0.record.header.pointee.own) < ($0.likeness, $1.record.header.pointee.own)
            }
            likest.removeLast(max(0, likest.count - Self.nearestRoutesCompared))
        }
        var least = Int.min
        for record in storage.routes.prefix(Self.nearestRoutesLookedAt) {
            let guess = record.likeness(to: wanted)
            guard guess > least, !record.header.pointee.isShorter else { continue }
            likest.append((guess, record))
            if likest.count == limit {
                cut()
                least = likest.last?.likeness ?? least
            }
        }
        cut()
        return likest.map(\.record)
    }
}

extension RouteRecordPointer {
    /// How many components there are to compare with.
    fileprivate var comparedSteps: Int {
        header.pointee.isFallback ? 0 : min(Int(header.pointee.depth), PatternSketch.components)
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
            if index < wanted.count, literal.elementsEqual(wanted[index]) {
                likeness += 4
            } else if index < wanted.count, literal.first == wanted[index].first {
                likeness += 1
            }
            if index + shift >= 0, literal.elementsEqual(wanted[index + shift]) { likeness += 2 }
        }
        return likeness
    }
}

/// A pattern's components for comparing: literals as bytes, everything else as nil.
private struct PatternSketch {
    /// How many are compared.
    static let components = 16

    private let scheme: [UInt8]
    private var components: [[UInt8]?] = []
    private let endsWithRest: Bool
    /// Behind how many components an optional part begins.
    private let cuts: [Int]

    init(_ record: RouteRecordPointer, isUnderHost: Bool) {
        let header = record.header.pointee
        scheme = record.text.prefix(Int(header.schemeLength)).map { RouteScheme.lowercased($0) }
        endsWithRest = header.endsWithRest
        let host = isUnderHost && scheme.isEmpty ? 1 : 0
        cuts = header.optional.pieces.map { $0 + host }
        var step = record.step(at: 0)
        for _ in 0..<record.comparedSteps {
            components.append(step.isLiteral ? Array(step.literal.prefix(64)) : nil)
            step = step.next
        }
    }

    /// The edit distance component by component; a missing or superfluous one costs its length, at least 3.
    func distance(to wanted: [[UInt8]], scheme wantedScheme: [UInt8]) -> Int {
        var row = [0]
        for other in wanted { row.append((row.last ?? 0) + max(3, other.count)) }
        var shorter = Int.max
        for (number, component) in components.enumerated() {
            if cuts.contains(number) { shorter = min(shorter, row.last ?? shorter) }
            var next = [row[0] + (component.map { max(3, $0.count) } ?? 3)]
            for (index, other) in wanted.enumerated() {
                // What a placeholder takes is not known to be wrong, but an equal literal is better.
                let change = component.map { EditDistance.between($0, other) } ?? 1
                let without = row[index + 1] + (component.map { max(3, $0.count) } ?? 3)
                next.append(min(row[index] + change, without, next[index] + max(3, other.count)))
            }
            row = next
        }
        var distance = min(row.last ?? 0, shorter)
        if endsWithRest { distance = min(distance, row.min() ?? distance) }
        if !scheme.isEmpty { distance += EditDistance.between(scheme, wantedScheme) }
        return distance
    }
}
