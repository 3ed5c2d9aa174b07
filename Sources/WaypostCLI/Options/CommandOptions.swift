import ArgumentParser
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

/// How a command is sent.
struct CommandOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The command's id: the same command with the same id does not run twice.",
            discussion: "Default: a new one."
        ))
    var id: String?

    @Option(
        help: ArgumentHelp(
            "Commands of one lane run one after another, those of different lanes in parallel. (default: main)"
        ))
    var lane: String?

    @Option(
        help: ArgumentHelp(
            "How long the command may wait before it starts: 30s, 10m, 3d; never: a day after its arrival. (default: 1m; with --after 1m after that, with --window 1d)",
            valueName: "time"), transform: Lifetime.init)
    var expires: Lifetime?

    @Option(
        help: ArgumentHelp(
            "Like --expires, but counted from the arrival at the agent; it works even when the agent's clock is wrong.",
            valueName: "time"))
    var ttl: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "Not before this time: 30m for half an hour from now, '2026-11-20 02:00', 2026-11-20T02:00:00Z.",
            valueName: "time"))
    var after: String?

    @Option(
        help: ArgumentHelp(
            "Only at these days and times, in the agent's zone: 'mon-fri 22:00-04:00', '02:00-04:00 utc'.",
            valueName: "window"))
    var window: String?

    @Option(
        name: .customLong("label"), parsing: .singleValue,
        help: ArgumentHelp(
            "Only where the client has this label: region=eu. May be repeated; all must fit.",
            valueName: "name=value"))
    var labels: [String] = []

    @Option(
        name: .customLong("app"),
        help: ArgumentHelp("Only at these versions of the app: '<2.5', '>=2.1 <3'.", valueName: "range"))
    var app: String?

    func validate() throws {
        try FactFilter.check(labels, app)
        try NameCheck.check(id, of: "--id")
        try NameCheck.check(lane, of: "--lane")
        guard expires == nil || ttl == nil else { throw ValidationError("use --expires or --ttl, not both") }
        for (name, time) in [("--expires", expires?.span), ("--ttl", ttl)] {
            guard time.map({ (1_000...Command.longestLifetime).contains($0.milliseconds) }) ?? true else {
                throw ValidationError("\(name) must be 1s to 30d")
            }
        }
        _ = try schedule(now: WallClock.now())
    }

    /// When it may begin; nil for at once.
    private func schedule(now: Int64) throws -> CommandSchedule? {
        let instant = try after.map { try Self.instant($0, now: now) }
        do throws(Failure) {
            let window = try window.map { text throws(Failure) in try TimeWindow(text) }
            return CommandSchedule(after: instant, window: window)
        } catch {
            throw ValidationError("--\(error.detail)")
        }
    }

    private static func instant(_ text: String, now: Int64) throws -> Int64 {
        if let span = TimeSpan(argument: text) { return now + span.milliseconds }
        do {
            let time = try WrittenTime(text).moment(now: now)
            guard time > now else {
                throw ValidationError(
                    "--after \(text.debugDescription) is over; write a later day with it, or use --window")
            }
            return time
        } catch let fault as TimeFault {
            throw ValidationError("--after \(fault)")
        }
    }

    /// - Throws: What a signed command can't have.
    func validate(signedBy signing: SignOptions) throws {
        guard timeToLive == nil || !signing.isGiven else {
            throw ValidationError("a signed command has a time of expiry; use --expires with a time")
        }
    }

    /// In milliseconds; nil for a time of expiry.
    private var timeToLive: Int64? {
        expires == .never ? Command.maximumLifetime : ttl?.milliseconds
    }

    /// - Throws: When it would expire before its time comes.
    func command(_ operation: Command.Operation, isSigned: Bool) throws -> Command {
        let now = WallClock.now()
        let schedule = try schedule(now: now)
        let standard =
            schedule?.window == nil
            ? (schedule?.after ?? now) - now + Command.defaultLifetime : Command.maximumLifetime
        let lifetime = expires?.span?.milliseconds ?? standard
        if let after = schedule?.after, after - now >= timeToLive ?? lifetime {
            throw CommandError(
                .usage, "the command would expire before its time comes; give it longer, such as --expires 3d"
            )
        }
        var command = Command(
            sending: operation, id: id, lifetime: lifetime, timeToLive: timeToLive,
            lane: lane ?? Command.defaultLane, schedule: schedule,
            isTimed: expires != nil || isSigned || schedule != nil)
        command.when = try FactFilter.condition(labels, app)
        return command
    }
}

/// What clients say of themselves, as options ask for it.
enum FactFilter {
    /// - Throws: What is no label, and no range.
    static func check(_ labels: [String], _ app: String?) throws {
        for label in labels where label.split(separator: "=", maxSplits: 1).count != 2 {
            throw ValidationError("--label must be name=value; found \(label.debugDescription)")
        }
        guard app.map({ AppRange($0) != nil }) ?? true else {
            throw ValidationError("--app must be a range of versions, such as '<2.5' or '>=2.1 <3'")
        }
    }

    /// The labels by name; of one that is there twice the last value.
    static func values(_ labels: [String]) -> [String: String] {
        Dictionary(
            labels.map { label in
                let parts = label.split(separator: "=", maxSplits: 1).map(String.init)
                return (parts[0], parts.count > 1 ? parts[1] : "")
            }
        ) { _, last in last }
    }

    /// Labels and a range of versions in one list: `region=eu`, `app<2.5`; nil for an empty one.
    ///
    /// - Throws: What is neither, and a second range.
    static func selection(_ texts: [String]) throws -> RolloutPlan.Selection? {
        guard !texts.isEmpty else { return nil }
        let ranges = texts.filter { text in
            text.hasPrefix("app") && "<>".contains(text.dropFirst(3).first { $0 != " " } ?? "=")
        }
        guard ranges.count < 2 else {
            throw ValidationError("--only has one range of versions at most: 'app>=2.1 <3'")
        }
        let labels = texts.filter { !ranges.contains($0) }
        let app = try ranges.first.map { text in
            let range = String(text.dropFirst(3))
            guard AppRange(range) != nil else {
                throw ValidationError(
                    "--only must be a range of versions behind app, such as 'app<2.5'; found \(text.debugDescription)"
                )
            }
            return range
        }
        for label in labels where label.split(separator: "=", maxSplits: 1).count != 2 {
            throw ValidationError(
                "--only must be a label, region=eu, or versions of the app, 'app<2.5'; found \(label.debugDescription)"
            )
        }
        return try RolloutPlan.Selection(labels: values(labels), app: app)
    }

    /// As the `when` of a command; nil for all clients.
    ///
    /// - Throws: ``CommandError`` 64 for what an agent would not take.
    static func condition(_ labels: [String], _ app: String?) throws(CommandError) -> JSONValue? {
        guard !labels.isEmpty || app != nil else { return nil }
        var when: [String: JSONValue] = [:]
        if !labels.isEmpty { when["labels"] = .object(values(labels).mapValues(JSONValue.string)) }
        if let app { when["build"] = .string(app) }
        do throws(Failure) { _ = try RelocationCondition(ofCommand: .object(when)) } catch {
            throw CommandError(.usage, "--label, --app: \(error.detail)")
        }
        return .object(when)
    }
}

/// How long a command may wait before it starts.
enum Lifetime: Equatable {
    case time(TimeSpan)
    /// The longest that an agent takes, and no time that a wrong clock could misjudge.
    case never

    init(_ text: String) throws {
        guard text != "never" else {
            self = .never
            return
        }
        guard let span = TimeSpan(argument: text) else {
            throw ValidationError(
                "--expires must be a time such as 30s, 10m, 1d, or never; found \(text.debugDescription)")
        }
        self = .time(span)
    }

    var span: TimeSpan? { if case .time(let span) = self { span } else { nil } }
}
