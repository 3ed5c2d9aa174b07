import ArgumentParser
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

/// The group of a roll-out.
struct RolloutTarget: ParsableArguments {
    @Option(help: "The group; every agent is in the group all.", completion: .groups)
    var group: String?

    func validate() throws { try NameCheck.check(group, of: "--group") }

    /// Checked when the command runs, so that a misspelt option is reported first.
    var name: String {
        get throws(CommandError) {
            guard let group else { throw CommandError(.usage, "name the group with --group GROUP") }
            return group
        }
    }
}

/// A verb about the roll-out of a group.
protocol RolloutVerb: OperatorCommand {}

extension RolloutVerb {
    var text: RolloutText { RolloutText(style: output.style, width: Terminal.width) }
}

/// Where a roll-out is recorded.
struct RolloutAudit: ParsableArguments {
    @Option(
        name: .customLong("audit"),
        help: ArgumentHelp(
            "Append each entry of the audit to this file, too; one for each group.", valueName: "file"),
        completion: .file())
    var file: String?
}

/// Steers a group's roll-out until it ends, and passes on each status.
typealias Steering =
    (GroupClient, RolloutOptions, @escaping @Sendable (RolloutStatus) -> Void) async throws -> RolloutOutcome

/// A verb that steers a roll-out.
protocol SteeringVerb: RolloutVerb {
    var target: RolloutTarget { get }
    var audit: RolloutAudit { get }
}

extension SteeringVerb {
    /// Steers, shows what happens, and ends with the status of the outcome.
    func steer(
        _ backend: Backend, _ options: RolloutOptions, _ steering: Steering
    ) async throws {
        let group = try target.name
        let printer = RolloutPrinter(text, of: group, isJSON: output.isJSON)
        var options = options
        options.auditFile = audit.file
        do {
            let outcome = try await steering(backend.group(group), options) { printer.show($0) }
            let exit = printer.show(outcome, steeredBy: backend.settings.name)
            if let unkept = printer.unkept { throw CommandError(exit == .ok ? .failed : exit, unkept) }
            guard exit == .ok else { throw exit }
        } catch let error as CancellationError {
            // It may have begun before there was anything to be shown.
            let state =
                printer.hasShown
                ? "the roll-out stays as it is"
                : "whether the roll-out has begun, waypost rollout status --group \(group) says"
            Terminal.note("waypost: \(state); to go on: waypost rollout resume --group \(group)")
            throw error
        }
    }
}

/// What a verb that takes a roll-out over has of its own.
protocol SteeringOptions: ParsableArguments {
    /// How it goes on from there.
    func options() throws -> RolloutOptions
}

/// Why it is done.
struct RolloutReason: SteeringOptions {
    @Option(help: ArgumentHelp("Why, for people.", valueName: "text"))
    var why = "by hand"

    func options() -> RolloutOptions { RolloutOptions() }
}

/// Shows a roll-out as it goes on.
final class RolloutPrinter: Sendable {
    private let text: RolloutText
    private let group: String
    private let isJSON: Bool
    private let last = Guarded(Last())

    private struct Last: Sendable {
        /// What was shown, without the numbers.
        var essence: [String] = []
        /// What came last, when that was not shown: only its numbers were others.
        var unshown: RolloutStatus?
        /// The state and the stage of what came last.
        var place: [String] = []
        var unkept: String?
    }

    /// Whether there was anything to show.
    var hasShown: Bool { last.withLock { !$0.place.isEmpty } }

    /// What the file of the audit lacks.
    var unkept: String? { last.withLock(\.unkept) }

    init(_ text: RolloutText, of group: String, isJSON: Bool) {
        (self.text, self.group, self.isJSON) = (text, group, isJSON)
    }

    func show(_ status: RolloutStatus) {
        let place = [status.id, status.state, "\(status.stage)"]
        // For people not each number that changes, but what it comes to, and the last ones of a stage.
        let verdicts = status.gates.map { "\($0.name) \($0.verdict.rawValue)" }
        let tenth = status.online == 0 ? 0 : status.onNext * 10 / status.online
        let essence =
            place + [status.why ?? "", status.holder ?? "", "\(tenth)", status.standstill ?? ""] + verdicts
            + status.notices
        let wanted = last.withLock { last -> [RolloutStatus] in
            let ended = last.place != place ? last.unshown : nil
            let isNews = isJSON || last.essence != essence
            (last.place, last.unkept) = (place, status.unkept)
            last.unshown = isNews ? nil : status
            if isNews { last.essence = essence }
            return [ended, isNews ? status : nil].compactMap(\.self)
        }
        for status in wanted {
            if isJSON {
                Terminal.print(json: status.json)
            } else {
                for line in text.lines(status) { Terminal.print(line) }
            }
        }
    }

    /// Says how it ended.
    ///
    /// - Parameter name: Who steered it; nil for one who only watched.
    /// - Returns: 1 when it was taken back, 3 when it is paused or another one steers it.
    func show(_ outcome: RolloutOutcome, steeredBy name: String? = nil) -> Exit {
        let (word, sentence, exit): (String, String, Exit) =
            switch outcome {
            case .done: ("done", "done", .ok)
            case .takenBack(let why): ("taken-back", "taken back: \(why)", .failed)
            case .paused(let why):
                ("paused", "paused: \(why); waypost rollout resume --group \(group) goes on", .noReply)
            case .superseded(let other) where other == name:
                ("superseded", "another command of \(other) steers it now", .noReply)
            case .superseded(let other): ("superseded", "\(other) steers it now", .noReply)
            }
        if isJSON {
            Terminal.print(json: ["outcome": .string(word), "detail": .string(sentence)])
        } else {
            Terminal.print(TerminalText(sentence))
        }
        return exit
    }
}

/// The map in force, where the broker has lost it.
struct RepublishOptions: ParsableArguments {
    @Option(
        name: .customLong("republish"),
        help: ArgumentHelp(
            "The map that the members have in force, where the broker has lost it: it gets that again first.",
            valueName: "file"))
    var file: String?
}

/// How fast a roll-out goes, and what it needs to go on: each who steers it says so anew.
struct RolloutPace: SteeringOptions {
    @Option(
        help: ArgumentHelp(
            "How long stages last at least; the last one is for all further stages.",
            discussion: "Default: 5m,2m.", valueName: "times"))
    var dwell: String?

    @Flag(help: "Go on without opens of the URLs that the map changes.")
    var withoutTraffic = false

    @Option(
        help: ArgumentHelp(
            "How long a breach still takes the map back after the last stage; 0s ends at once. (default: 1h)",
            valueName: "time"))
    var tail: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "How long a roll-out that a gate has paused is watched before this ends with status 3; 0s ends at once.",
            discussion: "Default: as long as agents have the new map.", valueName: "time"))
    var pauseLimit: TimeSpan?

    func validate() throws { _ = try dwells() }

    private func dwells() throws -> [Duration]? {
        try dwell?.split(separator: ",").map { word in
            guard let span = TimeSpan(argument: String(word)) else {
                throw ValidationError("--dwell must be like 5m,2m; found \(String(word).debugDescription)")
            }
            return span.duration
        }
    }

    func options() throws -> RolloutOptions {
        var options = RolloutOptions()
        if let dwells = try dwells(), !dwells.isEmpty { options.dwells = dwells }
        options.allowsNoTraffic = withoutTraffic
        if let tail { options.tail = tail.duration }
        options.pauseLimit = pauseLimit?.duration
        return options
    }
}

/// What a roll-out has from its start on.
struct RolloutStageOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The stages: shares of the agents, or counts.", discussion: "Default: 5,1%,10%,50%,100%.",
            valueName: "list"))
    var stages: String?

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "An agent that is chosen from the beginning. May be repeated.", valueName: "agent"),
        completion: .agents)
    var include: [String] = []

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp("An agent that is never chosen. May be repeated.", valueName: "agent"),
        completion: .agents)
    var exclude: [String] = []

    @Option(
        help: ArgumentHelp(
            "The time over which agents spread their reports.", discussion: "Default: 2 ms for each agent.",
            valueName: "time"))
    var spread: TimeSpan?

    @Option(
        help: ArgumentHelp("For how long agents do what they heard last. (default: 30m)", valueName: "time"))
    var hold: TimeSpan?

    @Flag(help: "Agents that hear nothing for that long go back to the map before.")
    var revertWhenSilent = false

    @Flag(
        help: ArgumentHelp(
            "Begin the orders anew, where another client raised them beyond what controllers come to.",
            discussion: "Agents whose newest order is the one that the broker keeps take the lower one."))
    var resetOrder = false

    func validate() throws {
        for name in include { try NameCheck.check(name, of: "--include") }
        for name in exclude { try NameCheck.check(name, of: "--exclude") }
    }

    func options(_ pace: RolloutPace) throws -> RolloutOptions {
        var options = try pace.options()
        if let stages { try options.setStages(stages.split(separator: ",").map(String.init)) }
        (options.include, options.exclude) = (include, exclude)
        if let spread { options.spread = spread.duration }
        if let hold { options.hold = hold.duration }
        options.revertsWhenSilent = revertWhenSilent
        options.resetsOrder = resetOrder
        return options
    }
}
