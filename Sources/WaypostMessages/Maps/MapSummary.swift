package import Waypost

/// The map in force at an agent: the `map` of `health`, or `map/applied`, which has the same members; read leniently.
package struct MapSummary: Sendable, Hashable {
    package private(set) var json: JSONValue

    package init(_ json: JSONValue) { self.json = json }

    /// What health says of it.
    package init(_ map: AppliedMap) {
        json = [
            "rev": .init(map.layers.last { $0.name == "agent" }?.revision),
            "entries": .int(Int64(map.entries)), "inactive": .int(Int64(map.inactive.count)),
            "layers": .array(map.layers.map { ["layer": .string($0.name), "rev": .init($0.revision)] }),
            "refused": map.refused?.json ?? .null,
        ]
    }

    /// Shortens why a document was refused.
    mutating func cutDetail(to bytes: Int) {
        guard case .object(var members) = json, case .object(var refused)? = members["refused"] else {
            return
        }
        refused["detail"] = .string(refused["detail"]?.stringValue?.cut(to: bytes) ?? "")
        members["refused"] = .object(refused)
        json = .object(members)
    }

    /// `3 active, 1 inactive (rev 42, patch)`; the entries are those of all layers.
    package var text: String {
        let entries = json["entries"]?.intValue ?? 0
        guard !revisions.isEmpty || entries > 0 else { return "none" }
        let inactive = json["inactive"]?.arrayValue.map { Int64($0.count) } ?? json["inactive"]?.intValue ?? 0
        let counts = Self.counted(active: max(0, entries.subtractingClamped(inactive)), inactive: inactive)
        return revisions.isEmpty ? counts : "\(counts) (\(revisions))"
    }

    /// `3 entries active`, or `3 active, 2 inactive`.
    package static func counted(active: Int64, inactive: Int64) -> String {
        inactive == 0
            ? "\(active.counted("entry", "entries")) active" : "\(active) active, \(inactive) inactive"
    }

    /// `rev 42, @all rev 7`; empty when no layer is in force.
    package var revisions: String {
        guard let layers = json["layers"]?.arrayValue else {
            return json["rev"]?.intValue.map { "rev \($0)" } ?? ""
        }
        return layers.map { Self.name(of: $0) }.joined(separator: ", ")
    }

    /// The newest document that the agent refused: `rev 43 refused: TARGET_MISSING: …`; nil when there is none.
    package var refusal: String? {
        guard let refused = json["refused"], refused.objectValue != nil else { return nil }
        let reason = [refused["name"]?.stringValue, refused["detail"]?.stringValue].compactMap(\.self)
        return ([Self.name(of: refused) + " refused"] + reason).joined(separator: ": ")
    }

    private static func name(of layer: JSONValue) -> String {
        let revision = layer["rev"]?.intValue.map { "rev \($0)" }
        let name = layer["layer"]?.stringValue ?? "?"
        // What is sent to the agent itself is what is meant when no layer is named.
        return [name == "agent" && revision != nil ? nil : name, revision].compactMap(\.self).joined(
            separator: " ")
    }
}

extension Int64 {
    /// The difference; of numbers from outside, that of nothing when there is none.
    fileprivate func subtractingClamped(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? 0 : difference
    }
}
