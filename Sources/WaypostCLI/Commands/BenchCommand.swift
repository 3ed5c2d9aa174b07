import ArgumentParser
import MQTTLink
import Waypost
import WaypostBackend
import WaypostLab
import WaypostMessages

struct BenchCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Put load on an agent; measure latency, throughput, lost and duplicate replies.",
        discussion: """
            Without --rate, a new command is sent for each reply, but no more than the agent accepts from one sender: \
            beyond its --intake-rate it answers 429 BUSY. With --rate, commands are sent at that rate. Latency counts \
            from the time each command was due; commands refused with BUSY are counted, but not measured. Time \
            in which this process did not run (a suspended machine, Ctrl-Z) is not counted.

            The exit status is 1 when a reply was lost or came twice. Ctrl-C prints the figures so far.

            Examples:
              waypost bench --agent k1
              waypost bench --agent k1 --service CalculatorService --method add \\
                --args '[2,40]' --count 100000
              waypost bench --agent k1 --url 'scheme://router/demo?id=2' \\
                --rate 500 --duration 30 --json
            """)

    @Option(help: ArgumentHelp("The agent to put load on.", valueName: "id"))
    var agent: String

    @Option(help: "Call a method of this service; without --service and --url the commands are pings.")
    var service: String?

    @Option(help: "The method of --service.")
    var method: String?

    @Option(
        name: .customLong("args"),
        help: ArgumentHelp(
            "The arguments: a JSON array by position, or an object by label.", valueName: "json"))
    var arguments: String?

    @Option(help: "Open this URL.")
    var url: String?

    @Option(
        help: ArgumentHelp(
            "Commands per second.",
            discussion: "Default: one for each reply, up to what the agent accepts from one sender."))
    var rate: Double?

    @Option(name: .customLong("in-flight"), help: "The most commands without a reply at the same time.")
    var inFlight = 100

    @Option(
        help: ArgumentHelp(
            "Commands to send.",
            discussion: "Default: 10000, but for at most 10 s; with --duration, as many as fit."))
    var count: Int?

    @Option(help: ArgumentHelp("How long to send, in seconds.", valueName: "seconds"))
    var duration: Double?

    @Option(help: "The QoS of the commands: 0 or 1.")
    var qos = 1

    @OptionGroup var output: OutputOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws {
        guard Name.isValid(agent) else {
            throw ValidationError(
                "--agent \(agent.debugDescription) must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
        guard (service == nil) == (method == nil) else {
            throw ValidationError("--service and --method must be used together")
        }
        guard service == nil || url == nil else {
            throw ValidationError("use --service or --url, not both")
        }
        guard arguments == nil || service != nil else { throw ValidationError("--args needs --service") }
        guard (0...1).contains(qos) else { throw ValidationError("--qos must be 0 or 1") }
        guard (1...10_000).contains(inFlight) else { throw ValidationError("--in-flight must be 1 to 10000") }
        guard rate.map({ (0.01...1_000_000).contains($0) }) ?? true else {
            throw ValidationError("--rate must be 0.01 to 1000000")
        }
        guard count.map({ (1...100_000_000).contains($0) }) ?? true else {
            throw ValidationError("--count must be 1 to 100000000")
        }
        guard duration.map({ (0.1...86_400).contains($0) }) ?? true else {
            throw ValidationError("--duration must be 0.1 to 86400 seconds")
        }
    }

    func perform() async throws {
        let settings = try await session.resolved()
        let pace = try await BenchPace.find(
            for: agent, asked: rate, inFlight: inFlight, settings)
        if let note = pace.note { Terminal.note("waypost: \(note)") }
        let showsProgress = !output.isJSON && Terminal.showsProgress
        let bench = try bench(settings, pace)
        let result = await bench.run(at: settings, silence: wait.duration) { tally in
            guard showsProgress else { return }
            Terminal.progress("\(tally.sent) sent, \(tally.answered) answered, \(Int(tally.throughput))/s")
        }
        if showsProgress { Terminal.note("") }
        let report = BenchReport(tally: result.tally, agent: agent, isWhole: result.interruption == nil)
        if report.tally.sent > 0 { show(report) }
        if result.stoodStill > .zero {
            Terminal.note(
                "waypost: this process was suspended for \(TimeText.span(result.stoodStill.microseconds / 1_000)); "
                    + "that time is not counted")
        }
        switch result.interruption {
        case Bench.Stop.noBroker(let text)?: throw CommandError(.noBroker, text)
        case Bench.Stop.refused(let text)?: throw CommandError(.failed, text)
        case let other?: throw other
        case nil: break
        }
        guard report.isFlawless else { throw Exit.failed }
    }

    private func bench(_ settings: BackendConfiguration, _ pace: BenchPace) throws -> Bench {
        // At a pace that the agent sets, 10 000 could take minutes.
        let most = Int(min(10_000, self.rate == nil ? (pace.rate ?? .infinity) * 10 : .infinity))
        return Bench(
            agent: agent, sender: settings.name, topics: settings.topics,
            operation: try operation(),
            qos: qos == 0 ? .atMostOnce : .atLeastOnce, pace: pace,
            count: count ?? (duration == nil ? max(1, most) : nil),
            duration: duration.map { .milliseconds(Int64($0 * 1000)) })
    }

    private func operation() throws -> Command.Operation {
        if let url { return .open(url: url, parameters: [:]) }
        guard let service, let method else { return .ping() }
        return .call(
            service: service, method: method, arguments: try Command.Arguments(option: "--args", arguments))
    }

    private func show(_ report: BenchReport) {
        if output.isJSON {
            Terminal.print(json: report.json)
        } else {
            for line in report.lines(output.style) { Terminal.print(line) }
        }
    }
}
