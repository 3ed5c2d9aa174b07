/// The classes of §3, in their order.
enum CandidateRank: UInt8 {
    case whole, parent, schemeFallback, fallback
}

/// What a search shows its hits to.
protocol CandidateSink {
    /// Whether it is shown parents that take deeper URLs.
    static var wantsParents: Bool { get }
    /// Takes a hit; true when it has seen enough.
    mutating func take(_ reference: UInt32, _ record: UnsafePointer<RouteRecord>, rank: CandidateRank) -> Bool
}

/// Keeps the first hit, which is the best when all routes have one priority.
struct FirstHit: CandidateSink {
    private(set) var record: UInt32 = 0

    static var wantsParents: Bool { false }

    @inline(__always)
    mutating func take(_ reference: UInt32, _ record: UnsafePointer<RouteRecord>, rank: CandidateRank) -> Bool
    {
        self.record = reference
        return true
    }
}

/// A hit with what it is ordered by.
private struct Candidate {
    var record: UInt32
    var priority: Int64
    var rank: CandidateRank
    /// How many components a parent has.
    var depth: UInt8
    var sequence = 0

    init(_ reference: UInt32, _ record: UnsafePointer<RouteRecord>, _ rank: CandidateRank, sequence: Int) {
        self.record = reference
        priority = record.pointee.priority
        self.rank = rank
        depth = rank == .parent ? record.pointee.depth : 0
        self.sequence = sequence
    }

    /// Whether it comes before another one in the order of §3; of equal ones the first does, which is the more specific.
    func precedes(_ other: Candidate) -> Bool {
        if priority != other.priority { return priority > other.priority }
        if rank != other.rank { return rank.rawValue < other.rank.rawValue }
        if depth != other.depth { return depth > other.depth }
        return sequence < other.sequence
    }
}

/// Keeps the best hit.
struct BestCandidate: CandidateSink {
    private var best: Candidate?

    static var wantsParents: Bool { true }
    var record: UInt32 { best?.record ?? 0 }

    mutating func take(_ reference: UInt32, _ record: UnsafePointer<RouteRecord>, rank: CandidateRank) -> Bool
    {
        let new = Candidate(reference, record, rank, sequence: 1)
        if best.map(new.precedes) ?? true {
            best = new
            best?.sequence = 0
        }
        return false
    }
}

/// Keeps all of them, to be tried one after the other.
struct CandidateList: CandidateSink {
    private var candidates: [Candidate] = []

    static var wantsParents: Bool { true }
    /// In the order of §3.
    var records: [UInt32] { candidates.sorted { $0.precedes($1) }.map(\.record) }

    mutating func take(_ reference: UInt32, _ record: UnsafePointer<RouteRecord>, rank: CandidateRank) -> Bool
    {
        candidates.append(Candidate(reference, record, rank, sequence: candidates.count))
        return false
    }
}
