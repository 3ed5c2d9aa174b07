import Configuration
import Waypost

/// Settings by name, from the command line, the environment and a file; the first that has one decides.
///
/// A setting's name is that of its long option: `--password-file`, `WAYPOST_PASSWORD_FILE`, and in the file
/// `password-file`.
struct Settings {
    /// The options on the command line.
    typealias Options = [String: ConfigContent?]

    /// The files, the first of which that has a setting decides.
    private let files: [SettingsFile]
    private let texts: ConfigReader
    private let numbers: ConfigReader
    private let flags: ConfigReader
    /// The profile that is used.
    let profile: String?

    /// - Parameters:
    ///   - options: by name; nil for those that were not given.
    ///   - file: the value of `--config`; `WAYPOST_CONFIG` when nil.
    ///   - profile: the name of a profile, over which all others win.
    init(_ options: Options, file: String?, profile: String? = nil) throws(CommandError) {
        self.profile = profile
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for case (let name, let content?) in options {
            values[AbsoluteConfigKey([name])] = ConfigValue(content, isSecret: false)
        }
        let environment = EnvironmentVariablesProvider(
            environmentVariables: Invocation.current.environment,
            secretsSpecifier: .specific(Set(SettingNames.secrets.map(SettingNames.variable))))
        let given: [any ConfigProvider] = [
            InMemoryProvider(name: "options", values: values), environment.prefixKeys(with: "waypost"),
        ]
        var files: [SettingsFile] = []
        if let path = file ?? Invocation.variable("WAYPOST_CONFIG") {
            files.append(try SettingsFile(path))
        }
        if let profile { files.append(try SettingsFile(ProfileStore.user.file(of: profile))) }
        self.files = files
        // A provider in memory has one type for each value, and a file does not say which: `agent: 007` is a text.
        func reader(_ kind: SettingValue.Kind) -> ConfigReader {
            ConfigReader(
                providers: given + files.map { InMemoryProvider(name: $0.path, values: $0.values(as: kind)) })
        }
        texts = reader(.text)
        numbers = reader(.number)
        flags = reader(.flag)
    }

    func text(_ name: String) async throws(CommandError) -> String? {
        let text = try await read(name, .text) { try await texts.fetchString(forKey: ConfigKey([name])) }
        return try text.flatMap { text throws(CommandError) in try Self.checked(text, name) }
    }

    func number(_ name: String) async throws(CommandError) -> Int? {
        try await read(name, .number) { try await numbers.fetchInt(forKey: ConfigKey([name])) }
    }

    func flag(_ name: String) async throws(CommandError) -> Bool {
        try await read(name, .flag) { try await flags.fetchBool(forKey: ConfigKey([name])) } ?? false
    }

    /// Several values; a file may also have just one.
    func texts(_ name: String) async throws(CommandError) -> [String] {
        if let list = try? await texts.fetchStringArray(forKey: ConfigKey([name])) {
            return try list.map { text throws(CommandError) in try Self.checked(text, name) ?? text }
        }
        return try await text(name).map { [$0] } ?? []
    }

    /// Refuses what can't be seen, such as the end of a line of a file from Windows; nil for an empty text.
    ///
    /// It would be another name, which then matches nothing.
    private static func checked(_ text: String, _ name: String) throws(CommandError) -> String? {
        let isSecret = name == "password"
        let shown = SettingNames.secrets.contains(name) ? name : "\(name) \(text.quoted)"
        // A password may begin and end with anything that has a place in a line.
        guard isSecret || !text.hasOuterWhiteSpace || text.unseenFault(isSecret: true) != nil else {
            throw CommandError(.usage, "\(shown) begins or ends with white space")
        }
        if let fault = text.unseenFault(isSecret: isSecret) {
            throw CommandError(.usage, "\(shown) has \(fault)")
        }
        return text.isEmpty ? nil : text
    }

    private func read<Value>(
        _ name: String, _ kind: SettingValue.Kind, _ body: () async throws -> Value?
    ) async throws(CommandError) -> Value? {
        do {
            return try await body()
        } catch {
            let variable = SettingNames.variable(of: name)
            // A variable wins over every file.
            guard Invocation.current.environment[variable] == nil, let found = inFile(name) else {
                throw CommandError(
                    .usage,
                    "setting \(name) (--\(name), \(variable), or in the file) must be \(kind.rawValue)")
            }
            throw CommandError(
                .usage, "\(found.place): \(name) must be \(kind.rawValue); found \(found.form)")
        }
    }

    private func inFile(_ name: String) -> (place: String, form: String)? {
        for file in files {
            guard let setting = file.settings[name] else { continue }
            return (file.place(line: setting.line), setting.value.form)
        }
        return nil
    }
}

extension String {
    /// What is said of the first character that no one sees in it, and that makes it another text; nil when it has none.
    ///
    /// - Parameter isSecret: Whether blanks of every kind are as good as letters.
    func unseenFault(isSecret: Bool = false) -> String? {
        guard let scalar = unseenScalars.first(where: { !isSecret || !$0.isOddBlank }) else { return nil }
        let isOld = scalar.properties.generalCategory == .control || scalar == "\u{FEFF}"
        return isOld
            ? "a control character or a byte order mark in it"
            : scalar.unseenText.replacing(", which", with: " in it, which")
    }

    /// Whether white space stands before or behind it.
    var hasOuterWhiteSpace: Bool { first?.isWhitespace == true || last?.isWhitespace == true }
}
