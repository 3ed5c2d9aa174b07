import Waypost
import WaypostBackend
import WaypostMessages

extension FleetState {
    /// The failures since the console began to watch, grouped as `waypost failures` does.
    func failuresJSON(limit: Int = 200, asOf: Int64, now: Int64) -> JSONValue {
        [
            "asOf": .int(asOf), "since": .int(began), "total": .int(failures.total),
            "groups": .array(
                failures.groups.sorted.prefix(limit).map { group in
                    let advice = CodeExplanation.find("\(group.code.number)")
                        .first { $0.code.name == group.code.name }?.advice
                    return [
                        "code": .int(Int64(group.code.number)), "name": .string(group.code.name),
                        "subject": .string(group.subject), "url": .bool(group.hasURL),
                        "map": group.map.map { ["layer": .string($0.layer), "rev": .int($0.revision)] }
                            ?? .null,
                        "detail": .string(group.detail), "count": .int(group.count),
                        "first": .int(group.first),
                        "last": .int(group.last),
                        "agents": .array(group.agents.sorted().prefix(20).map(JSONValue.string)),
                        "agentCount": .int(Int64(group.agents.count)),
                        "moreAgents": .bool(group.hasMoreAgents),
                        "minutes": json(ofMinutes: failures.minutes(of: group, at: now), at: now),
                        "advice": .init(advice),
                    ]
                }),
            "minutes": json(ofMinutes: failures.minutes(at: now), at: now),
        ]
    }
}
