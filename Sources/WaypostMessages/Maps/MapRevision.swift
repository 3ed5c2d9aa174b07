package import Waypost

/// A document that is or was in force in a layer, as the answer to a `maps` has it.
package struct MapRevision: Sendable, Hashable {
    /// How its entries differ from those that were in force in the layer before it.
    package struct Changes: Sendable, Hashable {
        package var added: Int
        package var removed: Int
        package var changed: Int

        package init(added: Int, removed: Int, changed: Int) {
            self.added = added
            self.removed = removed
            self.changed = changed
        }
    }

    /// `agent`, `patch` or `@group`.
    package var layer: String
    package var revision: Int64?
    /// SHA-256 of the document's bytes, as `sha256:` and 64 hex digits.
    package var digest: String
    /// Who published it, as far as the agent knows.
    package var author: String?
    /// Since when it was in force, in milliseconds since 1970.
    package var from: Int64
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
}

extension MapRevision {
    package var json: JSONValue {
        [
            "layer": .string(layer), "rev": .init(revision), "digest": .string(digest), "by": .init(author),
            "from": .int(from), "until": .init(until), "bytes": .init(bytes),
            "changes": changes?.json ?? .null,
        ]
    }

    /// - Throws: ``Failure`` naming the field that is not as the protocol has it.
    package init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        layer = try fields.required("layer", fields.text("layer"))
        revision = try fields.integer("rev")
        digest = try fields.text("digest") ?? ""
        author = try fields.text("by")
        from = try fields.clamped("from", to: 0...Fields.latestTime) ?? 0
        until = try fields.clamped("until", to: 0...Fields.latestTime)
        bytes = try fields.integer("bytes")
        changes = try fields["changes"].map(Changes.init)
    }
}

extension MapRevision.Changes {
    package var json: JSONValue {
        ["added": .int(Int64(added)), "removed": .int(Int64(removed)), "changed": .int(Int64(changed))]
    }

    /// - Throws: ``Failure`` naming the field that is no number.
    package init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        self.init(
            added: Int(clamping: try fields.integer("added") ?? 0),
            removed: Int(clamping: try fields.integer("removed") ?? 0),
            changed: Int(clamping: try fields.integer("changed") ?? 0))
    }
}
