import Waypost

/// What a `maps` asks for: the entries in force, the documents of the past, or one of these whole.
package struct MapsRequest: Sendable, Hashable {
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

    package var subject: Subject
    /// Only this layer, by its name on the wire: `agent`, `patch`, `@group`; nil for all, and for `agent` where one
    /// document is asked for.
    package var layer: String?
    /// The `next` of the page before; nil for the first.
    package var before: Int64?

    package init(_ subject: Subject = .inForce, layer: String? = nil, before: Int64? = nil) {
        self.subject = subject
        self.layer = layer
        self.before = before
    }
}

extension MapsRequest {
    /// The most bytes of a layer's name: those of a group's with its `@`.
    private static let maximumLayerBytes = 65
    private static let digestBytes = 8...71

    /// The fields of the command, beside those of all.
    static let fields = ["layer", "history", "rev", "digest", "before"]

    /// - Throws: ``Failure`` 422 naming the field.
    init(_ fields: Fields) throws(Failure) {
        layer = try fields.text("layer")
        guard (layer?.utf8.count ?? 1) <= Self.maximumLayerBytes else {
            throw Failure(.badField, "layer must be agent, patch, or @ and the name of a group")
        }
        before = try fields.integer("before", in: 0...Fields.largestInteger)
        if let revision = try fields.integer("rev", in: 1...Fields.largestInteger) {
            subject = .revision(revision)
        } else if let digest = try fields.text("digest") {
            guard Self.digestBytes.contains(digest.utf8.count) else {
                throw Failure(.badField, "digest must be sha256: and at least one hexadecimal digit")
            }
            subject = .digest(digest)
        } else {
            let history = fields["history"]
            guard history == nil || history?.boolValue != nil else {
                throw fields.mismatch("history", "true or false", history ?? .null)
            }
            subject = history?.boolValue == true ? .history : .inForce
        }
    }

    func write(to json: inout JSONWriter) {
        if let layer { json.member("layer", layer) }
        switch subject {
        case .inForce: break
        case .history: json.member("history", JSONValue.bool(true))
        case .revision(let revision): json.member("rev", revision)
        case .digest(let digest): json.member("digest", digest)
        }
        if let before { json.member("before", before) }
    }
}
