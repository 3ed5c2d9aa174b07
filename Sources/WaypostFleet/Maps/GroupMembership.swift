package import Waypost
package import WaypostMessages

/// The groups of an agent: its own, and what the release role's document makes of them.
///
/// Decisions only: who holds it stores it and subscribes.
package struct GroupMembership: Sendable {
    /// The most groups that are remembered as left.
    static let maximumLeft = 64

    /// The newest document that was refused.
    private struct Refused: Hashable, Sendable {
        var digest: String
        var failure: Failure
    }

    /// Those of the agent's own settings, in their order.
    package let own: [String]
    private let agent: String
    private let isFixed: Bool
    private let trusted: TrustedKeys
    private let limits: JSONLimits
    /// The document in force; nil without one.
    package private(set) var document: GroupsDocument?
    private var digest: String?
    /// Groups that it was in: a session at a broker may still have the subscriptions.
    package private(set) var left: [String] = []
    private var refused: Refused?

    /// - Parameters:
    ///   - isFixed: Whether no document counts.
    ///   - trusted: The keys that must have signed a document.
    package init(
        own: [String], of agent: String, isFixed: Bool, trusted: TrustedKeys, limits: JSONLimits
    ) {
        (self.own, self.agent, self.isFixed) = (own, agent, isFixed)
        (self.trusted, self.limits) = (trusted, limits)
    }

    /// The groups that it is in beside `all`, in the order of their maps.
    package var groups: [String] { document?.groups(over: own) ?? own }

    /// A document came; false when it is in force already.
    ///
    /// - Throws: ``Failure`` when it is no such document, is not newer than the one in force, or when none counts here.
    package mutating func take(_ bytes: [UInt8]) throws(Failure) -> Bool {
        let digest = SHA256.label(SHA256.digest(of: bytes))
        guard digest != self.digest else {
            refused = nil
            return false
        }
        guard !isFixed else {
            throw Failure(.notAllowed, "own-groups: this agent is in the groups of its own settings alone")
        }
        let new = try GroupsDocument(bytes, for: agent, trusted: trusted, limits: limits)
        if let known = document?.revision, new.revision <= known {
            guard new.revision == known else {
                throw Failure(
                    .rollback, "rev \(new.revision) is below \(known), which was already applied")
            }
            throw Failure(
                .equivocation, "rev \(known) was already applied with different content")
        }
        let before = groups
        (document, self.digest, refused) = (new, digest, nil)
        let now = groups
        left = Array(
            (left + before).filter { !now.contains($0) }.uniqued.suffix(Self.maximumLeft))
        return true
    }

    /// Takes what was stored of an earlier run.
    ///
    /// - Throws: ``Failure`` when it does not count any more.
    package mutating func restore(_ bytes: [UInt8], left: [String]) throws(Failure) {
        // Subscriptions that it gave up may be there whatever the settings say now.
        defer { self.left = left.filter { !groups.contains($0) } }
        guard !isFixed else { return }
        document = try GroupsDocument(bytes, for: agent, trusted: trusted, limits: limits)
        digest = SHA256.label(SHA256.digest(of: bytes))
    }

    /// A document was refused; false when that very one was refused before for the same reason.
    package mutating func refuse(_ bytes: [UInt8], _ failure: Failure) -> Bool {
        let new = Refused(digest: SHA256.label(SHA256.digest(of: bytes)), failure: failure)
        defer { refused = new }
        return refused != new
    }

    /// What it says of them in its health; nil when no document ever came.
    package var said: SaidGroups? {
        guard document != nil || refused != nil else { return nil }
        return SaidGroups(
            own: own, revision: document?.revision, digest: digest, added: document?.added ?? [],
            removed: document?.removed ?? [],
            refused: refused.map { .init(digest: $0.digest, failure: $0.failure) })
    }
}

extension [String] {
    /// Each once, in the order of their last places.
    fileprivate var uniqued: [String] {
        var seen: Set<String> = []
        return reversed().filter { seen.insert($0).inserted }.reversed()
    }
}
