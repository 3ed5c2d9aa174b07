import ArgumentParser
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

struct WaitingCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "pending",
        abstract: "List the commands of a sender that agents have, and that have not ended.",
        discussion: """
            What each waits for, and since when it is there: a command that was sealed, or that has a time, may wait for \
            days. An agent that is offline is not asked: what waits for it at the broker only the broker knows, and \
            what it has itself goes on once it is back.

            Exit status: 0 when every agent that is online has answered, 3 when one did not.

            Examples:
              waypost pending
              waypost pending --agent k1
              waypost pending --group lobby --of orders
              waypost pending --json | jq -r 'select(.state == "scheduled") | .id'
            """)

    @OptionGroup var audience: AudienceOptions

    @Option(
        help: ArgumentHelp(
            "Who sent them.", discussion: "Default: the sender, see --as.", valueName: "name"))
    var of: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Signing", visibility: .shared) var signing: SignOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    /// Agents that are asked at one time.
    private static let atOnce = 16

    func validate() throws {
        try NameCheck.check(of, of: "--of")
        try wait.validateIsOn()
    }

    /// What is known of one agent.
    private enum Finding {
        case offline
        case commands([CommandTimeline], more: Int)
        case silent(String)
    }

    func perform() async throws {
        let settings = try await session.resolved(signedBy: signing)
        let found = try await Backend.with(settings) { backend in
            let agents = try await chosen(of: backend, settings.place)
            return try await Terminal.waiting(while: "asking the agents") { try await ask(agents, backend) }
        }
        output.isJSON ? printJSON(found) : show(found, sender: of ?? settings.name)
        let silent = found.compactMap { name, finding in
            if case .silent(let why) = finding { "\(name) did not say it: \(why)" } else { nil }
        }
        guard silent.isEmpty else { throw CommandError(.noReply, silent.joined(separator: "; ")) }
    }

    private func chosen(of backend: Backend, _ place: String) async throws -> [AgentStatus] {
        let all = try await backend.agents(within: wait.duration)
        let chosen = all.filter { status in
            audience.agent.map { $0 == status.name }
                ?? audience.group.map { $0 == "all" || status.groups.contains($0) } ?? true
        }
        if chosen.isEmpty, let agent = audience.agent {
            let near = NearestNames.find(agent, among: all.map(\.name), limit: 1, slips: 2)
            throw CommandError(
                .noReply, "there is no agent \(agent) at \(place)\(NearestNames.question(near))")
        }
        return chosen.sorted { $0.name < $1.name }
    }

    private func ask(
        _ agents: [AgentStatus], _ backend: Backend
    ) async throws -> [(name: String, finding: Finding)] {
        var found: [(String, Finding)] = []
        var rest = agents[...]
        while !rest.isEmpty {
            let some = rest.prefix(Self.atOnce)
            rest = rest.dropFirst(Self.atOnce)
            found += try await withThrowingTaskGroup(of: (String, Finding).self) { group in
                for agent in some { group.addTask { (agent.name, try await ask(agent, backend)) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        return found.sorted { $0.0 < $1.0 }
    }

    private func ask(_ agent: AgentStatus, _ backend: Backend) async throws -> Finding {
        guard agent.isOnline != false else { return .offline }
        do {
            let (commands, more) = try await backend.agent(agent.name).pending(of: of)
            return .commands(commands, more: more)
        } catch let error as BackendError {
            guard error.kind == .refused, error.code == .badField else { return .silent(error.wording.shell) }
            return .silent(
                "its version \(agent.version) needs an id: waypost explain ID --agent \(agent.name)")
        }
    }

    private func printJSON(_ found: [(name: String, finding: Finding)]) {
        for (name, finding) in found {
            switch finding {
            case .offline: Terminal.print(json: ["agent": .string(name), "offline": true])
            case .silent: break
            case .commands(let commands, let more):
                for command in commands { Terminal.print(json: Self.json(command, at: name)) }
                if more > 0 { Terminal.print(json: ["agent": .string(name), "more": .int(Int64(more))]) }
            }
        }
    }

    private static func json(_ command: CommandTimeline, at agent: String) -> JSONValue {
        func number(_ number: Int64?) -> JSONValue { number.map(JSONValue.int) ?? .null }
        return [
            "agent": .string(agent), "id": .string(command.id), "to": .string(command.receiver),
            "state": .string(command.state.rawValue), "received": number(command.received),
            "due": number(command.due), "running": number(command.running),
            "expires": number(command.expires), "attempt": .int(Int64(command.attempt)),
        ]
    }

    private func show(_ found: [(name: String, finding: Finding)], sender: String) {
        let now = WallClock.now()
        var rows: [[String]] = []
        for (name, finding) in found {
            guard case .commands(let commands, let more) = finding else { continue }
            rows += commands.map { command in
                [
                    name, command.id, command.received.map { AgentStatus.ago($0, now) } ?? "?",
                    command.expires.map { Timestamp.local($0) } ?? "?", command.text,
                ]
            }
            if more > 0 { rows.append([name, "…", "", "", "and \(more) more"]) }
        }
        if rows.isEmpty {
            Terminal.print("no command of \(sender) waits or runs at an agent that is online")
        } else {
            let table = TextTable(
                columns: [
                    .init("AGENT"), .init("ID"), .init("SINCE"), .init("EXPIRES", expendability: 1),
                    .init("STATE"),
                ], rows: rows.map { $0.map(TextTable.cell) })
            for (number, lines) in table.lines(within: Terminal.width).enumerated() {
                for line in lines {
                    let text = TerminalText(line)
                    Terminal.print(number == 0 ? output.style.bold(text) : text)
                }
            }
        }
        let offline = found.filter { if case .offline = $0.finding { true } else { false } }.map(\.name)
        guard !offline.isEmpty else { return }
        let shown = offline.prefix(5).joined(separator: ", ") + (offline.count > 5 ? ", …" : "")
        Terminal.note("\(offline.count.counted("agent")) offline, and not asked: \(shown)")
    }
}
