import Waypost

/// The map in force at an agent, in short: the `map` of `health`.
package struct MapSummary: Payload, Hashable {
    /// Without digest and time.
    package private(set) var layers: [AppliedMap.Layer] = []
    /// How many entries all layers have, those that do nothing among them.
    package private(set) var entries = 0
    private(set) var inactive = 0
    package private(set) var refused: AppliedMap.Refused?

    package init() {}

    package init(_ map: AppliedMap) {
        layers = map.layers.map { .init(name: $0.name, revision: $0.revision) }
        (entries, inactive, refused) = (map.entries, map.inactive.count, map.refused)
    }

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.list("layers", &layers)
        fields.optional("entries", &entries)
        fields.optional("inactive", &inactive)
        fields.optional("refused", &refused, orNull: true)
        // Of the agent's own layer, for readers that know no other.
        var revision = layers.last { $0.name == "agent" }?.revision
        fields.optional("rev", &revision, orNull: true)
        if layers.isEmpty, let revision { layers = [.init(name: "agent", revision: revision)] }
    }

    /// Shortens why a document was refused.
    mutating func cutDetail(to bytes: Int) {
        guard let detail = refused?.detail else { return }
        refused?.detail = detail.cut(to: bytes)
    }

    /// `3 active, 1 inactive (rev 42, patch)`; the entries are those of all layers.
    package var text: String {
        guard !layers.isEmpty || entries > 0 else { return "none" }
        let counts = Self.counted(active: max(0, entries - max(0, inactive)), inactive: inactive)
        return layers.isEmpty ? counts : "\(counts) (\(revisions))"
    }

    /// `3 entries active`, or `3 active, 2 inactive`.
    package static func counted(active: Int, inactive: Int) -> String {
        inactive == 0
            ? "\(active.counted("entry", "entries")) active" : "\(active) active, \(inactive) inactive"
    }

    /// `rev 42, @all rev 7`; empty when no layer is in force.
    package var revisions: String {
        layers.map { Self.name(of: $0.name, $0.revision) }.joined(separator: ", ")
    }

    /// The newest document that the agent refused: `rev 43 refused: TARGET_MISSING: …`; nil when there is none.
    package var refusal: String? {
        refused.map { refused in
            let detail = refused.detail.isEmpty ? "" : ": " + refused.detail
            return "\(Self.name(of: refused.layer, refused.revision)) refused: \(refused.code.name)\(detail)"
        }
    }

    private static func name(of layer: String, _ revision: Int64?) -> String {
        let revision = revision.map { "rev \($0)" }
        // What is sent to the agent itself is what is meant when no layer is named.
        return [layer == "agent" && revision != nil ? nil : layer, revision].compactMap(\.self).joined(
            separator: " ")
    }
}
