import ArgumentParser
import DemoFeatures
import Logging
import Metrics
import ServiceLifecycle
import Threading
import UnixSignals
import Waypost
import WaypostAgent
import WaypostBackend
import WaypostMessages
import WaypostTools

struct AgentCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Run an agent: a router and its services, controlled over MQTT.",
        discussion: """
            The agent reconnects by itself when the broker was away. SIGTERM and Ctrl-C stop it, with status 0: \
            running commands end, waiting messages are sent, and it disconnects. A second Ctrl-C ends it at once.

            With --json its log lines, on standard error, are JSON.

            SIGHUP reads the configuration again. The log level, the limits for senders, the password and the TLS \
            files change at once; the agent names the settings that need a restart.

            Every option may also come from the environment (WAYPOST_AGENT=k1, WAYPOST_GROUP=lobby,floor2) and \
            from a file:
              agent: k1
              broker: mqtts://broker.example
              group: [lobby, floor2]
              password-file: /etc/waypost/password

            Examples:
              waypost agent --agent k1 --demo
              waypost agent --agent k1 --routes routes.json --group lobby \\
                --broker mqtt://broker.example
              waypost agent --config /etc/waypost/agent.yaml
            """)

    @OptionGroup(title: "Agent") var options: AgentOptions
    @OptionGroup(title: "Limits and times", visibility: .shared) var numbers: AgentNumberOptions
    @OptionGroup(title: "Broker", visibility: .shared) var broker: BrokerOptions
    @OptionGroup var output: OutputOptions

    func perform() async throws {
        let given = [numbers.given, broker.given].reduce(options.given) { $0.merging($1) { own, _ in own } }
        let invocation = Invocation.current
        // From here on SIGHUP does not end the process; an early one takes effect when the agent exists.
        let hangups = invocation.ownsProcess ? await UnixSignalsSequence(trapping: .sighup) : nil
        let file = broker.configurationFile
        let read: @Sendable () async throws(CommandError) -> AgentSettings = {
            () async throws(CommandError) in
            try await AgentSettings(Settings(given, file: file))
        }
        let settings = try await read()
        try StateDirectory.create(settings.configuration.stateDirectory)
        let threshold = LogThreshold(settings.ownLogLevel)
        let isJSON = output.isJSON
        let logger = Logger(label: "waypost") { _ in PlainLogHandler(threshold, isJSON: isJSON) }
        // Before any counter is made: one that is made earlier is not in the registry.
        let registry = MetricRegistry(help: AgentMetrics.help)
        let server = try settings.metrics.map { try MetricsServer(at: $0) }
        if server != nil {
            try invocation.checkOwnsProcess(for: "--metrics")
            MetricsSystem.bootstrap(registry)
        }
        if invocation.ownsProcess { Store.countNoMemory() }
        let agent = try Self.agent(settings, logger)
        try server?.start {
            agent.updateMetrics()
            return registry.text
        }
        let localPort = try settings.localPort.map {
            try LocalPort($0, commandBytes: settings.configuration.limits.commandBytes)
        }
        try localPort?.start { agent.runLocally($0, $1) }
        defer { localPort?.stop() }
        let sockets = Self.sockets(settings, of: agent, logger)
        defer { for socket in sockets { socket.remove() } }
        let reload = AgentReload(
            agent: agent, before: settings, logger: logger, threshold: threshold, read: read)
        let watch = hangups.map { hangups in
            Task(executorPreference: AgentThreads.pool) { await reload.watch(hangups) }
        }
        defer { watch?.cancel() }
        try await Self.run(agent, logger)
    }

    private static func agent(_ settings: AgentSettings, _ logger: Logger) throws -> Agent {
        let router = try router(settings, logger)
        do {
            return try Agent(settings.configuration, router: router, logger: logger)
        } catch let error as AgentConfigurationError {
            throw CommandError(.usage, error.description)
        } catch let error as StoreError {
            throw CommandError(
                error.needsPerson ? .data : .failed,
                "start agent \(settings.configuration.agent): \(error.wording.shell)")
        } catch {
            throw CommandError(.failed, "start agent \(settings.configuration.agent): \(error.words)")
        }
    }

    /// What answers `waypost health` and takes commands of this machine; the agent works without it.
    private static func sockets(
        _ settings: AgentSettings, of agent: Agent, _ logger: Logger
    ) -> [AgentSocket] {
        let directory = settings.configuration.stateDirectory
        var sockets: [AgentSocket] = []
        func open(
            _ purpose: AgentSocket.Purpose, _ verb: String, _ limits: SmallServer.Limits,
            _ answer: @escaping SmallServer.Answer
        ) {
            do {
                let socket = try AgentSocket(purpose, in: directory, limits)
                try socket.start(answer)
                sockets.append(socket)
            } catch {
                logger.warning("\(verb) cannot ask this agent: \(error)")
            }
        }
        let line: [UInt8] = [UInt8(ascii: "\n")]
        open(.health, "waypost health", SmallServer.Limits()) { _ in
            .answer(agent.localHealth.serialized() + line)
        }
        var limits = SmallServer.Limits()
        limits.requestBytes = settings.configuration.limits.commandBytes + 1
        open(.commands, "waypost open --local", limits) { request in
            guard request.last == UInt8(ascii: "\n") else { return .readOn }
            return .later { answered in agent.runLocally(request.dropLast()) { answered($0 + line) } }
        }
        return sockets
    }

    private static func router(_ settings: AgentSettings, _ logger: Logger) throws -> Router {
        var list = try settings.routes.map { try RouteFile($0) } ?? RouteFile(RouterContract())
        // A stand-in only counts, so running it twice does no harm.
        list.makeIdempotent()
        let standIns = list.contract
        let configuration = RouterConfiguration(webPath: settings.isDemo ? DemoFeatures.webPath : nil)
        let router = Router(configuration: configuration.completed(by: standIns))
        if settings.isDemo {
            try DemoFeatures.register(in: router, stateDirectory: settings.configuration.stateDirectory)
        }
        if let file = settings.routes {
            try StandInRoutes.register(list, of: file, in: router)
            logger.notice(
                "\(standIns.routes.count) placeholder routes and \(standIns.services.count) services from \(file)"
            )
        }
        if !settings.isDemo && settings.routes == nil {
            logger.warning("this agent has no routes and no services; see --routes and --demo")
        }
        return router
    }

    /// Runs until a signal cancels the task; then shuts down gracefully.
    private static func run(_ agent: Agent, _ logger: Logger) async throws {
        var quiet = logger
        quiet.logLevel = .warning
        let group = ServiceGroup(configuration: .init(services: [agent], logger: quiet))
        let signals = Invocation.current.signals
        // In a task of its own, which the signal does not cancel: a graceful end takes its time.
        let running = Task(executorPreference: AgentThreads.pool) { try await group.run() }
        do {
            try await withTaskCancellationHandler {
                try await running.value
            } onCancel: {
                Scheduling.undisturbed {
                    logger.notice("stopping; a second signal ends the process at once")
                    if let signal = signals.name { agent.willStop(because: signal) }
                    Task { await group.triggerGracefulShutdown() }
                }
            }
        } catch {
            throw CommandError(.failed, "the agent ended: \(error.words)")
        }
    }
}

/// The page `waypost help limits`: the numbers of an agent.
struct LimitsHelp: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limits",
        abstract: "The limits and times of waypost agent.",
        usage: "waypost agent [<limits>]",
        discussion: """
            The defaults fit most agents. What an agent uses, and how much of it, is in: waypost describe agent ID.

            Example:
              waypost agent --agent k1 --demo --keepalive 20 --store-bytes 67108864
            """,
        shouldDisplay: false)

    @OptionGroup(title: "Limits and times") var numbers: AgentNumberOptions
}
