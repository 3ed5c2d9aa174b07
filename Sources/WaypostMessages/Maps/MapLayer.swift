package import Waypost

/// One relocation layer of an agent with its entries, as the answer to a `maps` has it.
package struct MapLayer: Sendable, Hashable {
    /// Whether a layer or an entry has an effect.
    ///
    /// A newer agent may know others.
    package enum State: String, Sendable, Hashable {
        case active, inactive, expired
    }

    /// An entry and what becomes of it.
    package struct Entry: Sendable, Hashable {
        /// Its number in its layer, from 1.
        package var number: Int
        /// The entry itself, with TheRouter's keys.
        package var json: JSONValue
        package var state: State
        /// Why it has no effect, or what it depends on; nil when there is nothing to say.
        package var reason: String?

        package init(number: Int, json: JSONValue, state: State, reason: String?) {
            self.number = number
            self.json = json
            self.state = state
            self.reason = reason
        }
    }

    /// `agent`, `patch`, `@group`, or the name of a layer of the program's own.
    package var name: String
    package var revision: Int64?
    /// SHA-256 of the document's bytes, as `sha256:` and 64 hex digits; nil for a layer of the program's own.
    package var digest: String?
    /// Who published it, as far as the agent knows: the keys that signed it, what the document says, or its id.
    package var author: String?
    /// When it was applied, in milliseconds since 1970; nil for a layer of the program's own.
    package var since: Int64?
    package var expires: Int64?
    package var state: State
    /// Why the whole layer has no effect.
    package var reason: String?
    /// How many entries it has.
    package var count: Int
    /// Those that are on the page.
    package var entries: [Entry]
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
}

extension MapLayer {
    package var json: JSONValue {
        [
            "layer": .string(name), "rev": .init(revision), "digest": .init(digest), "by": .init(author),
            "since": .init(since), "expires": .init(expires), "state": .string(state.rawValue),
            "why": .init(reason), "count": .int(Int64(count)), "entries": .array(entries.map(\.wire)),
            "refused": refused?.json ?? .null,
        ]
    }

    /// - Throws: ``Failure`` naming the field that is not as the protocol has it.
    package init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        name = try fields.required("layer", fields.text("layer"))
        revision = try fields.integer("rev")
        digest = try fields.text("digest")
        author = try fields.text("by")
        since = try fields.clamped("since", to: 0...Fields.latestTime)
        expires = try fields.clamped("expires", to: 0...Fields.latestTime)
        state = State(rawValue: try fields.text("state") ?? "") ?? .inactive
        reason = try fields.text("why")
        entries = []
        for entry in fields["entries"]?.arrayValue ?? [] { entries.append(try Entry(entry)) }
        count = Int(clamping: try fields.integer("count") ?? Int64(entries.count))
        refused = try fields["refused"].map(AppliedMap.Refused.init)
    }
}

extension MapLayer.Entry {
    package var wire: JSONValue {
        var members = json.objectValue ?? [:]
        members["n"] = .int(Int64(number))
        members["state"] = .string(state.rawValue)
        if let reason { members["why"] = .string(reason) }
        return .object(members)
    }

    fileprivate init(_ wire: JSONValue) throws(Failure) {
        let fields = Fields(of: wire)
        number = Int(clamping: try fields.required("n", fields.integer("n")))
        state = MapLayer.State(rawValue: try fields.text("state") ?? "") ?? .inactive
        reason = try fields.text("why")
        json = .object((wire.objectValue ?? [:]).filter { !["n", "state", "why"].contains($0.key) })
    }
}
