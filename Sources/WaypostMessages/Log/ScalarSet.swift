/// The characters that one place of a ``RegularExpression`` takes.
struct ScalarSet: Sendable {
    /// In order, and apart from each other.
    private var ranges: [ClosedRange<UInt32>] = []
    private var isNegated = false
    private let ignoresCase: Bool

    init(_ ranges: [ClosedRange<UInt32>], isNegated: Bool = false, ignoresCase: Bool = false) {
        self.ignoresCase = ignoresCase
        self.isNegated = isNegated
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = self.ranges.last, range.lowerBound <= last.upperBound {
                self.ranges[self.ranges.count - 1] =
                    last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                self.ranges.append(range)
            }
        }
    }

    init(_ scalar: Unicode.Scalar, ignoresCase: Bool = false) {
        self.init([scalar.value...scalar.value], ignoresCase: ignoresCase)
    }

    /// `.`: all but the end of a line.
    static let any = ScalarSet([0x0A...0x0A, 0x0D...0x0D, 0x2028...0x2029], isNegated: true)
    static let word = ScalarSet(wordRanges)

    static let wordRanges: [ClosedRange<UInt32>] = [0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A]
    static let digitRanges: [ClosedRange<UInt32>] = [0x30...0x39]
    static let spaceRanges: [ClosedRange<UInt32>] = [
        0x09...0x0D, 0x20...0x20, 0xA0...0xA0, 0x1680...0x1680, 0x2000...0x200A, 0x2028...0x2029,
        0x202F...0x202F, 0x205F...0x205F, 0x3000...0x3000, 0xFEFF...0xFEFF,
    ]

    /// All that are in none of the ranges.
    static func others(than ranges: [ClosedRange<UInt32>]) -> [ClosedRange<UInt32>] {
        var (others, next): ([ClosedRange<UInt32>], UInt32) = ([], 0)
        for range in ScalarSet(ranges).ranges {
            if range.lowerBound > next { others.append(next...range.lowerBound - 1) }
            next = range.upperBound + 1
        }
        if next <= 0x10FFFF { others.append(next...0x10FFFF) }
        return others
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        var isIn = holds(scalar.value)
        if !isIn, ignoresCase {
            let (lower, upper) = (scalar.properties.lowercaseMapping, scalar.properties.uppercaseMapping)
            isIn = [lower, upper].contains { text in
                let scalars = text.unicodeScalars
                return scalars.count == 1 && scalars.first.map { holds($0.value) } ?? false
            }
        }
        return isIn != isNegated
    }

    private func holds(_ value: UInt32) -> Bool {
        guard ranges.count > 8 else { return ranges.contains { $0.contains(value) } }
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < value { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].contains(value)
    }
}
