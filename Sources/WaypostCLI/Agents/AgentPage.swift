import MQTTLink
import Waypost
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
        _ agent: String, _ settings: BrokerSettings, as sender: String, within limit: Duration
    ) async throws -> AgentPage {
        var page = AgentPage(agent, topics: settings.topics)
        let topics = settings.topics
        try await OperatorSession.with(
            settings, as: sender, required: [topics.state(of: agent)],
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
        section("health", health.map { checks($0, style) } ?? [], &lines, style)
        section("map", map(), &lines, style)
        if let contract = contract.contract {
            section(
                "can do",
                [
                    ("routes", "\(contract.routes.count); waypost routes --agent \(agent)"),
                    ("services", "\(contract.services.count); waypost services --agent \(agent)"),
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
        _ title: StaticString, _ rows: [(name: String, text: TerminalText)], _ lines: inout [TerminalText],
        _ style: Style
    ) {
        guard !rows.isEmpty else { return }
        lines.append(style.bold(TerminalText(codes: title)))
        lines += TerminalText.table(rows)
    }

    private func checks(_ health: Health, _ style: Style) -> [(name: String, text: TerminalText)] {
        var rows: [(name: String, text: TerminalText)] = [
            ("broker", "\(member?.healthJSON?["broker"]?.stringValue ?? "?")"),
            ("up", "\(health.uptime)"),
            ("groups", "\((["all"] + health.groups).joined(separator: ", "))"),
        ]
        rows += health.checks.map { check in
            let text = TerminalText(check["detail"]?.stringValue ?? "")
            let isOK = check["ok"]?.boolValue != false
            return (check["name"]?.stringValue ?? "?", isOK ? text : style.red(text))
        }
        return rows
    }

    private func map() -> [(name: String, text: TerminalText)] {
        guard let json = member?.map else { return [] }
        let summary = MapSummary(json)
        var rows: [(name: String, text: TerminalText)] = [("in force", "\(summary.text)")]
        if let refusal = summary.refusal { rows.append(("refused", "\(refusal)")) }
        rows += (json["inactive"]?.arrayValue ?? []).prefix(20).map { entry in
            let place = "\(entry["layer"]?.stringValue ?? "?") \(entry["index"]?.intValue ?? 0)"
            return ("inactive", "\(place): \(entry["reason"]?.stringValue ?? "?")")
        }
        return rows
    }

    private func screens() -> [(name: String, text: TerminalText)] {
        func names(_ stack: JSONValue) -> TerminalText {
            "\((stack.arrayValue ?? []).map { $0["name"]?.stringValue ?? "?" }.joined(separator: " > "))"
        }
        let selected = navigation?["selected"]?.intValue
        let tabs = (navigation?["tabs"]?.arrayValue ?? []).enumerated().map { number, stack in
            (name: "tab \(number)\(Int64(number) == selected ? ", in front" : "")", text: names(stack))
        }
        return tabs + (navigation?["modals"]?.arrayValue ?? []).map { ("modal", names($0)) }
    }

    /// The routes that failed most, as far as the agent tells.
    private func opens() -> [(name: String, text: TerminalText)] {
        (member?.healthJSON?["opens"]?.arrayValue ?? []).prefix(20).map { row in
            let route = row["route"]?.stringValue ?? ""
            let counts = ["opened", "failed", "intercepted"].compactMap { name in
                row[name]?.intValue.flatMap { $0 > 0 ? "\($0) \(name)" : nil }
            }
            let time = row["ms"]?["p99"]?.intValue.map { ", p99 \($0) ms" } ?? ""
            return (route.isEmpty ? "(no route)" : route, "\(counts.joined(separator: ", "))\(time)")
        }
    }

    private func numbers(_ json: JSONValue?) -> [(name: String, text: TerminalText)] {
        (json?.objectValue ?? [:]).sorted { $0.key < $1.key }.compactMap { name, value in
            switch value {
            case .int, .string, .bool, .double: (name, "\(value.text)")
            case .object(let members) where !members.isEmpty:
                (
                    name,
                    "\(members.sorted { $0.key < $1.key }.map { "\($0.value.text) \($0.key)" }.joined(separator: ", "))"
                )
            default: nil
            }
        }
    }
}
