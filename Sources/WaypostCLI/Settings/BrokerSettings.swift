import MQTTLink
import WaypostMessages

/// The broker's settings, read and checked.
struct BrokerSettings: Sendable {
    /// The broker unless one is given.
    static let defaultBroker = "mqtt://127.0.0.1:1883"

    var brokers: [BrokerURL]
    var credentials: Credentials?
    var tls: TLSOptions?
    var version: MQTTLinkConfiguration.ProtocolVersion
    var topics: Topics
    /// The profile that they come from.
    var profile: String?
    /// Who sends, as far as the settings say it.
    var sender: String?

    /// - Throws: ``CommandError`` 64 naming the setting.
    init(_ settings: Settings) async throws(CommandError) {
        profile = settings.profile
        let texts = try await settings.texts("broker")
        do {
            brokers = try (texts.isEmpty ? [Self.defaultBroker] : texts).map { try BrokerURL($0) }
        } catch {
            throw CommandError(.usage, "broker: \(error)")
        }
        let root = try await settings.text("root") ?? Topics.defaultRoot
        guard let topics = Topics(root: root) else {
            throw CommandError(
                .usage,
                "root \(root.debugDescription) is not a topic prefix: it has wildcards, spaces, empty levels or a slash at an end"
            )
        }
        self.topics = topics
        version = try Self.version(await settings.text("mqtt") ?? "auto")
        credentials = try await Self.credentials(settings)
        sender =
            try await Self.sender(settings)
            ?? credentials.map(\.username).flatMap { Name.isValid($0) ? $0 : nil }
        tls = try await Self.tls(settings, isNeeded: brokers.contains { $0.transport == .tls })
    }

    /// A broker on a port of this host, without any secrets.
    init(localPort port: UInt16, root: Topics = .standard) {
        brokers = [BrokerURL(host: "127.0.0.1", port: port)]
        version = .automatic
        topics = root
    }

    /// A link that the broker forgets when it ends.
    func oneShot(clientID: String) -> MQTTLinkConfiguration {
        complete(.oneShot(brokers: brokers, clientID: clientID))
    }

    /// A link that lasts.
    func lasting(clientID: String) -> MQTTLinkConfiguration {
        complete(MQTTLinkConfiguration(brokers: brokers, clientID: clientID))
    }

    /// The brokers for a sentence.
    var place: String { brokers.map(\.description).joined(separator: ", ") }

    /// The profile and a space behind it, for a line that begins with where we are; empty without one.
    var profileMark: String { profile.map { "[\($0)] " } ?? "" }

    private func complete(_ link: MQTTLinkConfiguration) -> MQTTLinkConfiguration {
        var link = link
        link.credentials = credentials
        link.tls = tls
        link.protocolVersion = version
        return link
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

    private static func tls(_ settings: Settings, isNeeded: Bool) async throws(CommandError) -> TLSOptions? {
        let options = TLSOptions(
            caFile: try await settings.text("ca-file"),
            certificateFile: try await settings.text("cert-file"),
            keyFile: try await settings.text("key-file"))
        guard options != TLSOptions() else { return nil }
        guard isNeeded else {
            throw CommandError(
                .usage,
                "there are certificates, but no broker URL begins with mqtts://; TLS would not be used")
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
