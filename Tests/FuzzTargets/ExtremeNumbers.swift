import Waypost

/// What a reader takes, with each of its numbers at the ends of what a number can be.
enum ExtremeNumbers {
    /// As JSON writes them: what no sum, difference or negation of which may end a process.
    static let numbers: [JSONValue] = [
        0, 1, -1, .int(1 << 53), .int(-(1 << 53)), .int(.max), .int(.min), .int(.max / 2), .int(.min / 2),
        .double(1e300),
    ]

    /// The document with one of its numbers replaced, each of them by each; and with all of them.
    static func variants(of document: JSONValue) -> [JSONValue] {
        let places = places(in: document)
        return numbers.flatMap { number in
            places.map { replaced(in: document, at: $0[...], by: number) }
                + [places.reduce(document) { replaced(in: $0, at: $1[...], by: number) }]
        }
    }

    private enum Step {
        case member(String)
        case element(Int)
    }

    private static func places(in value: JSONValue) -> [[Step]] {
        switch value {
        case .int, .double: [[]]
        case .array(let elements):
            elements.enumerated().flatMap { index, element in
                places(in: element).map { [.element(index)] + $0 }
            }
        case .object(let members):
            members.sorted { $0.key < $1.key }.flatMap { name, member in
                places(in: member).map { [.member(name)] + $0 }
            }
        case .null, .bool, .string: []
        }
    }

    private static func replaced(
        in value: JSONValue, at place: ArraySlice<Step>, by number: JSONValue
    ) -> JSONValue {
        switch (place.first, value) {
        case (.member(let name)?, .object(var members)):
            members[name] = members[name].map { replaced(in: $0, at: place.dropFirst(), by: number) }
            return .object(members)
        case (.element(let index)?, .array(var elements)):
            elements[index] = replaced(in: elements[index], at: place.dropFirst(), by: number)
            return .array(elements)
        default: return number
        }
    }

    /// One of each kind that agents and controllers publish, by the end of its topic; with every number that is read.
    static let documents: [(topic: String, json: JSONValue)] = [
        (
            "state",
            [
                "state": "online", "epoch": 3, "boot": "B", "why": "birth", "agent": "k1", "version": "1",
                "mqtt": 5, "at": 1_795_217_000_000,
                "last": ["at": 1_795_217_000_000, "code": 503, "name": "DISK", "detail": "full"],
            ]
        ),
        (
            "state",
            [
                "state": "offline", "epoch": 3, "boot": "B", "why": "will", "agent": "k1", "version": "1",
                "mqtt": 4, "at": 1_795_217_000_000,
            ]
        ),
        (
            "health",
            [
                "status": "red", "version": "1", "epoch": 4, "boot": "B", "at": 1_795_217_000_000,
                "uptime": 1_000, "mqtt": 5, "groups": ["lobby"], "omitted": [],
                "checks": [
                    [
                        "name": "clock", "state": "failed", "ok": false, "detail": "wrong",
                        "since": 1_795_217_000_000,
                    ]
                ],
                "counters": ["opened": 5],
                "opens": [
                    ["route": "a://b", "opened": 1, "failed": 1, "intercepted": 1, "ms": ["p99": 3]]
                ],
                "waiting": [
                    "inbox": 1, "gates": [["gate": "login", "since": 1_795_217_000_000, "url": "a://b"]],
                ],
                "log": [
                    "override": ["level": "d", "tag": .null, "until": 1_795_217_000_000, "from": "ops"]
                ],
                "map": [
                    "layers": [["layer": "agent", "rev": 7, "at": 1]], "entries": 3, "inactive": 1, "rev": 7,
                    "refused": [
                        "at": 1, "code": 422, "name": "CYCLE", "detail": "it goes round", "digest": "",
                        "layer": "@lobby", "rev": 8,
                    ],
                ],
                "limits": ["intakeRate": 50, "intakeBurst": 100],
            ]
        ),
        (
            "map/applied",
            [
                "layers": [
                    ["layer": "@lobby", "rev": 41, "digest": "sha256:00", "at": 1_795_217_000_000],
                    ["layer": "patch", "rev": 2, "digest": "sha256:01", "at": 1],
                ],
                "entries": 4, "inactive": [["index": 1, "layer": "@lobby", "reason": "no route"]],
                "conditional": [["index": 2, "layer": "@lobby", "reason": "build", "state": "depends"]],
                "refused": [
                    "at": 1_795_217_000_000, "code": 422, "name": "CYCLE", "detail": "it goes round",
                    "digest": "", "layer": "@lobby", "rev": 42,
                ],
                "nextPatch": ["base": 41, "rev": 43], "omitted": 1,
                "rollout": [
                    "epoch": 1, "failed": 1, "id": "r", "in": "next", "layer": "@lobby", "opened": 5,
                    "seq": 2,
                    "why": "chosen",
                ],
            ]
        ),
        (
            "log/e",
            [
                "t": 1_795_217_000_000, "l": "E", "tag": "Router", "boot": "B", "seq": 7, "pid": 1, "tid": 2,
                "msg": "404 NO_ROUTE: a://b", "url": "a://b", "type": 1, "ref": "c-1",
                "trace": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "dropped": 3,
            ]
        ),
        (
            "fail",
            [
                "id": "f-1", "code": 404, "name": "NO_ROUTE", "where": "router", "url": "a://b", "ref": "c-1",
                "detail": "no route", "nearest": ["a://c"], "map": ["layer": "@lobby", "rev": 41],
                "count": 2, "first": 1_795_216_000_000, "last": 1_795_217_000_000,
            ]
        ),
        (
            "reply/me",
            [
                "id": "$ID", "type": "reply", "status": "ok", "code": 0, "name": "OK", "dup": false, "ms": 3,
                "attempt": 1, "at": 1_795_217_000_000,
                "result": [
                    "boot": "B", "replayed": 3, "last": 7, "until": 1_795_217_000_000, "level": "d",
                    "events": [
                        [
                            "t": 1_795_217_000_000, "l": "I", "tag": "T", "boot": "B", "seq": 6, "pid": 1,
                            "tid": 2, "msg": "m", "type": 0, "dropped": 0,
                        ]
                    ],
                    "next": ["boot": "B", "seq": 5], "first": ["t": 1_795_216_000_000, "seq": 2],
                    "failures": [
                        [
                            "id": "f-1", "code": 404, "name": "NO_ROUTE", "where": "router", "detail": "no",
                            "count": 2, "first": 1_795_216_000_000, "last": 1_795_217_000_000,
                        ]
                    ],
                    "damaged": 1, "running": 1, "received": 1, "ended": 2, "held": 1, "ahead": 1,
                    "selected": 0,
                    "attempt": 2, "code": 404, "name": "NO_ROUTE", "uptime": 5, "epoch": 2, "mqtt": 5,
                ],
            ]
        ),
    ]
}
