package import Waypost
package import WaypostMessages

/// The last good document of one layer.
package struct MapRecord: Sendable, Equatable {
    /// The layer of patches: no agent and no group can have this name.
    package static let patchLayer = "map/patch"

    /// No agent and no group has a slash in its name.
    private static let candidateSuffix = "/next"

    /// The layer under which the candidate of a group is kept, which takes the place of its map where a roll-out
    /// chooses it.
    package static func candidateKey(of group: String) -> String { group + candidateSuffix }

    /// The group of such a layer; nil for any other.
    package static func group(ofCandidate key: String) -> String? {
        key.hasSuffix(candidateSuffix) ? String(key.dropLast(candidateSuffix.count)) : nil
    }

    /// What stands for the control document of a group, which is no map.
    package static func controlKey(of group: String) -> String { group + "/rollout" }

    /// What stands for the document of the agent's groups, which is no map.
    package static let groupsKey = "groups/"

    /// The agent's name, `@group`, or ``patchLayer``.
    package var layer: String
    package var revision: Int64?
    /// The highest revision ever applied to the layer: none below it is taken, across restarts.
    package var revisionFloor: Int64
    /// SHA-256 of the document's bytes.
    package var digest: [UInt8]
    package var applied: Int64
    package var expires: Int64?
    /// The entries as a JSON array.
    package var entries: [UInt8]
    /// For each document that the layer was made of, the trusted keys that had signed it.
    package var signers: Set<Set<VerifyingKey>> = [[]]
    /// Who published it, as far as that is known.
    package var author: String?
    /// How long the document was.
    package var bytes: Int64?
    /// How its entries differ from those before it.
    package var changes: MapRevision.Changes?
    /// Whether the disk changed the row: then of it only layer, digest, floor and signers are left.
    package var isDamaged = false

    /// Whether a newer map emptied the layer of patches, and only the revisions that were used are left.
    package var isEmptied: Bool { digest.isEmpty && !isDamaged }

    package init(
        layer: String, revision: Int64?, revisionFloor: Int64, digest: [UInt8], applied: Int64,
        expires: Int64?,
        entries: [UInt8], signers: Set<Set<VerifyingKey>> = [[]], author: String? = nil, bytes: Int64? = nil,
        changes: MapRevision.Changes? = nil, isDamaged: Bool = false
    ) {
        (self.layer, self.revision, self.revisionFloor) = (layer, revision, revisionFloor)
        (self.digest, self.applied, self.expires) = (digest, applied, expires)
        (self.entries, self.signers, self.author) = (entries, signers, author)
        (self.bytes, self.changes, self.isDamaged) = (bytes, changes, isDamaged)
    }

    /// The entries one by one, without a look at what they make together; nil when they can't be read.
    package var readEntries: [RelocationEntry]? {
        guard !isDamaged, let json = try? JSONValue(parsing: entries, limits: .trustedFile) else {
            return nil
        }
        return try? json.arrayValue?.enumerated().map { try RelocationEntry($1, index: $0) }
    }
}
