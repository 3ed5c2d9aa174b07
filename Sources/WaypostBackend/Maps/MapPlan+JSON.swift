package import Waypost
import WaypostMessages

/// As `waypost map diff --json` prints it.
extension MapPlan: Encodable {
    /// Writes it as `waypost map diff --json` does.
    public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }

    package var json: JSONValue {
        var replaced = JSONValue.null
        if let retained {
            replaced = ["rev": JSONValue(retained.revision), "digest": .string(retained.digest)]
        }
        return [
            "audience": .string(audience.description),
            "unknown": .array(unknowns.flatMap(\.agents).sorted().map(JSONValue.string)),
            "replaces": replaced, "agents": .array(diffs.map(\.json)),
            "objections": .array(objections.map(\.json)),
        ]
    }
}

extension MapObjection {
    package var json: JSONValue { ["kind": .string(kind.rawValue), "text": .string(text)] }
}

/// As one of the agents of `waypost map diff --json`.
extension MapDiff: Encodable {
    /// Writes it as `waypost map diff --json` does.
    public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }

    fileprivate var json: JSONValue {
        let list = changes.list.map { change -> JSONValue in
            ["before": change.before?.json ?? .null, "after": change.after?.json ?? .null]
        }
        let moved = destinations?.map { destination -> JSONValue in
            [
                "subject": .string(destination.subject), "before": .string(destination.before),
                "after": .string(destination.after),
            ]
        }
        let idle = inactive?.map { entry -> JSONValue in
            ["n": .int(Int64(entry.number)), "entry": entry.entry.json, "why": .string(entry.reason)]
        }
        let refused = refusal.map { refusal -> JSONValue in
            [
                "code": .int(Int64(refusal.code.number)), "name": .string(refusal.code.name),
                "detail": .string(refusal.detail),
            ]
        }
        return [
            "agents": .array(agents.map(JSONValue.string)), "changes": .array(list),
            "emptiedPatches": .int(Int64(emptiedPatches)), "refusal": refused ?? .null,
            "destinations": moved.map(JSONValue.array) ?? .null,
            "inactive": idle.map(JSONValue.array) ?? .null,
        ]
    }
}
