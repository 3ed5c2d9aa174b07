public import Logging
import MQTTLink
public import ServiceLifecycle
public import Waypost
import WaypostMessages

/// A router and its services, driven over MQTT: the only place that knows all rooms.
///
/// ```swift
/// let agent = try Agent(configuration, router: router, logger: logger)
/// try await agent.run()      // until SIGTERM, when run in a ServiceGroup
/// ```
public final class Agent: Service {
    let configuration: AgentConfiguration
    let topics: Topics
    let router: Router
    let logger: Logger
    let clock: AgentClock
    let store: Store
    let outbox: Outbox
    let events: EventLog
    let failures: FailureLog
    let journal: Journal
    let dispatcher: Dispatcher
    let runner: CommandRunner
    let maps: MapRoom
    let intake: Intake
    let presence: Presence
    let health: HealthMonitor
    let report: HealthReport
    let loop: LoopWatch
    let manager: ServiceManager?
    let renewal: Guarded<LinkRenewal>

    /// Opens the state directory and furnishes the rooms; nothing runs and nothing connects before ``run()``.
    ///
    /// - Throws: ``AgentConfigurationError`` naming the setting, or ``StoreError`` when the state can't be used.
    public convenience init(_ configuration: AgentConfiguration, router: Router, logger: Logger) throws {
        try self.init(configuration, router: router, logger: logger, clock: .system)
    }

    package init(
        _ configuration: AgentConfiguration, router: Router, logger: Logger, clock: AgentClock
    ) throws {
        let topics = try configuration.validatedTopics()
        let level = try configuration.validatedLogLevel()
        try configuration.validateTrust()
        try configuration.validateLimits()
        let agent = configuration.agent
        let limits = configuration.limits
        let boot = Identifier.boot()
        let redaction = Redaction(further: configuration.redactedKeys)
        let metrics = AgentMetrics(agent: agent)
        let store = try Store(
            directory: configuration.stateDirectory, durability: configuration.durability,
            fresh: configuration.freshState, timer: metrics.commit)
        let health = HealthMonitor(
            alarm: DiskAlarm(
                agent: agent, link: configuration.link, topic: topics.failures(of: agent), clock: clock),
            metrics: metrics)
        let outbox = Outbox(window: limits.inFlight)
        let events = EventLog(
            agent: agent, boot: boot, topics: topics, outbox: outbox, clock: clock, limits: limits,
            level: level, redaction: redaction)
        let failures = FailureLog()
        let underWay = CommandsUnderWay()
        let journal = Journal(
            store: store, underWay: underWay, outbox: outbox, events: events, failures: failures,
            health: health,
            redaction: redaction, failureTopic: topics.failures(of: agent),
            clock: clock, limits: limits)
        let maps = MapRoom(
            agent: agent, groups: configuration.groups, router: router, limits: limits,
            trusted: configuration.trust.keys, expiry: configuration.mapExpiry)
        let loop = LoopWatch(
            limit: (configuration.link.tickInterval * 4).milliseconds, at: clock.monotonic())
        let report = HealthReport(
            agent: agent, boot: boot, started: clock.wall(), limits: limits, clock: clock, monitor: health,
            maps: maps, outbox: outbox, events: events, loop: loop)
        health.update { $0.certificateFile = configuration.link.tls?.certificateFile }
        let runner = CommandRunner(
            router: router, events: events, clock: clock, report: report, store: store)
        let dispatcher = Dispatcher(
            runner: runner, journal: journal, health: health, clock: clock, deadline: limits.handlerDeadline)
        intake = Intake(
            agent: agent, groups: configuration.groups, topics: topics, limits: limits, clock: clock,
            rooms: Intake.Rooms(
                store: store, maps: maps, dispatcher: dispatcher, runner: runner, journal: journal,
                underWay: underWay, outbox: outbox, events: events, health: health),
            trust: configuration.trust, keys: try store.commit { try $0.inboxCount() })
        presence = Presence(agent: agent, boot: boot, topics: topics, store: store)
        manager = configuration.tellsServiceManager ? ServiceManager() : nil
        renewal = Guarded(LinkRenewal(configuration.link))
        self.configuration = configuration
        self.topics = topics
        self.router = router
        self.logger = logger
        self.clock = clock
        self.store = store
        self.outbox = outbox
        self.events = events
        self.failures = failures
        self.journal = journal
        self.dispatcher = dispatcher
        self.runner = runner
        self.maps = maps
        self.health = health
        self.report = report
        self.loop = loop
    }
}
