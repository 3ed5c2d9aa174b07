/// The classes of §3, in their order.
enum CandidateRank: UInt8 {
    case whole, parent, schemeFallback, fallback
}

/// What a search shows its hits to, in the order of components.
protocol CandidateSink {
    /// Whether it is shown parents that take deeper URLs.
    static var wantsParents: Bool { get }
    /// Takes a hit; true when it has seen enough.
    mutating func take(_ hit: Candidate) -> Bool
}

/// A hit.
struct Candidate {
    let reference: UInt32
    let record: UnsafePointer<RouteRecord>
    let rank: CandidateRank

    /// Whether it comes before one that was seen earlier, which of equal ones is the more specific.
    func precedes(_ other: Candidate) -> Bool {
        let (one, two) = (record.pointee, other.record.pointee)
        if one.priority != two.priority { return one.priority > two.priority }
        if rank != other.rank { return rank.rawValue < other.rank.rawValue }
        // The parent that has more components.
        return rank == .parent && one.depth > two.depth
    }
}

/// Keeps the first hit, which is the best when all routes have one priority.
struct FirstHit: CandidateSink {
    static var wantsParents: Bool { false }
    /// That of its record; 0 for none.
    private(set) var reference: UInt32 = 0

    @inline(__always)
    mutating func take(_ hit: Candidate) -> Bool {
        reference = hit.reference
        return true
    }
}

/// Keeps the best hit.
struct BestCandidate: CandidateSink {
    static var wantsParents: Bool { true }
    private(set) var best: Candidate?

    mutating func take(_ hit: Candidate) -> Bool {
        if best.map(hit.precedes) ?? true { best = hit }
        return false
    }
}

/// Keeps all of them, to be tried one after the other.
struct CandidateList: CandidateSink {
    static var wantsParents: Bool { true }
    private var hits: [Candidate] = []

    /// In the order of §3.
    var references: [UInt32] {
        hits.enumerated().sorted { one, other in
            one.element.precedes(other.element)
                || !other.element.precedes(one.element) && one.offset < other.offset
        }.map(\.element.reference)
    }

    mutating func take(_ hit: Candidate) -> Bool {
        hits.append(hit)
        return false
    }
}
