/// What is put beside a certificate in use, and what goes wrong while it is tried, drawn from a seed.
struct CertificateDeeds {
    enum Trouble {
        case cut
        case broker(isKilled: Bool)
        /// The broker is not there for this try.
        case unreachable
        case power
        /// The machine comes to its end with one of the next steps that the agent makes with its files.
        case swap(steps: Int)
        case sync
        case clock(Int64)
        case another(SentCertificates.Kind)

        fileprivate var part: HistoryPart? {
            switch self {
            case .cut, .unreachable: .cut
            case .broker: .broker
            case .power, .swap: .power
            case .sync: .sync
            case .clock: .clock
            case .another: nil
            }
        }
    }

    /// How something is written.
    struct Manner {
        /// Over what is there, and not in its place.
        let isInPlace: Bool
        let syncs: Bool
    }

    private var draws: Draws
    private let without: Set<HistoryPart>

    init(_ draws: Draws, without: Set<HistoryPart>) { (self.draws, self.without) = (draws, without) }

    private mutating func drawn(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &draws) }

    /// Good ones more often than others.
    private mutating func kind() -> SentCertificates.Kind {
        drawn(0...2) == 0 ? .good : SentCertificates.Kind.allCases.randomElement(using: &draws) ?? .good
    }

    mutating func manner() -> Manner { Manner(isInPlace: drawn(0...1) == 0, syncs: drawn(0...1) == 0) }

    /// What people put there after another deed, and how long they look then, in milliseconds; nil for nothing.
    mutating func next() -> (kind: SentCertificates.Kind, pause: Int)? {
        let (isThere, kind, pause) = (drawn(0...4) == 0, kind(), [0, 3_000, 11_000, 22_000][drawn(0...3)])
        return isThere ? (kind, pause) : nil
    }

    /// What the agent's own program does: what it puts there, if anything, and how long that takes, in milliseconds.
    mutating func made() -> (kind: SentCertificates.Kind?, pause: Int) {
        (drawn(0...2) > 0 ? kind() : nil, drawn(0...3) == 0 ? drawn(0...40_000) : drawn(0...300))
    }

    /// Whether the broker is not there for the first try when all else is well.
    mutating func isAwayAtRest() -> Bool { drawn(0...2) == 0 }

    mutating func trouble(mayEnd: Bool) -> Trouble? {
        let (way, size, other) = (drawn(0...19), drawn(0...8), kind())
        let trouble: Trouble? =
            switch way {
            case 0: .cut
            case 1: .broker(isKilled: size.isMultiple(of: 2))
            case 2, 3: .unreachable
            case 4 where mayEnd: .power
            case 5...9 where mayEnd: .swap(steps: size + 1)
            case 10, 11: .sync
            case 12: .clock(Int64(size - 4) * 900_000)
            case 13: .another(other)
            default: nil
            }
        return trouble.flatMap { found in
            found.part.map(without.contains) ?? false ? nil : found
        }
    }
}
