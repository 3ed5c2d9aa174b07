import MQTTLink
import Waypost
import WaypostBackend
import WaypostMessages

/// All that the broker keeps of one agent, on one page.
struct AgentPage {
    let agent: String
    private let topics: Topics
    private var roster: Roster
    private var contract: ContractDocuments
    private var navigation: JSONValue?

    /// A page of what is known already; further messages add to it.
    init(_ agent: String, _ roster: Roster) {
        self.agent = agent
        topics = roster.topics
        self.roster = roster.only(agent)
        contract = ContractDocuments(of: agent, topics: topics)
    }

    init(_ agent: String, topics: Topics) { self.init(agent, Roster(topics: topics)) }

    /// Reads the page from the broker.
    ///
    /// - Throws: ``CommandError`` 4 when there is no broker, 3 when it keeps nothing of such an agent.
    static func read(
        _ agent: String, _ settings: BackendConfiguration, within limit: Duration
    ) async throws -> AgentPage {
        var page = AgentPage(agent, topics: settings.topics)
        let topics = settings.topics
        try await BackendSession.with(
            settings, required: [topics.state(of: agent)],
            useful: [topics.health(of: agent), topics.applied(of: agent), topics.navigation(of: agent)]
                + page.contract.filters
        ) { session in
            _ = try await session.readRetained(within: limit) { page.saw($0) }
        }
        guard page.member != nil else {
            throw CommandError(.noReply, "there is no agent \(agent) at this broker; see: waypost agents")
        }
        return page
    }

    mutating func saw(_ message: MQTTMessage) {
        roster.saw(message)
        contract.saw(message)
        if message.topic == topics.navigation(of: agent) { navigation = message.json }
    }

    private var member: Roster.Member? { roster.members[agent] }

    /// `{"agent","online","state","health","map","routes","contract","navigation"}`; null for what is not there.
    var json: JSONValue {
        var members = roster.json(of: agent).objectValue ?? [:]
        members["contract"] = contract.contract?.json ?? .null
        members["navigation"] = navigation ?? .null
        return .object(members)
    }

    /// The page for people.
    func lines(_ style: Style, now: Int64 = WallClock.now()) -> [TerminalText] {
        var lines = roster.table(style, now: now)
        let health = member?.health
        section("health", health.map(checks) ?? [], &lines, style)
        section("map", map(), &lines, style)
        if let contract = contract.contract {
            section(
                "can do",
                [
                    entry("routes", "\(contract.routes.count); waypost routes --agent \(agent)"),
                    entry("services", "\(contract.services.count); waypost services --agent \(agent)"),
                ], &lines, style)
        }
        section("shows", screens(), &lines, style)
        section("opens", opens(), &lines, style)
        section("since its start", numbers(member?.healthJSON?["counters"]), &lines, style)
        section("waiting", numbers(member?.healthJSON?["waiting"]), &lines, style)
        section("limits", numbers(member?.healthJSON?["limits"]), &lines, style)
        return lines
    }

    private func section(
        _ title: StaticString, _ rows: [TextTable.Entry], _ lines: inout [TerminalText],
        _ style: Style
    ) {
        guard !rows.isEmpty else { return }
        lines.append(style.bold(TerminalText(codes: title)))
        lines += TextTable.lines(rows, style)
    }

    private func entry(_ name: String, _ text: String, isProblem: Bool = false) -> TextTable.Entry {
        TextTable.Entry(name: name, text: text, isProblem: isProblem)
    }

    private func checks(_ health: Health) -> [TextTable.Entry] {
        [
            entry("broker", member?.healthJSON?["broker"]?.stringValue ?? "?"),
            entry("up", health.uptime),
            entry("groups", (["all"] + health.groups).joined(separator: ", ")),
        ]
            + [health.levelAsked].compactMap(\.self).map { entry("log", $0) }
            + health.checks.map { check in
                entry(
                    check.name, (check.state == .unknown ? "not known: " : "") + check.detail,
                    isProblem: check.state != .ok)
            }
    }

    private func map() -> [TextTable.Entry] {
        guard let json = member?.map else { return [] }
        let summary = MapSummary(json)
        return [entry("in force", summary.text)]
            + [summary.refusal].compactMap(\.self).map { entry("refused", $0) }
            + (json["inactive"]?.arrayValue ?? []).map { inactive in
                let place = "\(inactive["layer"]?.stringValue ?? "?") \(inactive["index"]?.intValue ?? 0)"
                return entry("inactive", "\(place): \(inactive["reason"]?.stringValue ?? "?")")
            }
    }

    private func screens() -> [TextTable.Entry] {
        func names(_ stack: JSONValue) -> String {
            (stack.arrayValue ?? []).map { $0["name"]?.stringValue ?? "?" }.joined(separator: " > ")
        }
        let selected = navigation?["selected"]?.intValue
        let tabs = (navigation?["tabs"]?.arrayValue ?? []).enumerated().map { number, stack in
            entry("tab \(number)\(Int64(number) == selected ? ", in front" : "")", names(stack))
        }
        return tabs + (navigation?["modals"]?.arrayValue ?? []).map { entry("modal", names($0)) }
    }

    /// The routes that failed most, as far as the agent tells.
    private func opens() -> [TextTable.Entry] {
        (member?.healthJSON?["opens"]?.arrayValue ?? []).map { row in
            let route = row["route"]?.stringValue ?? ""
            let counts = ["opened", "failed", "intercepted"].compactMap { name in
                row[name]?.intValue.flatMap { $0 > 0 ? "\($0) \(name)" : nil }
            }
            let time = row["ms"]?["p99"]?.intValue.map { ", p99 \($0) ms" } ?? ""
            return entry(
                route.isEmpty ? "(no route)" : route, "\(counts.joined(separator: ", "))\(time)")
        }
    }

    private func numbers(_ json: JSONValue?) -> [TextTable.Entry] {
        (json?.objectValue ?? [:]).sorted { $0.key < $1.key }.compactMap { name, value in
            switch value {
            case .int, .string, .bool, .double: entry(name, value.text)
            case .object(let members) where !members.isEmpty:
                entry(
                    name,
                    members.sorted { $0.key < $1.key }.map { "\($0.value.text) \($0.key)" }
                        .joined(separator: ", "))
            default: nil
            }
        }
    }
}
