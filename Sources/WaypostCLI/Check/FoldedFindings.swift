import Waypost
import WaypostBackend
import WaypostTools

/// Findings of which those that say the same of many entries are one.
struct FoldedFindings {
    /// A finding, and the other entries of its file of which the same is said.
    struct Item {
        let first: CheckFinding
        fileprivate(set) var numbers: [Int] = []

        /// `entry 1 of 300: … (and 299 more: entries 2-300)`.
        var message: String {
            guard !numbers.isEmpty else { return first.message }
            return "\(first.message) (and \(numbers.count) more: entries \(Self.ranges(numbers)))"
        }

        private static func ranges(_ numbers: [Int]) -> String {
            var ranges: [ClosedRange<Int>] = []
            for number in numbers {
                if let last = ranges.last, last.upperBound + 1 == number {
                    ranges[ranges.count - 1] = last.lowerBound...number
                } else {
                    ranges.append(number...number)
                }
            }
            let shown = ranges.prefix(8).map { range in
                range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
            }
            return shown.joined(separator: ", ") + (ranges.count > shown.count ? ", …" : "")
        }
    }

    private struct Key: Hashable {
        let file: String?
        let kind: CheckReport.Finding.Kind
        let reason: String
    }

    /// Fewer than these are shown one by one.
    private static let fewest = 4

    private(set) var items: [Item] = []

    init(_ findings: [CheckFinding]) {
        let groups = Dictionary(grouping: findings.filter { $0.number != nil }, by: Self.key)
        var places: [Key: Int] = [:]
        for finding in findings {
            let key = Self.key(finding)
            guard let number = finding.number, groups[key, default: []].count >= Self.fewest else {
                items.append(Item(first: finding))
                continue
            }
            if let place = places[key] {
                items[place].numbers.append(number)
            } else {
                places[key] = items.count
                items.append(Item(first: finding))
            }
        }
    }

    private static func key(_ finding: CheckFinding) -> Key {
        Key(file: finding.place?.file, kind: finding.kind, reason: finding.finding.reason)
    }
}
