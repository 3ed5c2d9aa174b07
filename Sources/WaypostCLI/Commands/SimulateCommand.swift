import ArgumentParser
import FoundationEssentials
import Glibc
import Threading
import Waypost
import WaypostAgent
import WaypostBackend
import WaypostLab
import WaypostMessages

struct SimulateCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Run a fleet of simulated agents, to test against and to rehearse with.",
        discussion: """
            Thousands of agents in one process. They publish what real ones do, answer commands with the routes and \
            services of the demo, take maps and refuse bad ones. Some have a problem: lost, red, map-refused, \
            flapping, wrong-clock, silent, not-found, old-version. The same --seed makes the same fleet.

            Ctrl-C, SIGTERM and --for end it, with status 0, and the broker then keeps nothing of the agents.

            A roll-out is rehearsed with the map that is in force now (--map-of) and waypost rollout start; \
            --traffic opens the URLs that it is about, and --map-fault makes the next map a bad one.

            Examples:
              waypost simulate --for 2s
              waypost simulate --agents 500 --groups lobby,shop,floor2 --problems 10% \\
                --for 5s
              waypost simulate --agents 100 --faults flapping,wrong-clock \\
                --map-of map.json --for 2s
              waypost simulate --agents 200 --traffic 6 --map-fault 42:fail=50% --for 2s
            """)

    @Option(help: "How many agents.")
    var agents = 20

    @Option(help: ArgumentHelp("What their names begin with; a number follows.", valueName: "text"))
    var prefix = "kiosk-"

    @Option(
        help: ArgumentHelp(
            "The groups that they are spread over; \"\" for none.", valueName: "names"))
    var groups = "lobby,shop"

    @Option(
        help: ArgumentHelp("Their versions, each with its weight.", valueName: "list"),
        transform: FleetOptions.versions)
    var versions: [FleetPlan.Share] = FleetPlan().versions

    @Option(
        help: ArgumentHelp("The part that has a problem: 5%, 0.05.", valueName: "share"),
        transform: FleetOptions.share)
    var problems = 0.05

    @Option(
        help: ArgumentHelp(
            "Which problems, shared out evenly.", discussion: "Default: all.", valueName: "names"),
        transform: FleetOptions.faults)
    var faults: [SimulatedFault] = SimulatedFault.allCases

    @Option(help: ArgumentHelp("Lines of the log a second, of all together.", valueName: "number"))
    var logRate = 5.0

    @Option(help: ArgumentHelp("Failures a minute, of all together.", valueName: "number"))
    var failureRate = 6.0

    @Option(
        help: ArgumentHelp(
            "Opens a minute of each agent, of URLs that a roll-out is about.", valueName: "number"))
    var traffic = 0.0

    @Option(
        name: .customLong("map-fault"), parsing: .singleValue,
        help: ArgumentHelp(
            "What a revision of a map breaks where it is in force: 42:fail=5% of these opens, 42:die=10% of the agents, 42:refuse=2.3.0. May be repeated.",
            valueName: "rev:what"), transform: FleetOptions.mapFault)
    var mapFaults: [MapFault] = []

    @Option(
        help: ArgumentHelp(
            "A map that is in force from the beginning, in the group of its aud, else in all.",
            valueName: "file"),
        completion: .file(extensions: ["json"]))
    var mapOf: String?

    @Option(help: ArgumentHelp("MQTT sessions that the agents share.", valueName: "number"))
    var sessions = 4

    @Flag(help: "A session and a will for each agent, as real ones have; each takes four open files.")
    var ownSessions = false

    @Option(
        help: ArgumentHelp(
            "Makes the same fleet again.", discussion: "Default: a new one, which is printed.",
            valueName: "number"))
    var seed: UInt64?

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this time: 10m.", valueName: "time"))
    var time: TimeSpan?

    @Flag(help: "Leave what the broker keeps of the agents, as shut down.")
    var keep = false

    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Broker", visibility: .shared) var broker: BrokerOptions

    func validate() throws {
        guard (1...100_000).contains(agents) else { throw ValidationError("--agents must be 1 to 100000") }
        guard (1...64).contains(sessions) else { throw ValidationError("--sessions must be 1 to 64") }
        // With the longest number.
        try NameCheck.check(prefix + String(agents), of: "--prefix")
        for group in groupNames {
            try NameCheck.check(group, of: "--groups")
            guard group != "all" else { throw ValidationError("every agent is in the group all anyway") }
        }
        guard Set(groupNames).count == groupNames.count else {
            throw ValidationError("--groups names a group twice")
        }
        guard (0...10_000).contains(logRate) else { throw ValidationError("--log-rate must be 0 to 10000") }
        guard (0...10_000).contains(traffic) else { throw ValidationError("--traffic must be 0 to 10000") }
        guard (0...100_000).contains(failureRate) else {
            throw ValidationError("--failure-rate must be 0 to 100000")
        }
    }

    private var groupNames: [String] { groups.split(separator: ",").map(String.init) }

    func perform() async throws {
        let settings = try await broker.resolved()
        let directory = try Self.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let plan = try plan(at: settings)
        let invocation = Invocation.current
        let simulation: Simulation
        do {
            simulation = try Simulation(plan, at: settings, sessions: sessions, directory: directory) {
                Terminal.note(.text("waypost: \($0)"), of: invocation)
            }
        } catch let failure as Failure {
            throw CommandError(.failed, "the agents refuse \(mapOf ?? "the map"): \(failure)")
        }
        let progress = FleetProgress(of: agents, isShown: !output.isJSON)
        var interruption: (any Error)?
        let begun = MonotonicTime.instant
        do {
            try await simulation.start { progress.show($0, "up") }
            progress.end()
            say(simulation, after: MonotonicTime.instant - begun)
            try await simulation.run(for: time?.duration)
        } catch {
            progress.end()
            interruption = error
        }
        progress.end()
        let (clears, isConnected) = (!keep, simulation.isConnected)
        // In a task of its own, which the signal does not cancel: a graceful end takes its time.
        await Task(executorPreference: AgentThreads.pool) {
            await simulation.end(clears: clears) { progress.show($0, "removed") }
        }.value
        progress.end()
        switch interruption {
        case SimulationError.noBroker(let text)?: throw CommandError(.noBroker, text)
        case SimulationError.tooFewFiles(let text)?: throw CommandError(.usage, text)
        case let other?: if !(other is CancellationError) { throw other }
        case nil: break
        }
        if simulation.refusals > 0 {
            Terminal.note(
                "waypost: the broker did not take \(simulation.refusals.counted("message")); see its log")
        }
        let rest: TerminalText =
            !isConnected
            ? "there is no connection, so the broker keeps what it had"
            : keep ? "the broker keeps their documents" : "the broker keeps nothing of them"
        Terminal.note("waypost: \(agents.counted("agent")) ended; \(rest)")
    }

    private func plan(at settings: BackendConfiguration) throws -> FleetPlan {
        var plan = FleetPlan()
        (plan.count, plan.prefix, plan.groups) = (agents, prefix, groupNames)
        (plan.versions, plan.problems, plan.faults) = (versions, problems, faults)
        (plan.logRate, plan.failureRate) = (logRate, failureRate)
        (plan.traffic, plan.mapFaults) = (traffic, mapFaults)
        plan.map = try mapOf.map { try FleetOptions.map($0) }
        var chance = Chance()
        plan.seed = seed ?? UInt64.random(in: 1...999_999, using: &chance)
        (plan.topics, plan.broker) = (settings.topics, settings.place)
        plan.hasOwnSessions = ownSessions
        return plan
    }

    private static func makeDirectory() throws(CommandError) -> String {
        let parent = UserFolder.temporary(Invocation.current.environment)
        var template = Array("\(parent)/waypost-simulate-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw CommandError(.failed, "make a temporary directory: \(Descriptor.text(of: errno))")
        }
        return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private func say(_ simulation: Simulation, after time: Duration) {
        let problems = simulation.problems
        let count = problems.values.reduce(0, +)
        let plan = simulation.plan
        guard !output.isJSON else {
            let list = problems.map { ($0.key.rawValue, JSONValue.int(Int64($0.value))) }
            Terminal.print(json: [
                "agents": .int(Int64(plan.count)), "broker": .string(plan.broker),
                "ms": .int(time.milliseconds),
                "problems": .object(Dictionary(uniqueKeysWithValues: list)),
                "seed": .int(Int64(clamping: plan.seed)),
            ])
            return
        }
        let tenths = (time.milliseconds + 50) / 100
        Terminal.print(
            "\(plan.count.counted("agent")) at \(plan.broker) in \(tenths / 10).\(tenths % 10) s; \(count) with a problem"
        )
        let list = SimulatedFault.allCases.compactMap { fault in
            problems[fault].map { "\($0) \(fault.rawValue)" }
        }
        if !list.isEmpty { Terminal.print("\(list.joined(separator: ", "))") }
        Terminal.print("seed \(plan.seed)")
    }
}
