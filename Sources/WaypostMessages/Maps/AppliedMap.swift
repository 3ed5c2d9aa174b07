package import Waypost

/// The map in force, as the agent reports it on `map/applied`.
package struct AppliedMap: Sendable, Hashable {
    /// One layer that is in force.
    package struct Layer: Sendable, Hashable {
        /// `agent`, `@group` or `patch`.
        package var name: String
        package var revision: Int64?
        /// SHA-256 of the document's bytes, as `sha256:` and 64 hex digits.
        package var digest: String
        /// When it was applied, in milliseconds since 1970.
        package var at: Int64

        package init(name: String, revision: Int64?, digest: String, at: Int64) {
            self.name = name
            self.revision = revision
            self.digest = digest
            self.at = at
        }
    }

    /// An entry that is accepted and has no effect in this build.
    package struct Inactive: Sendable, Hashable {
        package var layer: String
        package var index: Int
        package var reason: String

        package init(layer: String, index: Int, reason: String) {
            self.layer = layer
            self.index = index
            self.reason = reason
        }
    }

    /// An entry that has a condition.
    package struct Conditional: Sendable, Hashable {
        package var layer: String
        package var index: Int
        /// `yes`, `no`, or `depends` where each open decides; a newer agent may say something else.
        package var state: String
        package var reason: String

        package init(layer: String, index: Int, state: String, reason: String) {
            self.layer = layer
            self.index = index
            self.state = state
            self.reason = reason
        }
    }

    /// What the next signed patch must contain.
    package struct NextPatch: Sendable, Hashable {
        /// Its `base`.
        package var base: Int64
        /// The lowest `rev` that it may have.
        package var revision: Int64

        package init(base: Int64, revision: Int64) {
            self.base = base
            self.revision = revision
        }
    }

    /// The newest document that was refused; the map in force stayed.
    package struct Refused: Sendable, Hashable {
        package var layer: String
        package var revision: Int64?
        /// SHA-256 of the document's bytes, as `sha256:` and 64 hex digits.
        package var digest: String
        package var code: Code
        package var detail: String
        package var at: Int64

        package init(
            layer: String, revision: Int64?, digest: String, code: Code, detail: String, at: Int64
        ) {
            self.layer = layer
            self.revision = revision
            self.digest = digest
            self.code = code
            self.detail = detail
            self.at = at
        }
    }

    package var layers: [Layer]
    package var entries: Int
    package var inactive: [Inactive]
    /// Empty when no entry has a condition, and from an agent that does not know them.
    package var conditional: [Conditional]
    package var refused: Refused?
    /// Nil from an agent that does not say it.
    package var nextPatch: NextPatch?
    /// How many entries the lists leave out, because the broker does not accept messages of that size.
    package var omitted: Int
    /// What the agent does in the roll-outs of its groups; empty when there was none.
    package var rollouts: [RolloutReport] = []
    /// Whether the broker gave it no map although its session is a new one.
    package var isWanted = false

    package init(
        layers: [Layer] = [], entries: Int = 0, inactive: [Inactive] = [],
        conditional: [Conditional] = [], refused: Refused? = nil, nextPatch: NextPatch? = nil,
        omitted: Int = 0
    ) {
        self.layers = layers
        self.entries = entries
        self.inactive = inactive
        self.conditional = conditional
        self.refused = refused
        self.nextPatch = nextPatch
        self.omitted = omitted
    }

    /// The same with as much of its lists as fits into so many bytes: what has no effect first.
    package func cut(to limit: Int) -> AppliedMap {
        guard encoded().count > limit else { return self }
        var cut = self
        (cut.inactive, cut.conditional) = ([], [])
        cut.omitted = omitted + inactive.count + conditional.count
        if cut.encoded().count > limit {
            cut.refused?.detail = refused?.detail.cut(to: Self.shortDetail) ?? ""
        }
        var space = limit - cut.encoded().count - #","conditional":[]"#.utf8.count
        func fits(_ entry: JSONValue) -> Bool {
            space -= entry.serialized().count + 1
            return space >= 0
        }
        cut.inactive = Array(inactive.prefix { fits($0.json) })
        cut.conditional = Array(conditional.prefix { fits($0.json) })
        cut.omitted -= cut.inactive.count + cut.conditional.count
        return cut
    }

    /// Bytes of the detail of a refusal where there is hardly space.
    private static let shortDetail = 200

    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.key("layers")
        json.beginArray()
        for layer in layers {
            json.beginObject()
            json.member("layer", layer.name)
            json.member("rev", layer.revision.map(JSONValue.int) ?? .null)
            json.member("digest", layer.digest)
            json.member("at", layer.at)
            json.endObject()
        }
        json.endArray()
        json.member("entries", entries)
        json.key("inactive")
        json.beginArray()
        for entry in inactive {
            json.value(entry.json)
        }
        json.endArray()
        if !conditional.isEmpty {
            json.key("conditional")
            json.beginArray()
            for entry in conditional {
                json.value(entry.json)
            }
            json.endArray()
        }
        if let refused {
            json.member("refused", refused.json)
        } else {
            json.member("refused", JSONValue.null)
        }
        if let nextPatch {
            json.member("nextPatch", ["base": .int(nextPatch.base), "rev": .int(nextPatch.revision)])
        }
        if omitted > 0 { json.member("omitted", omitted) }
        if let last = rollouts.last { json.member("rollout", last.json) }
        if rollouts.count > 1 { json.member("rollouts", .array(rollouts.map(\.json))) }
        if isWanted { json.member("want", true) }
        json.endObject()
        return json.bytes
    }
}

extension AppliedMap.Inactive {
    fileprivate var json: JSONValue {
        ["layer": .string(layer), "index": .int(Int64(index)), "reason": .string(reason)]
    }
}

extension AppliedMap.Conditional {
    fileprivate var json: JSONValue {
        [
            "layer": .string(layer), "index": .int(Int64(index)), "state": .string(state),
            "reason": .string(reason),
        ]
    }
}

extension AppliedMap.Refused {
    package var json: JSONValue {
        [
            "layer": .string(layer), "rev": revision.map(JSONValue.int) ?? .null, "digest": .string(digest),
            "code": .int(Int64(code.number)), "name": .string(code.name), "detail": .string(detail),
            "at": .int(at),
        ]
    }
}
