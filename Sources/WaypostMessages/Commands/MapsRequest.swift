import Waypost

/// What a `maps` asks for: the entries in force, the documents of the past, or one of these whole.
package struct MapsRequest: Payload, Hashable {
    /// What is listed.
    package enum Subject: Sendable, Hashable {
        /// The layers in force, with their entries.
        case inForce
        /// The last documents that were in force.
        case history
        /// The entries of the newest of those with this revision.
        case revision(Int64)
        /// The entries of the newest of those whose digest is or begins like this.
        case digest(String)
    }

    package var subject = Subject.inForce
    /// Only this layer, by its name on the wire: `agent`, `patch`, `@group`; nil for all, and for `agent` where one
    /// document is asked for.
    package var layer: String?
    /// The `next` of the page before; nil for the first.
    package var before: Int64?

    package init() {}

    package init(_ subject: Subject = .inForce, layer: String? = nil, before: Int64? = nil) {
        self.subject = subject
        self.layer = layer
        self.before = before
    }

    /// The most bytes of a layer's name: those of a group's with its `@`.
    private static let maximumLayerBytes = 65
    private static let digestBytes = 8...71

    package mutating func describe(_ fields: inout PayloadFields) {
        var (isHistory, revision, digest) = (subject == .history, Int64?.none, String?.none)
        switch subject {
        case .inForce, .history: break
        case .revision(let number): revision = number
        case .digest(let text): digest = text
        }
        fields.optional("layer", &layer)
        if let layer, layer.utf8.count > Self.maximumLayerBytes {
            fields.refuse("layer must be agent, patch, or @ and the name of a group")
        }
        fields.optional("history", &isHistory, unless: false)
        fields.optional("rev", &revision, in: 1...Fields.largestInteger)
        fields.optional("digest", &digest)
        if let digest, !Self.digestBytes.contains(digest.utf8.count) {
            fields.refuse("digest must be sha256: and at least one hexadecimal digit")
        }
        subject =
            revision.map(Subject.revision) ?? digest.map(Subject.digest)
            ?? (isHistory ? .history : .inForce)
        fields.optional("before", &before, in: 0...Fields.largestInteger)
    }
}
