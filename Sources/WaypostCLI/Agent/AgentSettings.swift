import Logging
import MQTTLink
import Waypost
import WaypostAgent
import WaypostBackend
import WaypostMessages

/// The settings of `waypost agent`, read and checked.
struct AgentSettings: Sendable {
    var configuration: AgentConfiguration
    /// The lowest level of the events that are published.
    var logLevel: LogLevel
    /// The file of stand-in routes.
    var routes: String?
    var isDemo: Bool
    /// Where metrics are shown, `HOST:PORT`; nil for nowhere.
    var metrics: String?

    /// - Throws: ``CommandError`` 64 naming the setting.
    init(_ settings: Settings) async throws(CommandError) {
        let broker = try await BackendConfiguration(settings)
        guard let agent = try await settings.text("agent") else {
            throw CommandError(.usage, "the agent needs a name: --agent ID or WAYPOST_AGENT")
        }
        guard Name.isValid(agent) else {
            throw CommandError(
                .usage, "agent \(agent.debugDescription) must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
        let letter = try await settings.text("log-level") ?? "i"
        guard let level = LogLevel(letter: letter) else {
            throw CommandError(
                .usage, "log-level must be one of v d i w e f; found \(letter.debugDescription)")
        }
        let durability = try await settings.text("durability") ?? Durability.full.rawValue
        guard let durability = Durability(rawValue: durability) else {
            throw CommandError(
                .usage, "durability must be full, normal or off; found \(durability.debugDescription)")
        }
        let directory = try StateDirectory.standard(
            agent: agent, chosen: await settings.text("state"), environment: Invocation.current.environment)
        configuration = AgentConfiguration(
            agent: agent, groups: try await settings.texts("group"), stateDirectory: directory,
            link: broker.lasting(clientID: agent))
        configuration.client = try ClientFacts(
            build: try await settings.text("build"), locale: try await settings.text("locale"),
            labels: try await settings.texts("label"))
        configuration.root = broker.topics.root
        configuration.logLevel = level.topicLevel
        configuration.durability = durability
        configuration.freshState = try await settings.flag("fresh-state")
        configuration.tellsServiceManager = Invocation.current.ownsProcess
        configuration.link.prefersFirstBroker = try await settings.flag("prefer-first")
        for setting in AgentNumber.all {
            guard let number = try await settings.number(setting.name) else { continue }
            guard setting.range.contains(number) else {
                throw CommandError(
                    .usage,
                    "\(setting.name) must be \(setting.range.lowerBound) to \(setting.range.upperBound); "
                        + "found \(number)")
            }
            setting.set(&configuration, number)
        }
        configuration.redactedKeys = try await settings.texts("redact-key")
        configuration.trust = try await Self.trust(settings)
        let expired = try await settings.text("expired-maps") ?? MapExpiry.keep.rawValue
        guard let expiry = MapExpiry(rawValue: expired) else {
            throw CommandError(
                .usage, "expired-maps must be keep or revert; found \(expired.debugDescription)")
        }
        configuration.mapExpiry = expiry
        logLevel = level
        routes = try await settings.text("routes")
        isDemo = try await settings.flag("demo")
        metrics = try await settings.text("metrics")
    }

    /// The lowest level of the agent's own lines: connects and disconnects are reported also when only warnings are published.
    var ownLogLevel: Logger.Level { min(Logger.Level(logLevel), .notice) }

    private static func trust(_ settings: Settings) async throws(CommandError) -> MapTrust {
        var trust = MapTrust()
        for text in try await settings.texts("trust-key") {
            let key = KeyFile(text)
            let content = try key.readPublic(purpose: "trust key")
            do throws(MapTrust.KeyError) {
                try trust.pin(key.id, key: content)
            } catch {
                throw CommandError(.usage, "trust key \(key.path): \(error)")
            }
        }
        if let number = try await settings.number("trust-threshold") { trust.threshold = number }
        trust.coversCommands = try await settings.flag("signed-commands")
        guard !trust.coversCommands || trust.count > 0 else {
            throw CommandError(.usage, "signed-commands needs a key: --trust-key")
        }
        return trust
    }
}
