import ArgumentParser

/// What a revision of a map breaks in the agents that have it in force: a bad map to rehearse with.
struct MapFault: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// This part of opens of the URLs that it changes fails.
        case failures(Double)
        /// This part of the agents is lost soon.
        case deaths(Double)
        /// Agents of this version refuse it.
        case refusal(String)
    }

    var revision: Int64
    var kind: Kind

    /// Reads `42:fail=5%`, `42:die=10%`, `42:refuse=2.3.0`.
    init(_ text: String) throws {
        func mistake() -> ValidationError {
            ValidationError(
                "--map-fault must be like 42:fail=5%, 42:die=10%, 42:refuse=2.3.0; found \(text.debugDescription)"
            )
        }
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let revision = Int64(parts[0]), revision > 0 else { throw mistake() }
        let words = parts[1].split(separator: "=", maxSplits: 1).map(String.init)
        guard words.count == 2 else { throw mistake() }
        func share() throws -> Double {
            guard let share = try? FleetOptions.share(words[1]) else { throw mistake() }
            return share
        }
        self.revision = revision
        switch words[0] {
        case "fail": kind = .failures(try share())
        case "die": kind = .deaths(try share())
        case "refuse": kind = .refusal(words[1])
        default: throw mistake()
        }
    }

    init(_ revision: Int64, _ kind: Kind) { (self.revision, self.kind) = (revision, kind) }

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
