import Waypost
import WaypostBackend
import WaypostMessages

extension FleetState {
    /// One agent, as far as it is known without asking it.
    func agentJSON(_ agent: String, asOf: Int64, now: Int64) -> JSONValue {
        guard let row = rows[agent], let member = roster.members[agent] else {
            let nearest = NearestNames.find(agent, among: rows.keys)
            return [
                "asOf": .int(asOf), "found": false, "nearest": .array(nearest.map(JSONValue.string)),
                "row": .null, "health": .null, "log": .null, "waiting": .null, "maps": [], "refused": .null,
                "held": [],
            ]
        }
        let applied = member.mapSummary?.json ?? .null
        return [
            "asOf": .int(asOf), "found": true, "nearest": [],
            "row": FleetView.json(of: row, self, now: now),
            "health": member.health.map { Self.json(of: $0, row.summary) } ?? .null,
            "log": member.health?.override.map { override in
                var override = override
                // By the clock of who looks.
                override.until &-= roster.clockError(of: agent, now: now)
                return override.json
            } ?? .null,
            "waiting": .init(member.health?.waitingText), "maps": Self.layers(of: applied),
            "refused": Self.refusal(of: applied), "held": .array(member.health?.held ?? []),
        ]
    }

    private static func json(of health: Health, _ summary: AgentSummary) -> JSONValue {
        [
            "asOf": .init(summary.asOf),
            "status": .string(summary.health == "-" ? "was \(health.status)" : health.status),
            "checks": .array(
                health.checks.map { check in
                    [
                        "name": .string(check.name), "state": .string(check.state.rawValue),
                        "since": .init(check.since), "detail": .string(check.detail),
                        "advice": .init(check.advice),
                    ]
                }),
            "limits": .array(
                health.limits.sorted { $0.key < $1.key }.map {
                    [
                        "name": .string($0.key), "value": $0.value,
                        "text": .string(
                            $0.value.stringValue ?? String(decoding: $0.value.serialized(), as: UTF8.self)),
                    ]
                }),
            "uptime": .init(health.uptime), "mqtt": .string(health.mqttVersion),
            "epoch": .init(health.epoch),
        ]
    }

    private static func layers(of applied: JSONValue) -> JSONValue {
        .array(
            (applied["layers"]?.arrayValue ?? []).map { layer in
                let name = layer["layer"]?.stringValue ?? "?"
                let inactive = (applied["inactive"]?.arrayValue ?? []).count { $0["layer"] == .string(name) }
                return [
                    "layer": .string(name), "revision": layer["rev"] ?? .null, "at": layer["at"] ?? .null,
                    "digest": layer["digest"] ?? .null, "inactive": .int(Int64(inactive)),
                    "state": .string(inactive == 0 ? "active" : "inactive"),
                ]
            })
    }

    static func refusal(of applied: JSONValue) -> JSONValue {
        guard let refused = applied["refused"], refused.objectValue != nil else { return .null }
        return [
            "layer": refused["layer"] ?? .null, "revision": refused["rev"] ?? .null,
            "code": refused["code"] ?? .null, "name": refused["name"] ?? .null,
            "detail": refused["detail"] ?? .null, "at": refused["at"] ?? .null,
        ]
    }

    /// What happened to an agent while the console watched, the newest first.
    func timelineJSON(of agent: String, before: Int64?, limit: Int, now: Int64) -> JSONValue {
        let events = timeline(of: agent).reversed().filter { event in before.map { event.time < $0 } ?? true }
        return [
            "asOf": .int(now), "events": .array(events.prefix(limit).map(\.json)), "since": .int(began),
        ]
    }

    /// Which maps are in force over the fleet, as far as the broker keeps it.
    func mapsJSON(asOf: Int64) -> JSONValue {
        struct Use {
            var agents = 0
            var inactive = 0
            var sample: [String] = []
            mutating func add(_ agent: String) {
                agents += 1
                if sample.count < 5 { sample.append(agent) }
            }
            var members: [String: JSONValue] {
                [
                    "agents": .int(Int64(agents)), "inactive": .int(Int64(inactive)),
                    "sample": .array(sample.sorted().map(JSONValue.string)),
                ]
            }
        }
        struct Refusal: Hashable {
            var revision: Int64?
            var code: Int64
            var name: String
            var detail: String
        }
        var inForce: [String: [Int64?: Use]] = [:]
        var refused: [String: [Refusal: Use]] = [:]
        for (agent, member) in roster.members {
            let applied = member.mapSummary?.json ?? .null
            let idle = Set((applied["inactive"]?.arrayValue ?? []).compactMap { $0["layer"]?.stringValue })
            for layer in applied["layers"]?.arrayValue ?? [] {
                guard let name = layer["layer"]?.stringValue else { continue }
                inForce[name, default: [:]][layer["rev"]?.intValue, default: Use()].add(agent)
                if idle.contains(name) { inForce[name]?[layer["rev"]?.intValue]?.inactive += 1 }
            }
            if let one = applied["refused"], let layer = one["layer"]?.stringValue {
                let key = Refusal(
                    revision: one["rev"]?.intValue, code: one["code"]?.intValue ?? 0,
                    name: one["name"]?.stringValue ?? "?",
                    detail: (one["detail"]?.stringValue ?? "").cut(to: 300))
                refused[layer, default: [:]][key, default: Use()].add(agent)
            }
        }
        let names = Set(inForce.keys).union(refused.keys).sorted().prefix(500)
        return [
            "asOf": .int(asOf),
            "layers": .array(
                names.map { name in
                    [
                        "layer": .string(name),
                        "revisions": .array(
                            (inForce[name] ?? [:]).sorted { ($0.key ?? 0) > ($1.key ?? 0) }.prefix(20).map {
                                .object($1.members.merging(["revision": .init($0)]) { $1 })
                            }),
                        "refused": .array(
                            (refused[name] ?? [:]).sorted { $0.value.agents > $1.value.agents }.prefix(20).map
                            {
                                .object(
                                    $1.members.merging([
                                        "revision": .init($0.revision), "code": .int($0.code),
                                        "name": .string($0.name), "detail": .string($0.detail),
                                    ]) { $1 })
                            }),
                    ]
                }),
        ]
    }
}
