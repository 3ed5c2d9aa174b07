import ArgumentParser
import Configuration
import WaypostAgent
import WaypostMessages

/// The options of `waypost agent`, without those for the broker and without numbers.
typealias AgentOptions = TableOptions<OtherSettings>
/// The numbers of `waypost agent`.
typealias AgentNumberOptions = TableOptions<NumberSettings>
/// The name under which a verb sends; it stands in the topic, so that the broker's rules can vouch for it.
typealias SenderOptions = TableOptions<SenderSettings>
/// Where the broker is and how to log in.
typealias BrokerOptions = TableOptions<BrokerSettings>
/// Both: what every verb has that sends to a broker, or reads there.
typealias SessionOptions = TableOptions<SessionSettings>

/// Rows of the table of settings.
protocol SettingRows {
    static var rows: [SettingOption] { get }
}

/// A row as an option, which is made once: the parser looks at it many times.
struct SettingOption: Sendable {
    let setting: AgentSetting
    let option: any Sendable

    init(_ setting: AgentSetting) { (self.setting, option) = (setting, setting.option) }
}

enum OtherSettings: SettingRows {
    static let rows = AgentSetting.others.map(SettingOption.init)
}

enum BrokerSettings: SettingRows {
    static let rows = (AgentSetting.broker + [profile, config]).map(SettingOption.init)

    private static let profile = AgentSetting(
        "profile", .text("name"), "A profile with the settings of a broker; see waypost profile.",
        standard: "the one in use, for a command that names no broker")
    private static let config = AgentSetting(
        "config", .file("file", extensions: ["yaml", "yml", "json"]),
        "A YAML or JSON file with settings; they have the names of the options.")
}

enum SenderSettings: SettingRows {
    static let rows = [
        SettingOption(
            AgentSetting(
                "as", .text("name"), "The sender's name, as it appears in topics.",
                standard: "the user name for the broker, else that of your account, else ops"))
    ]
}

enum SessionSettings: SettingRows {
    static let rows = SenderSettings.rows + BrokerSettings.rows
}

enum NumberSettings: SettingRows {
    static let rows = AgentNumber.all.map(AgentSetting.init).map(SettingOption.init)
}

/// An option for each of some rows of ``AgentSetting/all``.
///
/// ArgumentParser finds options by looking at the properties of a type. Here the mirror names them, so that a new row
/// of the table is an option without a line of code.
struct TableOptions<Rows: SettingRows>: ParsableArguments, CustomReflectable {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }

    /// The options on the command line, by name; nil for those that were not given.
    private(set) var given: Settings.Options = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let options = try decoder.container(keyedBy: Key.self)
        for setting in Rows.rows.map(\.setting) {
            // Not by subscript: that would take away the name of an option that was not given.
            given.updateValue(try Self.content(of: setting, in: options), forKey: setting.name)
        }
    }

    func validate() throws { try NameCheck.check(text("as"), of: "--as") }

    /// An option for one text; nil when it was not given, or is none of these.
    func text(_ name: String) -> String? {
        if case .string(let text)?? = given[name] { text } else { nil }
    }

    private static func content(
        of setting: AgentSetting, in options: KeyedDecodingContainer<Key>
    ) throws -> ConfigContent? {
        let key = Key(setting.name)
        switch setting.kind {
        case .number, .integer:
            return try options.decode(Option<Int?>.self, forKey: key).wrappedValue.map(ConfigContent.int)
        case .text, .choice, .file, .directory:
            return try options.decode(Option<String?>.self, forKey: key).wrappedValue.map(
                ConfigContent.string)
        case .list:
            let values = try options.decode(Option<[String]>.self, forKey: key).wrappedValue
            return values.isEmpty ? nil : .stringArray(values)
        case .flag: return try options.decode(Flag<Bool>.self, forKey: key).wrappedValue ? .bool(true) : nil
        }
    }

    var customMirror: Mirror {
        Mirror(self, children: Rows.rows.map { ("_" + $0.setting.name, $0.option) })
    }
}

extension AgentSetting {
    /// The property of an option, as ArgumentParser looks for it.
    fileprivate var option: any Sendable {
        let name = NameSpecification.customLong(name)
        switch kind {
        case .number(let number): return Option<Int?>(name: name, help: help(number.unit))
        case .integer: return Option<Int?>(name: name, help: help("number"))
        case .text(let value):
            let completion: CompletionKind? = self.name == "profile" ? .profiles : nil
            return Option<String?>(name: name, help: help(value), completion: completion)
        case .choice(let value, let values):
            return Option<String?>(name: name, help: help(value), completion: .list(values))
        case .file(let value, let extensions):
            return Option<String?>(name: name, help: help(value), completion: .file(extensions: extensions))
        case .directory: return Option<String?>(name: name, help: help("directory"), completion: .directory)
        case .list(let value):
            return Option<[String]>(wrappedValue: [], name: name, parsing: .singleValue, help: help(value))
        case .flag: return Flag<Bool>(wrappedValue: false, name: name, help: help(nil))
        }
    }

    private func help(_ value: String?) -> ArgumentHelp {
        let changes: String? =
            if case .number = kind, reload == .atOnce { "; SIGHUP changes it" } else { nil }
        let standard = standard.map { "Default: \($0)\(changes ?? "")." }
        return ArgumentHelp(
            "\(meaning)", discussion: [note, standard].compactMap(\.self).joined(separator: " "),
            valueName: value)
    }
}

/// The rule for names that stand in topics.
enum NameCheck {
    /// - Throws: a `ValidationError` naming the option.
    static func check(_ name: String?, of option: String) throws {
        guard let name, !Name.isValid(name) else { return }
        throw ValidationError(
            "\(option) \(name.debugDescription) must be 1 to 64 characters of A-Z a-z 0-9 _ -")
    }
}
