import ArgumentParser
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

struct FailuresCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "failures",
        abstract: "Print what failed, grouped by code, URL and map revision.",
        discussion: """
            Agents keep their last 500 failures on disk, also while they are offline and after a restart. Groups with \
            the latest failure come first.

            Examples:
              waypost failures
              waypost failures --agent k1 --since 1h
              waypost failures --agent k1 --each
              waypost failures --code 404 --code CYCLE
              waypost failures --query 'url:orders -message:timeout'
              waypost failures --since 18:40 --json | jq -r 'select(.code == 404) | .url'
            """)

    @OptionGroup var audience: AudienceOptions

    @Option(
        help: ArgumentHelp(
            "Only failures from this time on: 30s, 10m, 1h ago, or 18:40.", discussion: "Default: all.",
            valueName: "time"), transform: { try LogStart($0) })
    var since: LogStart?

    @Option(
        name: .customLong("code"), parsing: .singleValue,
        help: ArgumentHelp(
            "Only failures with this code, by number or name; may be repeated.", valueName: "code"),
        completion: .list(CodeExplanation.all.map(\.code.name)))
    var codes: [String] = []

    @Option(help: ArgumentHelp("Only failures that match this query; see waypost logcat --help."))
    var query: String?

    @Flag(help: "Wrap long lines instead of truncating them.")
    var wrap = false

    @Flag(help: "Print each failure, the oldest first.")
    var each = false

    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Signing", visibility: .shared) var signing: SignOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    /// The most failures that are printed one by one, and the bytes that they may have.
    private static let maximumLines = 100_000
    private static let maximumBytes = 64 << 20

    func validate() throws {
        try wait.validateIsOn()
        for code in codes where Int(code) == nil && CodeExplanation.find(code).isEmpty {
            let near = NearestNames.find(code.uppercased(), among: CodeExplanation.all.map(\.code.name))
            throw ValidationError(
                "--code \(code.debugDescription): there is no such code\(NearestNames.question(near))")
        }
        do {
            _ = try LogQuery(terms)
        } catch {
            throw ValidationError("--query: \(error.detail)")
        }
    }

    /// The query, with a term for each code.
    private var terms: String {
        ([query].compactMap(\.self) + codes.map { "code=:\($0.uppercased())" }).joined(separator: " ")
    }

    /// What came, as it is printed.
    private struct Found {
        var groups = FailureGroups(maximumAgents: 100_000)
        var lines: [AgentEvent] = []
        private var bytes = 0
        private var isCut = false

        var isFull: Bool { isCut || groups.isFull }

        /// Keeps it as a line.
        mutating func append(_ failure: AgentFailure) {
            let payload = failure.json.serialized()
            guard lines.count < FailuresCommand.maximumLines,
                bytes + payload.count <= FailuresCommand.maximumBytes,
                var line = AgentEvent.failure(payload, from: failure.agent)
            else {
                isCut = true
                return
            }
            line.event.time = failure.time
            lines.append(line)
            bytes += payload.count
        }
    }

    func perform() async throws {
        let backend = Backend(perCall: try await session.resolved(signedBy: signing))
        let agents = AgentSelection(names: [audience.agent].compactMap(\.self), group: audience.group)
        let result = Guarded(Found())
        let gaps = try await Terminal.waiting(while: "asking the agents") {
            try await backend.keptFailures(of: agents, since: since, terms, deadline: wait.deadline) {
                [each] failure in
                result.withLock { each ? $0.append(failure) : $0.groups.add(failure) }
            }
        }
        var found = result.withLock(\.self)
        found.lines.sort { $0.event.time < $1.event.time }
        let width = found.lines.map(\.agent.count).max()
        for line in found.lines {
            line.show(output.isJSON ? LogFormat(form: .json) : .threadtime, output.style, agentWidth: width)
        }
        if !each, gaps.silence == nil || !found.groups.isEmpty { show(found.groups) }
        if found.isFull { Terminal.note("waypost: warning: there are more failures; use --since") }
        try report(gaps)
    }

    private func show(_ groups: FailureGroups) {
        let sorted = groups.sorted
        if output.isJSON {
            for group in sorted { Terminal.print(json: group.json) }
        } else if sorted.isEmpty {
            Terminal.print("no failures" + (since.map { " since \($0)" } ?? ""))
        } else {
            for line in groups.table(output.style, within: Terminal.width, wraps: wrap) {
                Terminal.print(line)
            }
        }
    }

    private func report(_ gaps: FailureGaps) throws {
        for (agent, error) in gaps.wrongClocks.sorted(by: { $0.key < $1.key }) {
            Terminal.note("--- \(ClockOffset.notice(agent, error: error))")
        }
        if gaps.unread > 0 {
            Terminal.note(
                "waypost: warning: \(gaps.unread.counted("failure report")) can't be read by this version")
        }
        if gaps.damaged > 0 {
            Terminal.note("waypost: warning: \(gaps.damaged) failures were damaged on the agents' disks")
        }
        for refusal in gaps.refusals {
            for line in ReplyText(style: Style(isOn: false)).lines(refusal) { Terminal.note(line) }
        }
        if let silence = gaps.silence { throw silence }
        guard gaps.refusals.isEmpty else { throw Exit.failed }
    }
}
