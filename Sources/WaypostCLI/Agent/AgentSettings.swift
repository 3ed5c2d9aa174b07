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
    /// The program that makes a newer certificate, and its arguments; empty for none.
    var renew: [String]
    /// The door for a page in a browser of this machine; nil for none.
    var localPort: LocalPort.Settings?

    /// - Throws: ``CommandError`` 64 naming the setting.
    init(_ settings: Settings) async throws(CommandError) {
        let broker = try await BackendConfiguration(settings)
        guard let given = try await settings.text("agent") else {
            throw CommandError(.usage, "the agent needs a name: \(AgentName.advice)")
        }
        let agent = try AgentName.read(given, environment: Invocation.current.environment)
        let level = try await Self.choice("log-level", .info, "one of v d i w e f", in: settings) {
            LogLevel(letter: $0)
        }
        let durability = try await Self.choice("durability", .full, "full, normal or off", in: settings) {
            Durability(rawValue: $0)
        }
        let directory = try StateDirectory.standard(
            agent: agent, chosen: await settings.text("state"), environment: Invocation.current.environment)
        configuration = AgentConfiguration(
            agent: agent, groups: try await settings.texts("group"), stateDirectory: directory,
            link: broker.lasting(clientID: agent))
        configuration.keepsOwnGroups = try await settings.flag("own-groups")
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
        configuration.mapExpiry = try await Self.choice("expired-maps", .keep, "keep or revert", in: settings)
        {
            MapExpiry(rawValue: $0)
        }
        renew = try await Self.renewal(settings, &configuration)
        logLevel = level
        routes = try await settings.text("routes")
        isDemo = try await settings.flag("demo")
        metrics = try await settings.text("metrics")
        localPort = try await Self.localPort(settings)
    }

    /// The program that makes a newer certificate, which the agent is told to run; empty for none.
    private static func renewal(
        _ settings: Settings, _ configuration: inout AgentConfiguration
    ) async throws(CommandError) -> [String] {
        let words = try await settings.texts("renew")
        guard !words.isEmpty else { return [] }
        guard configuration.link.tls?.certificateFile != nil else {
            throw CommandError(.usage, "renew needs cert-file and key-file")
        }
        let program = try RenewalProgram(words, log: "\(configuration.stateDirectory)/renew.log")
        configuration.renewCertificate = { try await program.run($0) }
        return words
    }

    private static func localPort(_ settings: Settings) async throws(CommandError) -> LocalPort.Settings? {
        let origins = try await settings.texts("local-origin")
        let file = try await settings.text("local-token-file")
        guard let number = try await settings.number("local-port") else {
            guard origins.isEmpty, file == nil else {
                throw CommandError(.usage, "local-origin and local-token-file need local-port")
            }
            return nil
        }
        guard let port = UInt16(exactly: number), port > 0 else {
            throw CommandError(.usage, "local-port must be 1 to 65535; found \(number)")
        }
        guard let file else {
            throw CommandError(
                .usage, "local-port needs local-token-file: any page could command the agent otherwise")
        }
        for origin in origins {
            let isOne =
                origin.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && origin.contains("://")
                && !origin.hasSuffix("/") && origin != "*"
            guard isOne else {
                throw CommandError(
                    .usage,
                    "local-origin must be like https://kiosk.example; found \(origin.debugDescription)")
            }
        }
        let token = try GuardedFile.readSecret(file, purpose: "local token file")
        guard token.utf8.count >= 16, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw CommandError(
                .usage, "local-token-file \(file): the token must be 16 visible ASCII characters and more")
        }
        return LocalPort.Settings(port: port, token: token, origins: origins)
    }

    /// A setting that is one of a few words.
    private static func choice<Choice>(
        _ name: String, _ standard: Choice, _ known: String, in settings: Settings,
        _ read: (String) -> Choice?
    ) async throws(CommandError) -> Choice {
        guard let word = try await settings.text(name) else { return standard }
        guard let choice = read(word) else {
            throw CommandError(.usage, "\(name) must be \(known); found \(word.debugDescription)")
        }
        return choice
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
