package import Waypost
package import WaypostMessages

/// The health document: checks, counters, and the limits in force; the agent fills it in.
package struct HealthReport: Sendable {
    var agent: String
    /// The version of the program.
    var version: String
    /// The groups that it is in beside `all`.
    var groups: [String]
    var boot: String
    var epoch: Int64
    /// The agent's clock, in milliseconds since 1970.
    var at: Int64
    /// In milliseconds.
    var uptime: Int64
    /// 5 or 4; 0 before the first connection.
    var mqtt: Int
    var broker: String
    var checks: [HealthCheck]
    var counters: [String: JSONValue]
    var waiting: [String: JSONValue]
    /// Which events are published.
    var log: JSONValue
    var map: AppliedMap
    /// Of the routes that matter most, how opens ended; see ``RouteCounters``.
    var opens: JSONValue
    var limits: JSONValue
    /// What is left out, because the broker does not accept messages of that size.
    var omitted: [String] = []

    package init(
        agent: String, version: String = Version.current, groups: [String], boot: String, epoch: Int64,
        at: Int64, uptime: Int64, mqtt: Int, broker: String, checks: [HealthCheck],
        counters: [String: JSONValue], waiting: [String: JSONValue], log: JSONValue, map: AppliedMap,
        opens: JSONValue, limits: JSONValue
    ) {
        self.agent = agent
        self.version = version
        self.groups = groups
        self.boot = boot
        self.epoch = epoch
        self.at = at
        self.uptime = uptime
        self.mqtt = mqtt
        self.broker = broker
        self.checks = checks
        self.counters = counters
        self.waiting = waiting
        self.log = log
        self.map = map
        self.opens = opens
        self.limits = limits
    }

    package var json: JSONValue {
        var document: [String: JSONValue] = [
            "type": "health",
            "agent": .string(agent),
            "groups": .array(groups.map { .string($0) }),
            "boot": .string(boot),
            "epoch": .int(epoch),
            "version": .string(version),
            "at": .int(at),
            "uptime": .int(uptime),
            "status": .string(checks.status),
            "mqtt": .int(Int64(mqtt)),
            "broker": .string(broker),
            "checks": .array(checks.map(\.json)),
            "counters": .object(counters),
            "waiting": .object(waiting),
            "log": log,
            "map": [
                "rev": map.layers.last { $0.name == "agent" }?.revision.map(JSONValue.int) ?? .null,
                "entries": .int(Int64(map.entries)),
                "inactive": .int(Int64(map.inactive.count)),
                "layers": .array(
                    map.layers.map {
                        ["layer": .string($0.name), "rev": $0.revision.map(JSONValue.int) ?? .null]
                    }),
                "refused": map.refused?.json ?? .null,
            ],
            "opens": opens,
            "limits": limits,
        ]
        if !omitted.isEmpty { document["omitted"] = .array(omitted.map { .string($0) }) }
        return .object(document)
    }

    /// Bytes of a detail where there is hardly space.
    private static let shortDetail = 80

    /// As a message of at most so many bytes: the longest parts, which may grow, are left out first.
    func encoded(within limit: Int) -> [UInt8] {
        let cuts: [(name: String, cut: (inout HealthReport) -> Void)] = [
            ("waiting.gates", { $0.waiting["gates"] = .array([]) }),
            ("opens", { $0.opens = .array([]) }),
            (
                "details",
                { report in
                    for index in report.checks.indices {
                        report.checks[index].detail = report.checks[index].detail.cut(to: Self.shortDetail)
                        report.checks[index].advice = nil
                    }
                    let refusal = report.map.refused?.detail
                    report.map.refused?.detail = refusal?.cut(to: Self.shortDetail) ?? ""
                }
            ),
        ]
        var report = self
        for (name, cut) in cuts {
            let bytes = report.json.serialized()
            guard bytes.count > limit else { return bytes }
            cut(&report)
            report.omitted.append(name)
        }
        return report.json.serialized()
    }
}
