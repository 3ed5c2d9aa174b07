/// A document that is or was in force in a layer, as the answer to a `maps` has it.
package struct MapRevision: Payload, Hashable {
    /// How its entries differ from those that were in force in the layer before it.
    package struct Changes: Payload, Hashable {
        package var added = 0
        package var removed = 0
        package var changed = 0

        package init(added: Int, removed: Int, changed: Int) {
            self.added = added
            self.removed = removed
            self.changed = changed
        }

        package init() {}

        package mutating func describe(_ fields: inout PayloadFields) {
            fields.optional("added", &added)
            fields.optional("removed", &removed)
            fields.optional("changed", &changed)
        }
    }

    /// `agent`, `patch` or `@group`.
    package var layer = ""
    package var revision: Int64?
    /// SHA-256 of the document's bytes, as `sha256:` and 64 hex digits.
    package var digest = ""
    /// Who published it, as far as the agent knows.
    package var author: String?
    /// Since when it was in force, in milliseconds since 1970.
    package var from: Int64 = 0
    /// When another took its place; nil while it is in force.
    package var until: Int64?
    /// How long the document was; nil when that is not known.
    package var bytes: Int64?
    /// Nil when that is not known.
    package var changes: Changes?

    package init(
        layer: String, revision: Int64?, digest: String, author: String?, from: Int64, until: Int64?,
        bytes: Int64?, changes: Changes?
    ) {
        self.layer = layer
        self.revision = revision
        self.digest = digest
        self.author = author
        self.from = from
        self.until = until
        self.bytes = bytes
        self.changes = changes
    }

    package init() {}

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.required("layer", &layer)
        fields.optional("rev", &revision, orNull: true)
        fields.optional("digest", &digest)
        fields.optional("by", &author, orNull: true)
        fields.optional("from", &from, in: 0...Fields.latestTime, clamps: true)
        fields.optional("until", &until, orNull: true, in: 0...Fields.latestTime, clamps: true)
        fields.optional("bytes", &bytes, orNull: true)
        fields.optional("changes", &changes, orNull: true)
    }
}
