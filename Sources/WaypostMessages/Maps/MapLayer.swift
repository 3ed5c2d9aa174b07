package import Waypost

/// One relocation layer of an agent with its entries, as the answer to a `maps` has it.
package struct MapLayer: Payload, Hashable {
    /// Whether a layer or an entry has an effect.
    ///
    /// A newer agent may know others.
    package enum State: String, Sendable, Hashable {
        case active, inactive, expired
    }

    /// An entry and what becomes of it.
    package struct Entry: Payload, Hashable {
        /// Its number in its layer, from 1.
        package var number = 0
        /// The entry itself, with TheRouter's keys.
        package var content: JSONValue = [:]
        package var state = State.inactive
        /// Why it has no effect, or what it depends on; nil when there is nothing to say.
        package var reason: String?

        package init(number: Int, content: JSONValue, state: State, reason: String?) {
            self.number = number
            self.content = content
            self.state = state
            self.reason = reason
        }

        package init() {}

        package mutating func describe(_ fields: inout PayloadFields) {
            fields.others(&content, than: ["n", "state", "why"])
            fields.required("n", &number)
            fields.word("state", &state, isRequired: false)
            fields.optional("why", &reason)
        }
    }

    /// `agent`, `patch`, `@group`, or the name of a layer of the program's own.
    package var name = ""
    package var revision: Int64?
    /// SHA-256 of the document's bytes, as `sha256:` and 64 hex digits; nil for a layer of the program's own.
    package var digest: String?
    /// Who published it, as far as the agent knows: the keys that signed it, what the document says, or its id.
    package var author: String?
    /// When it was applied, in milliseconds since 1970; nil for a layer of the program's own.
    package var since: Int64?
    package var expires: Int64?
    package var state = State.inactive
    /// Why the whole layer has no effect.
    package var reason: String?
    /// How many entries it has.
    package var count = 0
    /// Those that are on the page.
    package var entries: [Entry] = []
    /// The newest document that was refused for this layer.
    package var refused: AppliedMap.Refused?

    package init(
        name: String, revision: Int64? = nil, digest: String? = nil, author: String? = nil,
        since: Int64? = nil, expires: Int64? = nil, state: State = .active, reason: String? = nil, count: Int,
        entries: [Entry] = [], refused: AppliedMap.Refused? = nil
    ) {
        self.name = name
        self.revision = revision
        self.digest = digest
        self.author = author
        self.since = since
        self.expires = expires
        self.state = state
        self.reason = reason
        self.count = count
        self.entries = entries
        self.refused = refused
    }

    package init() {}

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.required("layer", &name)
        fields.optional("rev", &revision, orNull: true)
        fields.optional("digest", &digest, orNull: true)
        fields.optional("by", &author, orNull: true)
        fields.optional("since", &since, orNull: true, in: 0...Fields.latestTime, clamps: true)
        fields.optional("expires", &expires, orNull: true, in: 0...Fields.latestTime, clamps: true)
        fields.word("state", &state, isRequired: false)
        fields.optional("why", &reason, orNull: true)
        fields.list("entries", &entries)
        if fields.isReading { count = entries.count }
        fields.optional("count", &count)
        fields.optional("refused", &refused, orNull: true)
    }
}
