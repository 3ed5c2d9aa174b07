package import Waypost

/// What an agent says of itself, in `health` and in the answer to a `ping`: checks, counters, and the limits in force.
///
/// It is the document itself, of which each member has its property for both directions. It is read leniently, since an
/// older agent says less; and what only a newer one says stays in ``json``.
package struct Health: Sendable, Hashable {
    private var members: Members

    /// All of it.
    package var json: JSONValue { .object(members) }

    package init(_ json: JSONValue) { members = json.objectValue ?? [:] }

    /// A document to be filled in.
    package init() { members = ["type": "health"] }

    package var agent: String? {
        get { self["agent"] }
        set { self["agent"] = newValue }
    }
    /// The version of the program.
    package var version: String {
        get { self["version"] ?? "?" }
        set { self["version"] = newValue }
    }
    /// The groups that it is in beside `all`; none of an agent that does not say.
    ///
    /// What can be no group's name is left out: topics are made of it.
    package var groups: [String] {
        get { (self["groups"] ?? []).filter(Name.isValid) }
        set { self["groups"] = newValue }
    }
    /// What it says of the document of its groups; nil of one that has none.
    package var saidGroups: SaidGroups? {
        get { members["membership"].flatMap { try? SaidGroups($0) } }
        set { members["membership"] = newValue?.json }
    }
    /// What the client is, for conditions of maps and for lists: `build`, `locale` and `labels`, as far as they are known.
    package var client: Members {
        get { self["client"] ?? [:] }
        set { self["client"] = newValue }
    }
    /// The version of the app; nil when it is not known.
    package var build: String? { client["build"]?.stringValue }
    /// The client's labels.
    package var labels: [String: String] {
        (client["labels"]?.objectValue ?? [:]).compactMapValues(\.stringValue)
    }
    /// Of the client's certificate: `until`, `due` and `last`, what the last try to renew it came to; nil without one.
    package var certificate: JSONValue? {
        get { self["certificate"] }
        set { self["certificate"] = newValue }
    }
    package var boot: String? {
        get { self["boot"] }
        set { self["boot"] = newValue }
    }
    /// The number of the connection that it was written on.
    package var epoch: Int64? {
        get { self["epoch"] }
        set { self["epoch"] = newValue }
    }
    /// When it was written, by the agent's clock in milliseconds since 1970.
    package var at: Int64? {
        get { self["at"].map { min(max($0, 0), Fields.latestTime) } }
        set { self["at"] = newValue }
    }
    /// How long the process runs, in milliseconds.
    package var uptime: Int64? {
        get { self["uptime"] }
        set { self["uptime"] = newValue }
    }
    /// 5 or 4; 0 before the first connection.
    package var mqtt: Int64? {
        get { self["mqtt"] }
        set { self["mqtt"] = newValue }
    }
    package var broker: String? {
        get { self["broker"] }
        set { self["broker"] = newValue }
    }
    /// Whether there is a broker now; only in what an agent says on its own machine.
    package var isOnline: Bool? {
        get { self["online"] }
        set { self["online"] = newValue }
    }
    /// `red`, `unknown` or `green`: what the checks come to.
    package var status: String { self["status"] ?? "unknown" }

    /// Far more checks than an agent has.
    private static let maximumChecks = 1_000

    package var checks: [HealthCheck] {
        get { list("checks").prefix(Self.maximumChecks).compactMap { HealthCheck($0) } }
        set {
            members["checks"] = .array(newValue.map(\.json))
            self["status"] = newValue.status
        }
    }

    /// What happened since the process began.
    package var counters: Members {
        get { self["counters"] ?? [:] }
        set { self["counters"] = newValue }
    }
    /// How much waits, and in `gates` the opens that an interceptor holds.
    package var waiting: Members {
        get { self["waiting"] ?? [:] }
        set { self["waiting"] = newValue }
    }
    /// The opens that an interceptor lets wait, the longest first; of many only some.
    package var held: [JSONValue] { waiting["gates"]?.arrayValue ?? [] }
    /// Which events are published.
    package var log: JSONValue {
        get { self["log"] ?? .null }
        set { self["log"] = newValue }
    }
    /// What a `log` command asked for; nil when none is in force.
    package var override: LevelOverride? { log["override"].flatMap { LevelOverride($0) } }
    /// The map in force.
    package var map: MapSummary {
        get { self["map"].flatMap { try? MapSummary($0) } ?? MapSummary() }
        set { self["map"] = newValue.json }
    }
    /// Of the routes that matter most, how opens ended: `[{"route","opened","failed","intercepted","ms"}]`.
    package var opens: [JSONValue] {
        get { list("opens") }
        set { members["opens"] = .array(newValue) }
    }
    /// The limits in force.
    package var limits: Members {
        get { self["limits"] ?? [:] }
        set { self["limits"] = newValue }
    }
    /// What is left out, because the broker does not accept messages of that size.
    var omitted: [String] {
        get { self["omitted"] ?? [] }
        set { self["omitted"] = newValue }
    }

    package typealias Members = [String: JSONValue]

    private subscript<Value: FieldValue>(_ name: String) -> Value? {
        get { members[name].flatMap { Value(field: $0) } }
        set { members[name] = newValue?.field }
    }

    private func list(_ name: String) -> [JSONValue] { members[name]?.arrayValue ?? [] }

    /// Bytes of a detail where there is hardly space.
    private static let shortDetail = 80

    /// As a message of at most so many bytes: the longest parts, which may grow, are left out first.
    package func encoded(within limit: Int) -> [UInt8] {
        let cuts: [(name: String, cut: (inout Health) -> Void)] = [
            ("waiting.gates", { $0.waiting["gates"] = [] }),
            ("opens", { $0.opens = [] }),
            ("client", { $0.client = [:] }),
            (
                "details",
                { health in
                    health.checks = health.checks.map {
                        var check = $0
                        (check.detail, check.advice) = (check.detail.cut(to: Self.shortDetail), nil)
                        return check
                    }
                    health.map.cutDetail(to: Self.shortDetail)
                }
            ),
        ]
        var health = self
        for (name, cut) in cuts {
            let bytes = health.json.serialized()
            guard bytes.count > limit else { return bytes }
            cut(&health)
            health.omitted.append(name)
        }
        return health.json.serialized()
    }
}
