import Logging
import MQTTLink
import Waypost
import WaypostBackend
import WaypostMessages

extension BackendConfiguration {
    /// The broker unless one is given.
    static let defaultBroker = "mqtt://127.0.0.1:1883"

    /// What the settings say, read and checked.
    ///
    /// - Parameter name: The sender; nil for that of the settings, else that of the broker's user, whom its rules know,
    ///   else that of the account.
    /// - Throws: ``CommandError`` 64 naming the setting.
    init(_ settings: Settings, name: String? = nil) async throws(CommandError) {
        let texts = try await settings.texts("broker")
        let brokers: [BrokerURL]
        do {
            brokers = try (texts.isEmpty ? [Self.defaultBroker] : texts).map { try BrokerURL($0) }
        } catch {
            throw CommandError(.usage, "broker: \(error.words)")
        }
        let root = try await settings.text("root") ?? Topics.defaultRoot
        guard let topics = Topics(root: root) else {
            throw CommandError(
                .usage, "root \(root.quoted) \(Topics.fault(in: root) ?? "is not a topic prefix")")
        }
        let version = try Self.version(await settings.text("mqtt") ?? "auto")
        let credentials = try await Self.credentials(settings)
        let sender =
            try await Self.sender(settings)
            ?? credentials.map(\.username).flatMap { Name.isValid($0) ? $0 : nil }
        self.init(brokers: brokers, name: name ?? sender ?? Self.account, logger: Self.notes)
        speaksShell = true
        (self.topics, self.version, self.credentials) = (topics, version, credentials)
        tls = try await Self.tls(settings, isNeeded: brokers.contains { $0.transport == .tls })
        proxy = try await Self.proxy(settings)
        guard proxy == nil || version != .v5 else {
            throw CommandError(
                .usage, "mqtt 5 does not go through a proxy, where 3.1.1 is spoken; use auto or 3.1.1")
        }
    }

    /// A broker on a port of this host, without any secrets.
    init(localPort port: UInt16, name: String) {
        self.init(brokers: [BrokerURL(host: "127.0.0.1", port: port)], name: name, logger: Self.notes)
    }

    /// Warnings go to standard error.
    private static var notes: Logger {
        Logger(label: "waypost") { _ in PlainLogHandler(LogThreshold(.notice)) }
    }

    /// The name of the user's account, without the characters that a topic cannot have.
    private static var account: String {
        let user = Invocation.variable("USER") ?? ""
        let cleaned = String(user.prefix(Name.maximumBytes).filter { Name.isValid(String($0)) })
        return cleaned.isEmpty ? "ops" : cleaned
    }

    private static func version(
        _ text: String
    ) throws(CommandError) -> MQTTLinkConfiguration.ProtocolVersion {
        switch text {
        case "auto": .automatic
        case "5", "5.0": .v5
        case "3.1.1", "4": .v311
        default: throw CommandError(.usage, "mqtt must be 5, 3.1.1 or auto; found \(text.debugDescription)")
        }
    }

    private static func sender(_ settings: Settings) async throws(CommandError) -> String? {
        guard let name = try await settings.text("as") else { return nil }
        guard Name.isValid(name) else {
            throw CommandError(
                .usage, "as \(name.debugDescription) must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
        return name
    }

    private static func credentials(_ settings: Settings) async throws(CommandError) -> Credentials? {
        var password = try await settings.text("password")
        if let file = try await settings.text("password-file") {
            password = try GuardedFile.readSecret(file, purpose: "password file")
        }
        guard let username = try await settings.text("username") else {
            guard password == nil else { throw CommandError(.usage, "a password needs a --username") }
            return nil
        }
        return Credentials(username: username, password: password)
    }

    private static func proxy(_ settings: Settings) async throws(CommandError) -> ProxyURL? {
        guard let text = try await settings.text("proxy") else { return nil }
        do throws(ProxyURLError) {
            return try ProxyURL(text)
        } catch {
            throw CommandError(.usage, "proxy: \(error)")
        }
    }

    private static func tls(_ settings: Settings, isNeeded: Bool) async throws(CommandError) -> TLSOptions? {
        let options = TLSOptions(
            caFile: try await settings.text("ca-file"),
            certificateFile: try await settings.text("cert-file"),
            keyFile: try await settings.text("key-file"), alpn: try await settings.text("alpn"))
        guard options != TLSOptions() else { return nil }
        guard isNeeded else {
            throw CommandError(
                .usage,
                "there are certificates or an application protocol, but no broker URL begins with mqtts://; "
                    + "TLS would not be used")
        }
        guard (options.certificateFile == nil) == (options.keyFile == nil) else {
            throw CommandError(.usage, "--cert-file and --key-file must be used together")
        }
        if let file = options.caFile { try GuardedFile.check(file, purpose: "CA file") }
        if let file = options.certificateFile { try GuardedFile.check(file, purpose: "certificate file") }
        if let file = options.keyFile { try GuardedFile.check(file, purpose: "key file", isSecret: true) }
        if let fault = options.fault { throw CommandError(.usage, fault) }
        return options
    }
}
