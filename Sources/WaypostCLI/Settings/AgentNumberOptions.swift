import ArgumentParser
import Configuration
import MQTTLink
import WaypostAgent

/// The numeric options of `waypost agent`: one for each row of ``AgentSetting/all``.
///
/// ArgumentParser finds options by looking at the properties of a type. Here the mirror names them, so that a new row
/// of the table is an option without a line of code.
struct AgentNumberOptions: ParsableArguments, CustomReflectable {
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
        for setting in AgentSetting.all {
            let option = try options.decode(Option<Int?>.self, forKey: Key(setting.name))
            // Not by subscript: that would take away the name of an option that was not given.
            given.updateValue(option.wrappedValue.map(ConfigContent.int), forKey: setting.name)
        }
    }

    var customMirror: Mirror {
        Mirror(
            self,
            children: AgentSetting.all.map { setting in
                ("_" + setting.name, Option<Int?>(name: .customLong(setting.name), help: setting.help) as Any)
            })
    }
}

extension AgentSetting {
    /// The value of an agent that does not set it.
    var defaultValue: Int {
        self.get(
            AgentConfiguration(
                agent: "", stateDirectory: "", link: MQTTLinkConfiguration(brokers: [], clientID: "")))
    }

    fileprivate var help: ArgumentHelp {
        let reload = changesAtRunTime ? "; SIGHUP changes it" : ""
        return ArgumentHelp(
            "\(meaning)",
            discussion: "Default: \(defaultValue); \(range.lowerBound) to \(range.upperBound)\(reload).",
            valueName: unit)
    }
}
