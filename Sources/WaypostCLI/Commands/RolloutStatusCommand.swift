import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

struct RolloutStatusCommand: RolloutVerb {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how far a roll-out is, and what its gates say.",
        discussion: """
            The numbers are those of the controller; where none steers, there are none.

            Examples:
              waypost rollout status --group lobby
              waypost rollout status --group lobby --json | jq .state
            """)

    @OptionGroup var target: RolloutTarget
    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func perform() async throws {
        let group = try target.name
        guard let status = try await Backend(perCall: session.resolved()).group(group).rolloutStatus() else {
            throw CommandError(.noReply, "there was no roll-out in @\(group)")
        }
        RolloutPrinter(text, of: group, isJSON: output.isJSON).show(status)
    }
}

struct RolloutWatchCommand: RolloutVerb {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Follow a roll-out until it ends: its stages as a bar, each gate with its number.",
        discussion: """
            Exit status: 0 done, 1 taken back, 3 paused and without a controller.

            Examples:
              waypost rollout watch --group lobby
              waypost rollout watch --group lobby --json
            """)

    @OptionGroup var target: RolloutTarget
    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func perform() async throws {
        let name = try target.name
        let printer = RolloutPrinter(text, of: name, isJSON: output.isJSON)
        let group = Backend(perCall: try await session.resolved()).group(name)
        if try await group.rolloutStatus() == nil {
            Terminal.note("waypost: there was no roll-out in @\(name) yet")
        }
        for try await status in group.rolloutStatuses() {
            printer.show(status)
            guard let outcome = status.outcome else { continue }
            let exit = printer.show(outcome)
            guard exit == .ok else { throw exit }
            return
        }
        try Task.checkCancellation()
    }
}

extension RolloutStatus {
    /// How it ended; nil while it goes on.
    fileprivate var outcome: RolloutOutcome? {
        switch state {
        case "done": .done
        case "taken-back": .takenBack(why: why ?? "")
        // As long as a controller steers it, a breach still takes it back.
        case "paused" where holder == nil: .paused(why: why ?? "")
        default: nil
        }
    }
}

struct RolloutHistoryCommand: RolloutVerb {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Show what became of a group's roll-outs, and check that nothing is missing.",
        discussion: """
            The broker keeps the last 64 entries; each names the bytes of the one before. All are in the file that was \
            named with --audit. Exit status 1 when the chain is broken.

            Examples:
              waypost rollout history --group lobby
              waypost rollout history --group lobby --json > audit.jsonl
              waypost rollout history --file audit.jsonl
            """)

    @Option(help: ArgumentHelp("Check these lines instead.", valueName: "file"))
    var file: String?

    @OptionGroup var target: RolloutTarget
    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func perform() async throws {
        let history: RolloutHistory
        guard file != nil || target.group != nil else {
            throw CommandError(.usage, "name the group with --group GROUP, or a file with --file FILE")
        }
        if let file {
            guard target.group == nil else {
                throw CommandError(.usage, "use --group for what the broker keeps, or --file for a file")
            }
            history = RolloutHistory(file: try InputFile.read(file, purpose: "audit"))
        } else {
            history = try await Backend(perCall: session.resolved()).group(target.name).rolloutHistory()
        }
        if output.isJSON {
            for entry in history.entries { Terminal.print(json: entry.payload) }
            for fault in history.faults { Terminal.note("waypost: \(fault)") }
        } else if history.entries.isEmpty {
            Terminal.print("no roll-out is recorded")
        } else {
            for line in text.lines(history) { Terminal.print(line) }
        }
        guard history.isWhole else { throw Exit.failed }
    }
}
