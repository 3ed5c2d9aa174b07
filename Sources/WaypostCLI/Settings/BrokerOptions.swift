import ArgumentParser
import Configuration
import FoundationEssentials
import MQTTLink
import WaypostBackend

/// Where the broker is and how to log in; the same for every command that uses one.
struct BrokerOptions: ParsableArguments {
    @Option(
        name: .customLong("broker"),
        help: ArgumentHelp(
            "mqtt://host:1883, mqtts://host:8883 or unix:///path. May be repeated; they are tried in turn.",
            discussion: "Default: mqtt://127.0.0.1:1883.", valueName: "url"))
    var brokers: [String] = []

    @Option(help: ArgumentHelp("The prefix of every topic.", discussion: "Default: waypost/v1."))
    var root: String?

    @Option(help: "The user name for the broker.")
    var username: String?

    @Option(
        help: ArgumentHelp(
            "How many user names you have at the broker: ops, ops.2, ops.3, … A command takes one that is free.",
            discussion: "Default: 1.", valueName: "number"))
    var accounts: Int?

    @Option(
        help: ArgumentHelp(
            "A file whose first line is the password; or set WAYPOST_PASSWORD.", valueName: "file"),
        completion: .file())
    var passwordFile: String?

    @Option(
        help: ArgumentHelp(
            "PEM certificates of trusted authorities.", discussion: "Default: the system's.",
            valueName: "file"),
        completion: .file())
    var caFile: String?

    @Option(
        help: ArgumentHelp("The client's PEM certificate, for mutual TLS.", valueName: "file"),
        completion: .file())
    var certFile: String?

    @Option(help: ArgumentHelp("The PEM key of that certificate.", valueName: "file"), completion: .file())
    var keyFile: String?

    @Option(
        help: ArgumentHelp(
            "The MQTT version: 5, 3.1.1 or auto.", discussion: "Default: auto, 5 first.", valueName: "version"
        ), completion: .list(["5", "3.1.1", "auto"]))
    var mqtt: String?

    @Option(
        help: ArgumentHelp(
            "A profile with the settings of a broker; see waypost profile.",
            discussion: "Default: the one in use, for a command that names no broker.", valueName: "name"),
        completion: .profiles)
    var profile: String?

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "A YAML or JSON file with settings; they have the names of the options.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml", "json"]))
    var configurationFile: String?

    /// The options by their names.
    static let names = [
        "--broker", "--root", "--username", "--accounts", "--password-file", "--ca-file", "--cert-file",
        "--key-file", "--mqtt", "--profile", "--config",
    ]

    /// The options on the command line.
    var given: Settings.Options {
        [
            "broker": brokers.isEmpty ? nil : .stringArray(brokers),
            "root": root.map(ConfigContent.string),
            "username": username.map(ConfigContent.string),
            "accounts": accounts.map(ConfigContent.int),
            "password-file": passwordFile.map(ConfigContent.string),
            "ca-file": caFile.map(ConfigContent.string),
            "cert-file": certFile.map(ConfigContent.string),
            "key-file": keyFile.map(ConfigContent.string),
            "mqtt": mqtt.map(ConfigContent.string),
        ]
    }

    /// The settings of a command whose only ones are about the broker, with a user name that is free.
    ///
    /// - Parameter name: The sender, see ``SenderOptions``.
    func resolved(as name: String? = nil) async throws(CommandError) -> BackendConfiguration {
        let settings = try await settings(given)
        var configuration = try await BackendConfiguration(settings, name: name)
        try await Self.takeAccount(&configuration, settings)
        return configuration
    }

    /// Signs in under a user name that no other program on this machine uses.
    ///
    /// - Returns: how many there are.
    @discardableResult
    static func takeAccount(
        _ configuration: inout BackendConfiguration, _ settings: Settings
    ) async throws(CommandError) -> Int {
        let count = try await accounts(settings)
        if let user = configuration.credentials?.username {
            let account = try Account.free(of: user, count: count, at: configuration.place)
            configuration.credentials?.username = account
        }
        return count
    }

    private static func accounts(_ settings: Settings) async throws(CommandError) -> Int {
        guard let count = try await settings.number("accounts") else { return 1 }
        guard (1...Account.maximum).contains(count) else {
            throw CommandError(.usage, "accounts must be 1 to \(Account.maximum); found \(count)")
        }
        return count
    }

    /// Settings from the options, the environment, the file and the profile, in this order.
    func settings(_ options: Settings.Options) async throws(CommandError) -> Settings {
        let settings = try Settings(options, file: configurationFile)
        if let named = try await named() {
            let store = try ProfileStore.user
            try store.check(named)
            return try Settings(options, file: configurationFile, profile: named)
        }
        // A broker that is named gets no user name and no password of another.
        guard try await settings.texts("broker").isEmpty, let store = try? ProfileStore.user,
            let inUse = try store.inUse
        else { return settings }
        return try Settings(options, file: configurationFile, profile: inUse)
    }

    private func named() async throws(CommandError) -> String? {
        if let profile { return profile }
        let variable = ProcessInfo.processInfo.environment["WAYPOST_PROFILE"] ?? ""
        return variable.isEmpty ? nil : variable
    }
}
