import MQTTLink
import Threading
import Waypost
import WaypostAgent
import WaypostBackend
import WaypostMessages
import WaypostTools

/// All that is known of one agent, on one page: what the broker keeps, and what the agent says when it is asked.
struct AgentPage {
    let agent: String
    private let topics: Topics
    private var roster: Roster
    private var contract: ContractDocuments
    private var navigation: JSONValue?
    /// Why an agent that is online did not say how it is; nil when it did, or was not asked.
    private var silence: String?

    /// A page of what is known already; further messages add to it.
    init(_ agent: String, _ roster: Roster) {
        self.agent = agent
        topics = roster.topics
        self.roster = roster.only(agent)
        contract = ContractDocuments(of: agent, topics: topics)
    }

    init(_ agent: String, topics: Topics) { self.init(agent, Roster(topics: topics)) }

    /// How long an answer is one of just now, in milliseconds.
    private static let freshness: Int64 = 5_000
    /// How long an agent that is online is waited for.
    private static let patience = TimeSpan.seconds(3)

    /// Reads the page from the broker, and asks the agent for its health when it is online.
    ///
    /// - Throws: ``CommandError`` 4 when there is no broker, 3 when it keeps nothing of such an agent.
    static func read(
        _ agent: String, _ settings: BackendConfiguration, within limit: Duration
    ) async throws -> AgentPage {
        var page = AgentPage(agent, topics: settings.topics)
        let topics = settings.topics
        try await BackendSession.with(
            settings, required: [topics.state(of: agent)],
            useful: [
                topics.health(of: agent), topics.applied(of: agent), topics.navigation(of: agent),
                topics.reply(of: agent, to: settings.name),
            ] + page.contract.filters
        ) { session in
            try await session.readRetained(within: limit) { page.saw($0) }
            if page.member?.isOnline == true { try await page.ask(settings, in: session) }
        }
        if page.member == nil {
            let known = try? await settings.roster(within: limit)
            let near = NearestNames.find(
                agent, among: known?.members.keys.map(\.self) ?? [], limit: 1, slips: 2)
            throw CommandError(
                .noReply,
                "there is no agent \(agent) at this broker\(NearestNames.question(near)); see: waypost agents"
            )
        }
        return page
    }

    /// What the broker keeps is up to a minute old, and a ping takes milliseconds.
    private mutating func ask(_ settings: BackendConfiguration, in session: BackendSession) async throws {
        let ping = try CommandRequest(
            asking: .ping(), of: .agent(agent), settings, signer: nil, ReplyWait(Self.patience))
        do {
            _ = try await ping.perform(in: session) { answer in
                if answer.isOK {
                    roster.answered(agent, answer.reply.result)
                } else {
                    silence = "it refused a ping: \(answer.reply.code)"
                }
            }
        } catch let error as BackendError {
            silence =
                error.kind == .noReply
                ? "it did not answer a ping within \(Self.patience)"
                : "no ping was sent: \(error.wording.shell)"
        }
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
    ///
    /// - Parameter width: of the terminal; nil where there is none.
    func lines(_ style: Style, now: Int64 = WallClock.now(), within width: Int? = nil) -> [TerminalText] {
        var lines = AgentTable(roster.summaries(now: now), now: now).lines(style, within: width, wraps: true)
        let health = member?.wholeHealth
        func section(_ title: StaticString, _ rows: [TextTable.Entry]) {
            guard !rows.isEmpty else { return }
            lines.append(style.bold(TerminalText(codes: title)))
            lines += TextTable.lines(rows, style, within: width)
        }
        section("as of", health == nil ? [] : [asOf(now)])
        section("health", health.map(checks) ?? [])
        section("map", map())
        if let contract = contract.contract {
            section(
                "can do",
                [
                    entry("routes", "\(contract.routes.count); waypost routes --agent \(agent)"),
                    entry("services", "\(contract.services.count); waypost services --agent \(agent)"),
                    entry("redirects", redirects(contract.redirects)),
                ])
        }
        section("shows", screens())
        section("opens", opens())
        section("since its start", numbers(health?.counters))
        section("waiting", numbers(health?.waiting))
        section("limits", limits())
        return lines
    }

    /// The time of all that follows, so that nothing of the past is taken for the present.
    private func asOf(_ now: Int64) -> TextTable.Entry {
        guard let member else { return entry("?", "") }
        let summary = AgentStatus(agent, member, now: now)
        let time =
            summary.asOf.map { "\(Timestamp.local($0)), \(AgentStatus.ago($0, now))" } ?? "an unknown time"
        let isOnline = member.isOnline == true
        // A page of watch stays on the screen.
        let isFresh = member.askedAt.map { now.subtracting(clamping: $0) < Self.freshness } ?? false
        let how =
            if member.askedAt != nil {
                isFresh ? "the agent was asked just now" : "the agent was asked"
            } else if let silence {
                silence
            } else if isOnline {
                member.currentHealth == nil
                    ? "before it connected; what follows may have changed since"
                    : "the last health that it published"
            } else {
                "before it \(member.isStopped ? "was shut down" : "was lost"); what follows may have changed since. "
                    + "Why it is not here, its machine says: waypost doctor --local, journalctl -u waypost-agent"
            }
        return entry(isFresh ? "now" : time, how, isProblem: silence != nil)
    }

    /// The limits that are not the usual ones.
    private func limits() -> [TextTable.Entry] {
        guard let limits = member?.wholeHealth?.limits, !limits.isEmpty else { return [] }
        let changed = AgentNumber.all.compactMap { setting -> TextTable.Entry? in
            guard let name = setting.healthName, let value = limits[name]?.boundedInt,
                value != Int64(setting.standard)
            else { return nil }
            return entry(name, "\(value) (default: \(setting.standard))")
        }
        return changed.isEmpty
            ? [entry("all \(limits.count)", "at their defaults; --json prints them")]
            : changed + [entry("others", "at their defaults; --json prints them")]
    }

    private func entry(_ name: String, _ text: String, isProblem: Bool = false) -> TextTable.Entry {
        TextTable.Entry(name: name, text: text, isProblem: isProblem)
    }

    private func checks(_ health: Health) -> [TextTable.Entry] {
        [
            entry("broker", health.broker ?? "?"),
            entry("up", health.uptimeText),
            entry("groups", (["all"] + health.groups).joined(separator: ", ")),
        ]
            + [health.levelAsked(clockError: roster.clockError(of: agent))].compactMap(\.self).map {
                entry("log", $0)
            }
            // What is wrong first, then what is not known.
            + [HealthCheck.State.failed, .unknown, .ok].flatMap { state in
                health.checks.filter { $0.state == state }.map(check)
            }
    }

    private func check(_ check: HealthCheck) -> TextTable.Entry {
        let word =
            switch check.state {
            case .ok: ""
            case .failed: "FAILED: "
            case .unknown: "not known: "
            }
        return entry(
            check.name, word + check.detail + (check.advice.map { " → \($0)" } ?? ""),
            isProblem: check.state != .ok)
    }

    private func map() -> [TextTable.Entry] {
        guard let map = member?.map else { return [] }
        let summary = MapSummary(map)
        return [entry("entries", summary.text)]
            + [summary.refusal].compactMap(\.self).map { entry("refused", $0) }
            + map.inactive.map { inactive in
                // From 1, as people count.
                let number = inactive.index + 1
                return entry("inactive", "entry \(number) of \(inactive.layer): \(inactive.reason)")
            }
    }

    /// The origins of redirects, as far as there is space.
    private func redirects(_ origins: [String]) -> String {
        let shown = origins.prefix(3).joined(separator: ", ")
        let more = origins.count > 3 ? " and \(origins.count - 3) more" : ""
        return "\(origins.count)\(shown.isEmpty ? "" : ": \(shown)\(more)"); waypost map --agent \(agent)"
    }

    private func screens() -> [TextTable.Entry] {
        func names(_ stack: JSONValue) -> String {
            (stack.arrayValue ?? []).map { $0["name"]?.stringValue ?? "?" }.joined(separator: " > ")
        }
        let selected = navigation?["selected"]?.boundedInt
        let tabs = (navigation?["tabs"]?.arrayValue ?? []).enumerated().map { number, stack in
            entry("tab \(number)\(Int64(number) == selected ? ", in front" : "")", names(stack))
        }
        return tabs + (navigation?["modals"]?.arrayValue ?? []).map { entry("modal", names($0)) }
    }

    /// The routes that failed most, as far as the agent reports.
    private func opens() -> [TextTable.Entry] {
        (member?.wholeHealth?.opens ?? []).map { row in
            let route = row["route"]?.stringValue ?? ""
            let counts = ["opened", "failed", "intercepted"].compactMap { name in
                row[name]?.boundedInt.flatMap { $0 > 0 ? "\($0) \(name)" : nil }
            }
            let time = row["ms"]?["p99"]?.boundedInt.map { ", p99 \($0) ms" } ?? ""
            return entry(
                route.isEmpty ? "(no route)" : route, "\(counts.joined(separator: ", "))\(time)")
        }
    }

    private func numbers(_ members: [String: JSONValue]?) -> [TextTable.Entry] {
        (members ?? [:]).sorted { $0.key < $1.key }.compactMap { name, value in
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
