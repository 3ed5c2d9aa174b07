public import Logging
package import MQTTLink
public import ServiceLifecycle
import Threading
import Tracing
public import Waypost
import WaypostFleet
import WaypostMessages
import WaypostSpans

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
/// It makes the parts; `Agent+Assembly.swift` says what each is connected to. No part names a later one.
public final class Agent: Service {
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
    let groups: AgentGroups
    let maps: RelocationMaps
    /// Nil without a tracer.
    let spans: CommandSpans?
    let executor: CommandExecutor
    let intake: Intake
    let local: LocalCommands
    /// Fires when routes, maps and what an earlier run left are there, or when it stops before.
    let isReady = OneShotEvent()
    let presence: Presence
    let status: LinkStatus
    let healthHistory = HealthHistory()
    let loop: LoopMonitor
    let systemd: SystemdNotifier?
    let renewal: Guarded<CertificateRenewal>
    let groupChanges = Guarded(GroupChanges())
    /// What SIGHUP may change.
    let reloadable: Guarded<Reloadable>
    let shutdown = OneShotEvent()
    /// How the run before this one ended, and why this one must end.
    let runs = RunRecord()
    let started: Int64
    let makeLink: MakeLink
    let certificateDisk: any CertificateDisk

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

    package init(
        _ configuration: AgentConfiguration, router: Router, logger: Logger, clock: AgentClock,
        around scope: HandlerScope? = nil,
        makeLink: @escaping MakeLink = { MQTTLink(configuration: $0, delegate: $1) },
        certificateDisk: any CertificateDisk = FileDisk()
    ) throws {
        topics = try configuration.validatedTopics()
        let level = try configuration.validatedLogLevel()
        try configuration.validateTrust()
        try configuration.validateNumbers()
        (self.configuration, self.router, self.clock, self.makeLink) = (
            configuration, router, clock, makeLink
        )
        self.certificateDisk = certificateDisk
        let (agent, limits) = (configuration.agent, configuration.limits)
        // Rules of a broker that were written before there was a document of groups do not let it be read.
        status = LinkStatus(optional: topics.documents(of: agent) + [topics.groups(of: agent)])
        let redaction = Redaction(further: configuration.redactedKeys)
        started = clock.wall()
        reloadable = Guarded(Reloadable(configuration, on: certificateDisk))
        renewal = Guarded(
            CertificateRenewal(
                share: configuration.renewAfter, canMake: configuration.renewCertificate != nil))

        // Reporting.
        self.logger = Logger(label: logger.label) { _ in RedactingLogHandler(logger.handler, redaction) }
        metrics = AgentMetrics(agent: agent)
        events = EventLog(
            boot: Identifier.boot(), clock: clock, limits: limits, level: level, redaction: redaction)
        failures = FailureLog(limit: limits.watchedFailures)
        alarm = DiskAlarm(topic: topics.failures(of: agent), clock: clock)

        spans = (configuration.tracer ?? InstrumentationSystem.chosenTracer).map { [topics] tracer in
            CommandSpans(tracer, agent: agent, root: topics.root)
        }

        // Store and delivery.
        store = try Store(
            directory: configuration.stateDirectory, durability: configuration.durability,
            fresh: configuration.freshState, byteLimit: limits.storeBytes, timer: metrics.commit)
        ledger = try CommandLedger(limits, store: store, topics: topics, clock: clock)
        outbox = Outbox(limits: limits, store: store, clock: clock, topics: topics, agent: agent)
        let handlers = ThreadPool(
            name: "wp-handler", usual: max(2, ThreadPool.processors),
            limit: limits.handlerThreads, share: limits.handlerThreads.share(limits.senderShare))
        journal = try Journal(
            store: store, outbox: outbox, failureTopic: topics.failures(of: agent), clock: clock,
            limits: limits, durability: configuration.durability, handlerTimer: metrics.handler,
            connections: Journal.Connections(ledger: ledger, handlers: handlers, spans: spans))
        let mapInForce = Callback<Void, FailureReport.MapInForce?> { nil }
        reporter = Reporter(
            clock: clock, events: events, failures: failures, journal: journal, logger: self.logger,
            mapInForce: mapInForce)

        // Maps.
        clockMonitor = ClockMonitor(clock: clock, forgetsAfter: Intake.minimumRecognition)
        groups = AgentGroups(
            GroupMembership(
                own: configuration.groups, of: agent, isFixed: configuration.keepsOwnGroups,
                trusted: configuration.trust.keys, limits: limits.json))
        maps = RelocationMaps(
            configuration, groups: groups, router: router, store: store, clock: clock,
            clockMonitor: clockMonitor,
            reporter: reporter)
        mapInForce.set { [weak maps] in maps?.inForce }

        // Execution and intake.
        let documents = Callback<MQTTMessage, Bool> { _ in false }
        let runner = CommandRunner(
            router: router, around: scope, clock: clock,
            history: CommandHistory(
                configuration, groups: groups, topics: topics, journal: journal, status: status),
            limits: limits.json)
        local = LocalCommands(
            ledger: ledger, clock: clock,
            connections: LocalCommands.Connections(journal: journal, store: store))
        executor = CommandExecutor(
            runner: runner, clock: clock, limits: limits, handlers: handlers,
            connections: CommandExecutor.Connections(
                journal: journal, outbox: outbox, reporter: reporter, redaction: redaction, clock: clock,
                clockMonitor: clockMonitor, local: local, spans: spans))
        intake = Intake(
            configuration, groups: groups, topics: topics, clock: clock, clockMonitor: clockMonitor,
            store: store, ledger: ledger, reporter: reporter, spans: spans,
            connections: Intake.Connections(
                executor: executor, journal: journal, outbox: outbox, maps: maps, status: status,
                redaction: redaction, documents: documents))

        // Status.
        routeCounters = RouteCounters(agent: agent, redaction: redaction)
        presence = try Presence(
            configuration, boot: events.boot, topics: topics, clock: clock, store: store, status: status,
            runs: runs, redaction: redaction)
        loop = LoopMonitor(limit: (configuration.link.tickInterval * 4).milliseconds, at: clock.monotonic())
        systemd = configuration.tellsServiceManager ? SystemdNotifier() : nil
        connect(runner)
        documents.set { [weak self] in self?.documentCame($0) ?? false }
    }

    /// Connects what tells the agent, which is complete by now.
    private func connect(_ runner: CommandRunner) {
        store.disk.onFailure { [alarm, outbox, redaction = events.redaction] error in
            guard let report = alarm.raise(redaction.masked(error.description)) else { return }
            // Not here, where others may hold their locks. It is lost if this failure ends the connection.
            AgentThreads.start {
                outbox.enqueue([OutboxItem(origin: .volatile, kind: .presence, message: report)])
            }
        }
        router.redact(events.redaction)
        router.updateRelocationContext { [clock, clockMonitor, configuration] context in
            context.agent = configuration.agent
            configuration.client.apply(to: &context)
            context.now = {
                let now = clock.wall()
                return clockMonitor.isCorrect(at: now) ? now : nil
            }
        }
        maps.connect(
            onChange: { [weak self] in self?.publishMaps(after: $0) },
            onRefusedAgain: { [weak self] in self?.publishApplied() })
        maps.connect(subscriptions: { [weak self] in self?.subscribe(toCandidatesOf: $0, $1) })
        maps.connect(groups: { [weak self] in self?.groupsChanged(joined: $0, left: $1) })
        status.onTested { [weak self] in self?.publishHealth() }
        router.observeNavigation { [weak self] _ in self?.publishNavigation() }
        runner.connect(CommandRunner.AgentCommands(of: self))
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
