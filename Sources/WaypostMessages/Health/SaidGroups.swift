package import Waypost

/// What an agent says of the document of its groups, in its health.
package struct SaidGroups: Payload, Hashable {
    /// The newest document that it refused.
    package struct Refused: Payload, Hashable {
        /// SHA-256 of the document's bytes.
        package var digest = ""
        package var code = Code.badField
        package var detail = ""

        package init(digest: String, failure: Failure) {
            (self.digest, code, detail) = (digest, failure.code, failure.detail)
        }

        package init() {}

        package mutating func describe(_ fields: inout PayloadFields) {
            fields.required("digest", &digest)
            fields.code(&code)
            fields.name(of: &code)
            fields.required("detail", &detail)
        }
    }

    /// The groups of its own settings.
    package var own: [String] = []
    /// The revision of the document in force; nil without one.
    package var revision: Int64?
    /// SHA-256 of its bytes.
    package var digest: String?
    package var added: [String] = []
    package var removed: [String] = []
    package var refused: Refused?

    package init(
        own: [String], revision: Int64?, digest: String?, added: [String], removed: [String],
        refused: Refused?
    ) {
        (self.own, self.revision, self.digest) = (own, revision, digest)
        (self.added, self.removed, self.refused) = (added, removed, refused)
    }

    package init() {}

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.optional("own", &own)
        fields.optional("rev", &revision, in: 1...Fields.largestInteger)
        fields.optional("digest", &digest)
        fields.optional("add", &added)
        fields.optional("remove", &removed)
        fields.optional("refused", &refused)
        // Topics are made of them.
        for list in [\Self.own, \.added, \.removed] { self[keyPath: list].removeAll { !Name.isGroup($0) } }
    }
}
