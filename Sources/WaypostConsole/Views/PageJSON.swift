import Waypost
import WaypostBackend
import WaypostMessages

// The values of the library in the form that the page reads.

extension RelocationEntry {
    func pageJSON(number: Int?) -> JSONValue {
        let (type, origin, target, path, className): (String, String?, String?, String?, String?) =
            switch kind {
            case .replace(let origin, let target): ("replace", origin, target, nil, nil)
            case .add(let path, let className): ("add", nil, nil, path, className)
            case .delete(let path): ("delete", nil, nil, path, nil)
            case .reset(let origin, let target): ("reset", origin, target, nil, nil)
            default: ("named", nil, nil, subjectPath, nil)
            }
        return [
            "number": .init(number.map(Int64.init)), "type": .string(type), "origin": .init(origin),
            "target": .init(target), "path": .init(path), "className": .init(className),
            "when": .init(when?.text), "text": .string(text),
        ]
    }
}

extension Failure {
    var pageJSON: JSONValue {
        [
            "code": .int(Int64(code.number)), "name": .string(code.name), "detail": .string(detail),
            "nearest": .array(nearest.map(JSONValue.string)),
        ]
    }
}

extension AgentMaps.Layer {
    var pageJSON: JSONValue {
        [
            "layer": .string(name), "revision": .init(revision), "digest": .init(digest), "by": .init(author),
            "since": .init(since), "expires": .init(expires), "state": .string(state.rawValue),
            "reason": .init(reason),
            "refused": refused.map { refused in
                refused.reason.pageJSON.merging([
                    "revision": .init(refused.revision), "at": .int(refused.at),
                ])
            } ?? .null,
            "entries": .array(
                entries.map { entry in
                    let members =
                        entry.entry?.pageJSON(number: entry.number) ?? ["number": .int(Int64(entry.number))]
                    return members.merging([
                        "state": .string(entry.state.rawValue), "reason": .init(entry.reason),
                        "json": entry.json,
                    ])
                }),
        ]
    }
}

extension MapPlan {
    var pageJSON: JSONValue {
        [
            "members": .array(members.prefix(1_000).map(JSONValue.string)),
            "memberCount": .int(Int64(members.count)),
            "silent": .array(unknowns.flatMap(\.agents).sorted().map(JSONValue.string)),
            "offline": [], "replaces": .init(retained.map { $0.revision ?? 0 }),
            "disappearing": .int(Int64(disappearing)), "refused": .bool(diffs.contains { $0.refusal != nil }),
            "diffs": .array(diffs.map(\.pageJSON)), "objections": .array(objections.map(\.json)),
        ]
    }
}

extension MapDiff {
    var pageJSON: JSONValue {
        [
            "agents": .array(agents.map(JSONValue.string)),
            "added": .array(added.map { $0.pageJSON(number: nil) }),
            "removed": .array(removed.map { $0.pageJSON(number: nil) }),
            "changed": .array(
                changed.map {
                    ["before": $0.before.pageJSON(number: nil), "after": $0.after.pageJSON(number: nil)]
                }),
            "destinations": destinations.map { list in
                .array(
                    list.map {
                        [
                            "subject": .string($0.subject), "before": .string($0.before),
                            "after": .string($0.after),
                        ]
                    })
            } ?? .null,
            "inactive": inactive.map { list in
                .array(
                    list.map {
                        [
                            "number": .int(Int64($0.number)), "entry": $0.entry.pageJSON(number: $0.number),
                            "reason": .string($0.reason),
                        ]
                    })
            } ?? .null,
            "emptiedPatches": .int(Int64(emptiedPatches)), "refusal": refusal?.pageJSON ?? .null,
        ]
    }
}

extension RouteDescription {
    var pageJSON: JSONValue {
        [
            "path": .string(path), "class": .string(className), "name": .string(className),
            "priority": .int(Int64(priority)), "kind": .string(kind.rawValue),
            "idempotent": .bool(idempotent),
            "summary": metadata["summary"] ?? .null,
            "parameters": .array(
                (json["parameters"]?.arrayValue ?? []).map { parameter in
                    [
                        "name": parameter["name"] ?? .null, "type": parameter["type"] ?? .null,
                        "values": parameter["enum"] ?? .null, "required": parameter["required"] ?? false,
                        "summary": parameter["description"] ?? .null,
                    ]
                }),
        ]
    }
}

extension ServiceDescription {
    var pageJSON: JSONValue {
        [
            "name": .string(name),
            "methods": .array(
                (json["methods"]?.arrayValue ?? []).map { method in
                    [
                        "name": method["name"] ?? .null, "idempotent": method["idempotent"] ?? false,
                        "result": method["result"]?["swiftType"] ?? .null, "summary": .null,
                        "parameters": .array(
                            (method["arguments"]?.arrayValue ?? []).map { argument in
                                [
                                    "label": argument["label"] ?? .null,
                                    "type": argument["swiftType"] ?? .null,
                                    "optional": argument["optional"] ?? false,
                                    "values": argument["enum"] ?? .null, "json": argument["type"] ?? .null,
                                ]
                            }),
                    ]
                }),
        ]
    }
}

extension JSONValue {
    /// An object with more members; the later ones count.
    func merging(_ members: [String: JSONValue]) -> JSONValue {
        .object((objectValue ?? [:]).merging(members) { $1 })
    }
}
