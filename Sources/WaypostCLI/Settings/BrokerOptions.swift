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

    /// The options with which a line for the shell reaches the same broker under the same name, wherever it is run.
    ///
    /// No password is among them: one that is not in a file or a profile has to be in the environment of the line too.
    func forShell() async throws(CommandError) -> [(name: String, value: String)] {
        var words = try await settings(given).profile.map { [(name: "profile", value: $0)] } ?? []
        for setting in BrokerSettings.rows.map(\.setting) where setting.name != "profile" {
            for value in values(of: setting) where setting.name != "proxy" || !value.contains("@") {
                if case .file = setting.kind {
                    words.append((setting.name, try UserFolder.fromHere(value)))
                } else {
                    words.append((setting.name, value))
                }
            }
        }
        return words
    }

    /// What was given on the command line or in the environment.
    private func values(of setting: AgentSetting) -> [String] {
        let variable = Invocation.variable(SettingNames.variable(of: setting.name)).map { text in
            if case .list = setting.kind { text.split(separator: ",").map(String.init) } else { [text] }
        }
        return switch given[setting.name] {
        case .string(let text)??: [text]
        case .stringArray(let texts)??: texts
        case .int(let number)??: ["\(number)"]
        default: variable ?? []
        }
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
            let account = try Account.free(of: user, count: count, at: comparedPlace)
            credentials?.username = account
        }
        return count
    }
}
