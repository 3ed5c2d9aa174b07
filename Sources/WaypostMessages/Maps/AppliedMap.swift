package import Waypost

/// The map in force, as the agent reports it on `map/applied`.
package struct AppliedMap: Payload, Hashable {
    /// One layer that is in force.
    package struct Layer: Payload, Hashable {
        /// `agent`, `@group` or `patch`.
        package var name = ""
        package var revision: Int64?
        /// SHA-256 of the document's bytes, as `sha256:` and 64 hex digits; empty in a ``MapSummary``.
        package var digest = ""
        /// When it was applied, in milliseconds since 1970; 0 in a ``MapSummary``.
        package var at: Int64 = 0

        package init(name: String, revision: Int64?, digest: String = "", at: Int64 = 0) {
            self.name = name
            self.revision = revision
            self.digest = digest
            self.at = at
        }

        package init() {}

        package mutating func describe(_ fields: inout PayloadFields) {
            fields.required("layer", &name)
            fields.optional("rev", &revision, orNull: true)
            fields.optional("digest", &digest, unless: "")
            fields.optional("at", &at, unless: 0, in: 0...Fields.latestTime, clamps: true)
        }
    }

    /// What the next signed patch must contain.
    package struct NextPatch: Payload, Hashable {
        /// Its `base`.
        package var base: Int64 = 0
        /// The lowest `rev` that it may have.
        package var revision: Int64 = 0

        package init(base: Int64, revision: Int64) {
            self.base = base
            self.revision = revision
        }

        package init() {}

        package mutating func describe(_ fields: inout PayloadFields) {
            fields.required("base", &base)
            fields.required("rev", &revision)
        }
    }

    /// The newest document that was refused; the map in force stayed.
    package struct Refused: Payload, Hashable {
        package var layer = ""
        package var revision: Int64?
        /// SHA-256 of the document's bytes, as `sha256:` and 64 hex digits.
        package var digest = ""
        package var code = Code.ok
        package var detail = ""
        package var at: Int64 = 0

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

        package init() {}

        package mutating func describe(_ fields: inout PayloadFields) {
            fields.optional("at", &at, in: 0...Fields.latestTime, clamps: true)
            fields.code(&code)
            fields.optional("detail", &detail)
            fields.optional("digest", &digest)
            fields.required("layer", &layer)
            fields.name(of: &code)
            fields.optional("rev", &revision, orNull: true)
        }
    }

    package var layers: [Layer] = []
    /// How many entries there are, those that do nothing among them.
    package var entries = 0
    package var inactive: [RelocationReport.Inactive] = []
    /// Empty when no entry has a condition, and from an agent that does not know them.
    package var conditional: [RelocationReport.Conditional] = []
    package var refused: Refused?
    /// Nil from an agent that does not say it.
    package var nextPatch: NextPatch?
    /// How many entries the lists leave out, because the broker does not accept messages of that size.
    package var omitted = 0
    /// What the agent does in the roll-outs of its groups; empty when there was none.
    package var rollouts: [RolloutReport] = []
    /// Whether the broker gave it no map although its session is a new one.
    package var isWanted = false

    package init(
        layers: [Layer] = [], _ report: RelocationReport? = nil, refused: Refused?, nextPatch: NextPatch?
    ) {
        self.layers = layers
        entries = report?.entries ?? 0
        inactive = report?.inactive ?? []
        conditional = report?.conditional ?? []
        self.refused = refused
        self.nextPatch = nextPatch
    }

    package init() {}

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

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.list("layers", &layers)
        fields.optional("entries", &entries)
        fields.list("inactive", &inactive)
        fields.list("conditional", &conditional, whenEmpty: false)
        fields.optional("refused", &refused, orNull: true)
        fields.optional("nextPatch", &nextPatch)
        fields.optional("omitted", &omitted, unless: 0)
        // An older reader knows one roll-out, an older agent says one.
        var last = rollouts.last
        fields.optional("rollout", &last)
        if fields.isReading { rollouts = last.map { [$0] } ?? [] }
        if fields.isReading || rollouts.count > 1 { fields.list("rollouts", &rollouts) }
        fields.optional("want", &isWanted, unless: false)
    }
}

extension RelocationReport.Inactive: Payload {
    package init() { self.init(layer: "", index: 0, reason: "") }

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.optional("index", &index, in: 0...Fields.largestInteger, clamps: true)
        fields.required("layer", &layer)
        fields.optional("reason", &reason)
    }
}

extension RelocationReport.Conditional: Payload {
    package init() { self.init(layer: "", index: 0, state: .depends, reason: "") }

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.optional("index", &index)
        fields.required("layer", &layer)
        fields.optional("reason", &reason)
        fields.word("state", &state, isRequired: false)
    }
}
