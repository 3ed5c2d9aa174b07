/// What a revision of a map breaks in the agents that have it in force: a bad map to rehearse with.
package struct MapFault: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// This part of opens of the URLs that it changes fails.
        case failures(Double)
        /// This part of the agents is lost soon.
        case deaths(Double)
        /// Agents of this version refuse it.
        case refusal(String)
    }

    var revision: Int64
    var kind: Kind

    package init(_ revision: Int64, _ kind: Kind) { (self.revision, self.kind) = (revision, kind) }

    /// The part of opens that fails where these revisions are in force.
    func failures(_ revisions: [Int64]) -> Double? {
        if case .failures(let share) = kind, revisions.contains(revision) { share } else { nil }
    }

    /// The part of the agents that is lost.
    func deaths(_ revisions: [Int64]) -> Double? {
        if case .deaths(let share) = kind, revisions.contains(revision) { share } else { nil }
    }
}

extension FleetPlan {
    /// Whether agents of a version refuse a revision.
    func refuses(_ version: String, _ revision: Int64?) -> Bool {
        mapFaults.contains { $0.revision == revision && $0.kind == .refusal(version) }
    }
}
