import ArgumentParser
import Configuration
import WaypostAgent

/// The options of `waypost agent`, without those for the broker and without numbers.
typealias AgentOptions = TableOptions<OtherSettings>
/// The numbers of `waypost agent`.
typealias AgentNumberOptions = TableOptions<NumberSettings>

/// Rows of the table of settings.
protocol SettingRows {
    static var rows: [AgentSetting] { get }
}

enum OtherSettings: SettingRows {
    static var rows: [AgentSetting] { AgentSetting.others }
}

enum BrokerSettings: SettingRows {
    static var rows: [AgentSetting] { AgentSetting.broker }
}

enum NumberSettings: SettingRows {
    static let rows = AgentNumber.all.map(AgentSetting.init)
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
        for setting in Rows.rows {
            // Not by subscript: that would take away the name of an option that was not given.
            given.updateValue(try Self.content(of: setting, in: options), forKey: setting.name)
        }
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
        Mirror(self, children: Rows.rows.map { ("_" + $0.name, $0.option) })
    }
}

extension AgentSetting {
    /// The property of an option, as ArgumentParser looks for it.
    fileprivate var option: Any {
        let name = NameSpecification.customLong(name)
        switch kind {
        case .number(let number): return Option<Int?>(name: name, help: help(number.unit))
        case .integer: return Option<Int?>(name: name, help: help("number"))
        case .text(let value): return Option<String?>(name: name, help: help(value))
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
