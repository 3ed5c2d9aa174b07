import Configuration
import FoundationEssentials

/// Settings by name, from the command line, the environment and a file; the first that has one decides.
///
/// A setting's name is that of its long option: `--password-file`, `WAYPOST_PASSWORD_FILE`, and in the file
/// `password-file`.
struct Settings {
    /// The options on the command line.
    typealias Options = [String: ConfigContent?]

    private let reader: ConfigReader
    /// The profile that is used.
    let profile: String?

    /// - Parameters:
    ///   - options: by name; nil for those that were not given.
    ///   - file: the value of `--config`; `WAYPOST_CONFIG` when nil.
    ///   - profile: the name of a profile, over which all others win.
    init(_ options: Options, file: String?, profile: String? = nil) async throws(CommandError) {
        self.profile = profile
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for case (let name, let content?) in options {
            values[AbsoluteConfigKey([name])] = ConfigValue(content, isSecret: false)
        }
        let environment = EnvironmentVariablesProvider(secretsSpecifier: .specific(["WAYPOST_PASSWORD"]))
        var providers: [any ConfigProvider] = [
            InMemoryProvider(name: "options", values: values), environment.prefixKeys(with: "waypost"),
        ]
        let named = ProcessInfo.processInfo.environment["WAYPOST_CONFIG"]
        if let path = file ?? named.flatMap({ $0.isEmpty ? nil : $0 }) {
            providers.append(try await Self.provider(path))
        }
        if let profile { providers.append(try await Self.provider(ProfileStore.user.file(of: profile))) }
        reader = ConfigReader(providers: providers)
    }

    private static func provider(_ path: String) async throws(CommandError) -> any ConfigProvider {
        let bytes = try GuardedFile.read(path, purpose: "configuration file")
        try SettingNames.check(bytes, of: path)
        if SettingNames.hasPassword(bytes) {
            try GuardedFile.check(path, purpose: "configuration file with a password", isSecret: true)
        }
        let named = ConfigValue(.string(path), isSecret: false)
        let location = ConfigReader(provider: InMemoryProvider(values: ["filePath": named]))
        do {
            return path.hasSuffix(".json")
                ? try await FileProvider<JSONSnapshot>(config: location)
                : try await FileProvider<YAMLSnapshot>(config: location)
        } catch {
            throw CommandError(.usage, "configuration file \(path): \(error)")
        }
    }

    func text(_ name: String) async throws(CommandError) -> String? {
        try await read(name, "a text") { try await reader.fetchString(forKey: ConfigKey([name])) }
            .flatMap { $0.isEmpty ? nil : $0 }
    }

    func number(_ name: String) async throws(CommandError) -> Int? {
        try await read(name, "a whole number") { try await reader.fetchInt(forKey: ConfigKey([name])) }
    }

    func flag(_ name: String) async throws(CommandError) -> Bool {
        try await read(name, "true or false") { try await reader.fetchBool(forKey: ConfigKey([name])) }
            ?? false
    }

    /// Several values; a file may also have just one.
    func texts(_ name: String) async throws(CommandError) -> [String] {
        if let list = try? await reader.fetchStringArray(forKey: ConfigKey([name])) { return list }
        return try await text(name).map { [$0] } ?? []
    }

    private func read<Value>(
        _ name: String, _ kind: String, _ body: () async throws -> Value?
    ) async throws(CommandError) -> Value? {
        do {
            return try await body()
        } catch {
            let variable = SettingNames.variable(of: name)
            throw CommandError(
                .usage, "setting \(name) (--\(name), \(variable), or in the file) must be \(kind)")
        }
    }
}
