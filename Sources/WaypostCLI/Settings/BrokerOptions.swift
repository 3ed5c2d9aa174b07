import ArgumentParser
import Configuration
import FoundationEssentials
import MQTTLink
import WaypostAgent
import WaypostBackend

/// Where the broker is and how to log in; the same for every command that uses one.
struct BrokerOptions: ParsableArguments {
    @OptionGroup
    var settings: TableOptions<BrokerSettings>

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
    static let names = (AgentSetting.broker.map(\.name) + ["profile", "config"]).map { "--\($0)" }

    /// The options on the command line.
    var given: Settings.Options { settings.given }

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
