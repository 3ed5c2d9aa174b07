import Glibc
public import Logging
import MQTTLink
public import ServiceLifecycle
import Threading
public import Waypost
import WaypostMessages

#if !Agent
#error("WaypostAgent needs the trait Agent of the package waypost, which is among its defaults")
#endif

/// A router and its services, driven over MQTT.
///
/// ```swift
/// let agent = try Agent(configuration, router: router, logger: logger)
/// try await agent.run()      // until SIGTERM, when run in a ServiceGroup
/// ```
///
/// It makes the parts and connects them by closures; no part names a later one.
public final class Agent: Service {
    /// Makes the link to the broker.
    typealias MakeLink = @Sendable (MQTTLinkConfiguration, any MQTTLinkDelegate) -> any MessageLink

    let configuration: AgentConfiguration
    let topics: Topics
    let router: Router
    let logger: Logger
    let clock: AgentClock
    let clockMonitor: ClockMonitor
    let store: Store
    let outbox: Outbox
    let journal: Journal
    let alarm: DiskAlarm
    let events: EventLog
    let failures: FailureLog
    let reporter: Reporter
    let refusals = RefusalLog()
    let metrics: AgentMetrics
    let routeCounters: RouteCounters
    let ledger: CommandLedger
    let maps: RelocationMaps
    let executor: CommandExecutor
    let intake: Intake
    let presence: Presence
    let status = LinkStatus()
    let healthHistory = HealthHistory()
    let loop: LoopMonitor
    let systemd: SystemdNotifier?
    /// What SIGHUP may change.
    let reloadable: Guarded<Reloadable>
    let shutdown = OneShotEvent()
    /// How the run before this one ended, and why this one must end.
    let runs = RunRecord()
    let started: Int64
    let makeLink: MakeLink

    /// Opens the state directory and creates the components; nothing runs and nothing connects before ``run()``.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - router: The routes and services that a backend may use.
    ///   - logger: Gets what the agent itself has to say.
    ///   - scope: Runs around what a command asks for, with its interceptors: the place for task locals, which those
    ///     around ``run()`` do not reach, because commands come on other threads. Nothing unless given.
    /// - Throws: ``AgentConfigurationError`` naming the setting, or ``StoreError`` when the state can't be used.
    public convenience init(
        _ configuration: AgentConfiguration, router: Router, logger: Logger, around scope: HandlerScope? = nil
    ) throws {
        try self.init(configuration, router: router, logger: logger, clock: .system, around: scope)
    }

    init(
        _ configuration: AgentConfiguration, router: Router, logger: Logger, clock: AgentClock,
        around scope: HandlerScope? = nil,
        makeLink: @escaping MakeLink = { MQTTLink(configuration: $0, delegate: $1) }
    ) throws {
        let topics = try configuration.validatedTopics()
        let level = try configuration.validatedLogLevel()
        try configuration.validateTrust()
        try configuration.validateNumbers()
        let agent = configuration.agent
        let limits = configuration.limits
        let failureTopic = topics.failures(of: agent)

        // Reporting.
        let metrics = AgentMetrics(agent: agent)
        let redaction = Redaction(further: configuration.redactedKeys)
        let events = EventLog(
            boot: Identifier.boot(), clock: clock, limits: limits, level: level, redaction: redaction)
        let failures = FailureLog(limit: limits.watchedFailures)
        let alarm = DiskAlarm(topic: failureTopic, clock: clock)

        let ownLogger = Logger(label: logger.label) { _ in RedactingLogHandler(logger.handler, redaction) }

        // Store and delivery.
        let store = try Store(
            directory: configuration.stateDirectory, durability: configuration.durability,
            fresh: configuration.freshState, byteLimit: limits.storeBytes, timer: metrics.commit)
        let outbox = Outbox(
            limits: limits, store: store, clock: clock, sender: { topics.sender(ofCommandOn: $0) },
            topic: { topics.reply(of: agent, to: $0) })
        store.disk.onFailure { error in
            guard let report = alarm.raise(redaction.masked(error.description)) else { return }
            // Not here, where others may hold their locks. It is lost if this failure ends the connection.
            AgentThreads.start {
                outbox.enqueue([OutboxItem(origin: .volatile, kind: .presence, message: report)])
            }
        }
        let ledger = try CommandLedger(limits, store: store, topics: topics, clock: clock)
        let handlers = ThreadPool(
            name: "wp-handler", usual: max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN))),
            limit: limits.handlerThreads, share: limits.handlerThreads.share(limits.senderShare))
        let journal = try Journal(
            store: store, outbox: outbox, failureTopic: failureTopic, clock: clock, limits: limits,
            durability: configuration.durability, handlerTimer: metrics.handler,
            connections: Journal.Connections(
                resultsCommitted: { ledger.resultsCommitted($0) },
                replyReplaced: { ledger.replyShrank(on: $0, by: $1) },
                isGathering: { handlers.isOnBorrowedThread }))
        let mapInForce = Callback<Void, FailureReport.MapInForce?> { nil }
        let reporter = Reporter(
            clock: clock,
            writeEvent: { events.log($0, $1, $2(), isError: $3, ref: $4) },
            sendReport: { report in
                var report = redaction.masked(report)
                report.map = mapInForce()
                let reported = failures.occurred(report)
                // A sender's repetitions are counted, and must not take the place of others' events.
                if report.sender == nil || !reported.isEmpty { events.log(report) }
                // For a reader who has no broker.
                if report.origin == .map, !reported.isEmpty {
                    ownLogger.warning("\(report.code): \(report.detail)")
                }
                for report in reported { journal.failed(report) }
            })

        // Maps.
        let clockMonitor = ClockMonitor(clock: clock, forgetsAfter: Intake.minimumRecognition)
        router.redact(redaction)
        router.updateRelocationContext { context in
            context.agent = configuration.agent
            configuration.client.apply(to: &context)
            context.now = {
                let now = clock.wall()
                return clockMonitor.isCorrect(at: now) ? now : nil
            }
        }
        let maps = RelocationMaps(
            configuration, router: router, store: store, clock: clock, clockMonitor: clockMonitor,
            reporter: reporter)
        mapInForce.set { [weak maps] in maps?.inForce }

        // Execution.
        let history = CommandHistory(
            commit: { body throws(StoreError) in try journal.commit(steps: 1, body) }, topics: topics,
            agent: agent, audiences: [.agent(agent), .all] + configuration.groups.map(Audience.group),
            maximumBytes: { [status] in status.maximumPayload(limits.packetBytes) })
        let runner = CommandRunner(
            router: router, around: scope, clock: clock, history: history, limits: limits.json)
        let executor = CommandExecutor(
            runner: runner, clock: clock, limits: limits, handlers: handlers,
            connections: CommandExecutor.Connections(
                commit: { await journal.commit($0, of: $1) },
                end: { commands, isFree in
                    let commands = commands.map(redaction.masked)
                    // First, so that one commit has both.
                    for ended in commands { reporter.failed(ended.result, of: ended.job) }
                    journal.ended(commands, isFree: isFree)
                },
                flush: { await journal.flush() },
                commitGathered: { journal.commitGathered() },
                accepted: { job in
                    let reply = Reply.accepted(id: job.id, attempt: job.attempt, at: clock.wall())
                    outbox.reply(reply, to: job.address)
                }))

        // Intake.
        let status = status
        intake = Intake(
            configuration, topics: topics, clock: clock, clockMonitor: clockMonitor, store: store,
            ledger: ledger, reporter: reporter,
            connections: Intake.Connections(
                dispatch: { executor.admitted($0) },
                received: { journal.received($0) },
                commit: { (new, repeated) throws(StoreError) in
                    try journal.commit(steps: new.count + repeated.count, repeated: repeated) {
                        try $0.receive(new, results: [:])
                    }
                },
                commitReceived: { () throws(StoreError) in try journal.commitReceived() },
                commitSent: { journal.commitSent() },
                reply: { outbox.reply(redaction.masked($0), to: $1) },
                repeatReply: { sequence, reply, address in
                    outbox.enqueue([
                        OutboxItem(
                            origin: .reply(sequence: sequence), kind: .reply,
                            message: address.message(Reply.duplicate(of: reply)), isRepeat: true)
                    ])
                },
                applyMap: { maps.take($0, on: $1, for: $2, at: $3) },
                echoReceived: { payload in status.changeSelfTest { $0.echoReceived(payload) } },
                isSelfTest: { payload in status.changeSelfTest { $0.pingReceived(payload) } },
                waitingCommands: { executor.waiting },
                isOutboxFull: { journal.isOutboxFull(for: $0) }))

        // Status.
        let runs = runs
        presence = Presence(
            agent: agent, boot: events.boot, topic: topics.state(of: agent), clock: clock,
            after: try store.commit { try $0.highestUsedEpoch() },
            last: { reason in
                let link = status.current
                let disk = store.disk.problem.map { AgentState.Cause(.disk, $0.description, at: clock.wall()) }
                let cause =
                    switch reason {
                    case .shutdown: runs.end(at: clock.wall())
                    case .birth: disk ?? (link.outage ?? link.lastOutage)?.cause ?? runs.previousEnd
                    default: disk
                    }
                return cause.map(redaction.masked)
            },
            raise: { store.raiseEpoch(above: $0) })
        loop = LoopMonitor(limit: (configuration.link.tickInterval * 4).milliseconds, at: clock.monotonic())
        systemd = configuration.tellsServiceManager ? SystemdNotifier() : nil
        reloadable = Guarded(Reloadable(configuration))
        started = clock.wall()
        self.configuration = configuration
        self.topics = topics
        self.router = router
        self.logger = ownLogger
        self.clock = clock
        self.clockMonitor = clockMonitor
        self.store = store
        self.outbox = outbox
        self.journal = journal
        self.ledger = ledger
        self.alarm = alarm
        self.events = events
        self.failures = failures
        self.reporter = reporter
        self.metrics = metrics
        routeCounters = RouteCounters(agent: agent, redaction: redaction)
        self.maps = maps
        self.executor = executor
        self.makeLink = makeLink
        maps.connect(
            onChange: { [weak self] in self?.publishMaps() },
            onRefusedAgain: { [weak self] in self?.publishApplied() })
        status.onTested { [weak self] in self?.publishHealth() }
        router.observeNavigation { [weak self] _ in self?.publishNavigation() }
        runner.connect(
            CommandRunner.AgentCommands(
                health: { [weak self] in self?.health.json ?? .null },
                replay: { replay throws(Failure) in
                    try events.answer(replay, of: agent, at: clock.wall())
                },
                maps: { request, bytes throws(Failure) in try maps.page(request, bytes: bytes) },
                setLevel: { [weak self] override in
                    // Losing it on a full disk only means that a restart forgets a temporary level.
                    try? store.commit { try $0.setOverride(override) }
                    let lowest = events.setOverride(override)
                    self?.publishHealth()
                    return lowest
                },
                progress: { [weak executor] in executor?.progress(of: $0) }))
    }
}

extension Agent {
    /// A log handler that publishes the host application's log lines as events of the agent.
    ///
    /// ```swift
    /// let logger = Logger(label: "Orders") { agent.logHandler(label: $0) }
    /// ```
    ///
    /// Lines are treated as all events are: a `log` command can change the level, lines beyond the rate are dropped
    /// and counted, secrets are masked, and long lines are cut. Give the agent itself another logger: otherwise its
    /// line about a message that the broker refused would be the next such message.
    ///
    /// - Parameter label: The logger's label; it becomes the tag.
    public func logHandler(label: String) -> AgentLogHandler {
        AgentLogHandler(label: label, events: events)
    }
}
