import Waypost
import WaypostBackend
import WaypostMessages

extension FleetState {
    /// One agent, as far as it is known without asking it.
    func agentJSON(_ agent: String, asOf: Int64, now: Int64) -> JSONValue {
        guard let row = rows[agent], let member = members[agent] else {
            let nearest = NearestNames.find(agent, among: rows.keys)
            return [
                "asOf": .int(asOf), "found": false, "nearest": .array(nearest.map(JSONValue.string)),
                "row": .null, "client": .null, "health": .null, "log": .null, "waiting": .null, "maps": [],
                "refused": .null, "held": [], "membership": .null,
            ]
        }
        return [
            "asOf": .int(asOf), "found": true, "nearest": [],
            "row": FleetView.json(of: row, self, now: now),
            "client": member.health.map { health in
                [
                    "app": .init(health.build), "locale": .init(health.client["locale"]?.stringValue),
                    "labels": .array(
                        health.labels.sorted { $0.key < $1.key }.map { .string("\($0.key)=\($0.value)") }),
                ]
            } ?? .null,
            "health": member.wholeHealth.map {
                Self.json(of: $0, isCurrent: member.currentHealth != nil, row.summary)
            } ?? .null,
            "log": member.health?.override.map { override in
                var override = override
                // By the clock of who looks.
                override.until = override.until.subtracting(clamping: clockError(of: agent, now: now))
                return override.json
            } ?? .null,
            "waiting": .init(member.health?.waitingText), "maps": Self.layersJSON(of: member),
            "refused": Self.json(of: member.mapSummary?.refused), "held": .array(member.health?.held ?? []),
            "membership": Self.json(of: member.health?.saidGroups, groups[agent]),
        ]
    }

    /// What the release role makes of the agent's groups, and how far that has come; null where there is no document.
    private static func json(of said: SaidGroups?, _ kept: KeptGroups?) -> JSONValue {
        func texts(_ list: [String]) -> JSONValue {
            .array(list.prefix(SeenText.groups).map { .string($0.cut(to: SeenText.name)) })
        }
        let waiting = kept.flatMap { $0.isWaiting(by: said) ? $0.document : nil }
        guard said != nil || waiting != nil else { return .null }
        return [
            "own": texts(said?.own ?? []), "revision": .init(said?.revision),
            "added": texts(said?.added ?? []), "removed": texts(said?.removed ?? []),
            "refused": said?.refused.map { refused in
                [
                    "code": .int(Int64(refused.code.number)), "name": .string(refused.code.name),
                    "detail": .string(refused.detail.cut(to: SeenText.detail)),
                ]
            } ?? .null,
            "waiting": waiting.map { document in
                [
                    "revision": .int(document.revision), "added": texts(document.added),
                    "removed": texts(document.removed),
                ]
            } ?? .null,
        ]
    }

    private static func json(of health: Health, isCurrent: Bool, _ summary: AgentStatus) -> JSONValue {
        [
            "asOf": .init(summary.asOf),
            "status": .string(isCurrent ? health.status : "was \(health.status)"),
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

    private static func layersJSON(of member: Roster.Member) -> JSONValue {
        .array(
            member.layers.map { layer in
                // Health alone does not say it.
                let inactive = member.map.map { $0.inactive.count { $0.layer == layer.name } }
                return [
                    "layer": .string(layer.name), "revision": .init(layer.revision),
                    "at": layer.at == 0 ? .null : .int(layer.at),
                    "digest": layer.digest.isEmpty ? .null : .string(layer.digest),
                    "inactive": .init(inactive.map(Int64.init)),
                    "state": .init(inactive.map { $0 == 0 ? "active" : "inactive" }),
                ]
            })
    }

    static func json(of refused: AppliedMap.Refused?) -> JSONValue {
        guard let refused else { return .null }
        return [
            "layer": .string(refused.layer), "revision": .init(refused.revision),
            "code": .int(Int64(refused.code.number)), "name": .string(refused.code.name),
            "detail": .string(refused.detail), "at": .int(refused.at),
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
        var inForce: [String: [Int64?: MapUse]] = [:]
        var refused: [String: [MapRefusal: MapUse]] = [:]
        for (agent, member) in members {
            let idle = member.map.map { Set($0.inactive.map(\.layer)) }
            for layer in member.layers {
                inForce[layer.name, default: [:]][layer.revision, default: MapUse()]
                    .add(agent, isInactive: idle?.contains(layer.name))
            }
            if let one = member.mapSummary?.refused {
                let key = MapRefusal(revision: one.revision, code: one.code, detail: one.detail.cut(to: 300))
                refused[one.layer, default: [:]][key, default: MapUse()].add(agent)
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
                                $1.json(with: ["revision": .init($0)])
                            }),
                        "refused": .array(
                            (refused[name] ?? [:]).sorted { $0.value.agents > $1.value.agents }.prefix(20).map
                            {
                                $1.json(with: [
                                    "revision": .init($0.revision), "code": .int(Int64($0.code.number)),
                                    "name": .string($0.code.name), "detail": .string($0.detail),
                                ])
                            }),
                    ]
                }),
        ]
    }
}

/// How many agents have a map in force, or refused one, and some of them.
private struct MapUse {
    var agents = 0
    /// Of those that say it; nil when none does.
    private var inactive: Int?
    private var sample: [String] = []

    mutating func add(_ agent: String, isInactive: Bool? = nil) {
        agents += 1
        if let isInactive { inactive = (inactive ?? 0) + (isInactive ? 1 : 0) }
        if sample.count < 5 { sample.append(agent) }
    }

    /// Its members in JSON, and some more.
    func json(with more: [String: JSONValue]) -> JSONValue {
        let members: [String: JSONValue] = [
            "agents": .int(Int64(agents)), "inactive": .init(inactive.map(Int64.init)),
            "sample": .array(sample.sorted().map(JSONValue.string)),
        ]
        return .object(members.merging(more) { $1 })
    }
}

private struct MapRefusal: Hashable {
    var revision: Int64?
    var code: Code
    var detail: String
}
