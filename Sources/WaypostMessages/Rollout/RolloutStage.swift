/// How many agents a stage of a roll-out has: a share of all, or a count of those that are online.
package enum RolloutStage: Sendable, Hashable, CustomStringConvertible {
    /// So many of those that are online now: those with the smallest numbers.
    case count(Int)
    /// A share of all, in thousandths of a per cent: 100 000 is everyone.
    case share(Int)

    /// Everyone, in thousandths of a per cent.
    package static let everyone = 100_000
    /// The most stages of a roll-out.
    package static let maximumStages = 32

    /// Those of a roll-out that says nothing else.
    package static let standard: [RolloutStage] = [
        .count(5), .share(1_000), .share(10_000), .share(50_000), .share(everyone),
    ]

    /// Reads `5`, `1%`, `0.5%`; nil for anything else, for no one, and for more than everyone.
    package init?(_ text: String) {
        guard text.hasSuffix("%") else {
            guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let count = Int(text), (1...1_000_000).contains(count)
            else { return nil }
            self = .count(count)
            return
        }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count),
            parts.allSatisfy({ part in
                !part.isEmpty && part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            }), parts.count == 1 || parts[1].count <= 3, let whole = Int(parts[0]), whole <= 100
        else { return nil }
        let digits = parts.count == 1 ? "" : String(parts[1])
        let fraction = Int(digits + String(repeating: "0", count: 3 - digits.count)) ?? 0
        let share = whole * 1_000 + fraction
        guard (1...Self.everyone).contains(share) else { return nil }
        self = .share(share)
    }

    package var description: String {
        switch self {
        case .count(let count): return "\(count)"
        case .share(let share):
            guard share % 1_000 != 0 else { return "\(share / 1_000)%" }
            let digits = String(1_000 + share % 1_000).dropFirst()
            var fraction = digits[...]
            while fraction.last == "0" { fraction.removeLast() }
            return "\(share / 1_000).\(fraction)%"
        }
    }

    /// Whether it has fewer agents than another one, as far as that does not depend on how many there are.
    package func isBelow(_ other: RolloutStage) -> Bool {
        switch (self, other) {
        case (.count(let one), .count(let other)), (.share(let one), .share(let other)): one < other
        case (.count, .share): true
        case (.share(let share), .count): share < Self.everyone
        }
    }

    /// The number below which an agent's own chooses it.
    ///
    /// - Parameters:
    ///   - online: The numbers of the agents that are online and may be chosen, in any order.
    ///   - lowest: That of the stage before: no stage has fewer agents.
    package func below(online: [UInt64], atLeast lowest: UInt64 = 0) -> UInt64 {
        switch self {
        case .share(Self.everyone): return .max
        case .share(let share):
            // 2^64 does not fit.
            return max(lowest, UInt64.max / UInt64(Self.everyone) * UInt64(share))
        case .count(let count):
            let smallest = online.sorted().prefix(count)
            guard let last = smallest.last else { return lowest }
            return max(lowest, last == .max ? .max : last + 1)
        }
    }
}
