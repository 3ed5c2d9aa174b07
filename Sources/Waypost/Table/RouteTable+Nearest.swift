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
        let wanted = url.components.prefix(16).map { Array($0.utf8.prefix(64)) }
        let scheme = Array(url.scheme.utf8)
        let bound = max(3, wanted.reduce(0) { $0 + $1.count } / 2 + 1)
        var found: [(distance: Int, pattern: String)] = []
        for record in likest(to: wanted) {
            let sketch = PatternSketch(record.text)
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
        var looked = 0
        withUnsafeTemporaryAllocation(of: Range<Int>.self, capacity: PatternLikeness.components) { space in
            let likeness = PatternLikeness(wanted: wanted, space: space)
            storage.forEachRecord { record in
                let guess = likeness.of(record.text)
                if guess > least, !record.header.pointee.isShorter {
                    likest.append((guess, record))
                    if likest.count == limit {
                        cut()
                        least = likest.last?.likeness ?? least
                    }
                }
                looked += 1
                return looked < Self.nearestRoutesLookedAt
            }
        }
        cut()
        return likest.map(\.record)
    }
}

/// Guesses how near patterns are to a path: how many components are equal from either end, and whether the first
/// letters are.
private struct PatternLikeness {
    static let components = 16

    let wanted: [[UInt8]]
    /// Where the components of the pattern lie.
    let space: UnsafeMutableBufferPointer<Range<Int>>

    func of(_ text: UnsafeBufferPointer<UInt8>) -> Int {
        let count = split(text)
        var likeness = -2 * abs(wanted.count - count)
        for index in 0..<min(count, wanted.count) {
            let component = UnsafeBufferPointer(rebasing: text[space[index]])
            if component.elementsEqual(wanted[index]) {
                likeness += 4
            } else if component.first == wanted[index].first {
                likeness += 1
            }
            let last = UnsafeBufferPointer(rebasing: text[space[count - 1 - index]])
            if last.elementsEqual(wanted[wanted.count - 1 - index]) { likeness += 2 }
        }
        return likeness
    }

    private func split(_ text: UnsafeBufferPointer<UInt8>) -> Int {
        var start = 0
        if let colon = text.firstIndex(of: UInt8(ascii: ":")), colon + 2 < text.count,
            text[colon + 1] == UInt8(ascii: "/"), text[colon + 2] == UInt8(ascii: "/")
        {
            start = colon + 3
        }
        var count = 0
        var end = start
        while end <= text.count, count < Self.components {
            let isOver = end == text.count || text[end] == UInt8(ascii: "?") || text[end] == UInt8(ascii: "#")
            if isOver || text[end] == UInt8(ascii: "/") {
                if end > start {
                    // What stands before an optional part ends with its parenthesis.
                    space[count] = start..<(text[end - 1] == UInt8(ascii: "(") ? end - 1 : end)
                    count += 1
                }
                if isOver { break }
                start = end + 1
            }
            end += 1
        }
        return count
    }
}

/// A pattern's components for comparing: literals as bytes, everything else as nil.
struct PatternSketch {
    private var scheme: [UInt8] = []
    private var components: [[UInt8]?] = []
    private var endsWithRest = false
    /// Behind how many components an optional part begins.
    private var cuts: [Int] = []

    init(_ text: UnsafeBufferPointer<UInt8>) {
        var start = 0
        if let colon = text.firstIndex(of: UInt8(ascii: ":")), colon + 2 < text.count,
            text[colon + 1] == UInt8(ascii: "/"), text[colon + 2] == UInt8(ascii: "/")
        {
            scheme = text[..<colon].map { RouteScheme.lowercased($0) }
            start = colon + 3
        }
        let end =
            text[start...].firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? text.count
        let all = text[start..<end].split(separator: UInt8(ascii: "/")).prefix(16)
        for (number, part) in all.enumerated() {
            var component = part
            if component.last == UInt8(ascii: "("), number + 1 < all.count {
                component.removeLast()
                cuts.append(components.count + (component.isEmpty ? 0 : 1))
                if component.isEmpty { continue }
            }
            if number + 1 == all.count {
                for _ in cuts where component.last == UInt8(ascii: ")") { component.removeLast() }
            }
            let isLiteral = !component.contains { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "<") }
            endsWithRest = component.elementsEqual("**".utf8) || component.starts(with: "<path:".utf8)
            if isLiteral, !endsWithRest, !component.elementsEqual("*".utf8) {
                components.append(
                    Array(
                        Array(PercentCoding.decode(String(decoding: component, as: UTF8.self)).utf8).prefix(
                            64)))
            } else {
                components.append(nil)
            }
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
