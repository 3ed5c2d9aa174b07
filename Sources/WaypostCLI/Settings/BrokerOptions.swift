import ArgumentParser
import Configuration
import MQTTLink
import WaypostAgent
import WaypostBackend

extension BrokerOptions {
    /// The options by their names.
    static var names: [String] { BrokerSettings.rows.map { "--\($0.setting.name)" } }
}

extension TableOptions {
    /// The value of `--config`.
    var configurationFile: String? { text("config") }

    /// The settings of a command whose only ones are about the broker, with a user name that is free.
    ///
    /// - Parameter name: The sender; nil for that of the options or the settings.
    func resolved(as name: String? = nil) async throws(CommandError) -> BackendConfiguration {
        let settings = try await settings(given)
        var configuration = try await BackendConfiguration(settings, name: name)
        try await configuration.takeAccount(settings)
        return configuration
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
        if let profile = text("profile") { return profile }
        return Invocation.variable("WAYPOST_PROFILE")
    }
}

extension BackendConfiguration {
    /// Signs in under a user name that no other program on this machine uses.
    ///
    /// - Returns: how many there are.
    @discardableResult
    mutating func takeAccount(_ settings: Settings) async throws(CommandError) -> Int {
        let count = try await settings.number("accounts") ?? 1
        guard (1...Account.maximum).contains(count) else {
            throw CommandError(.usage, "accounts must be 1 to \(Account.maximum); found \(count)")
        }
        if let user = credentials?.username {
            let account = try Account.free(of: user, count: count, at: place)
            credentials?.username = account
        }
        return count
    }
}
