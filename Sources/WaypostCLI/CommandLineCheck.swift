import ArgumentParser
import Threading
import Waypost
import WaypostMessages

/// What is wrong with a command line beyond what its parser says, or better said.
struct CommandLineCheck {
    /// The words behind the program's name.
    let words: [String]

    /// A command that does not exist, or an option for one value that is given twice; nil when all is well.
    func fault() -> String? {
        guard let name = words.first, !name.hasPrefix("-") else { return nil }
        guard Self.commands.contains(name) else {
            let near = NearestNames.find(name, among: Self.commands, limit: 1, slips: 2)
            return "there is no command \(name)\(NearestNames.question(near)) (see waypost --help)"
        }
        if name == "help", let topic = words.dropFirst().first, !topic.hasPrefix("-") {
            let topics = WaypostCommand.configuration.subcommands.compactMap { $0.configuration.commandName }
            guard !(topics + ["help"]).contains(topic) else { return nil }
            let near = NearestNames.find(topic, among: topics, limit: 1, slips: 2)
            return "there is no help on \(topic)\(NearestNames.question(near)) (see waypost --help)"
        }
        if let fault = Self.fault(inFamily: name, words.dropFirst().first) { return fault }
        let long = words.filter { $0.hasPrefix("--") }.map(CommandOption.name)
        // Reading all about the options takes a while, so only when it may be needed.
        guard Set(long).count < long.count else { return nil }
        let options = Self.options(of: [name])
        var seen: Set<String> = []
        var rest = words.dropFirst()[...]
        while let word = rest.popFirst(), word != "--" {
            guard let option = options[CommandOption.name(word)], option.takesValue else { continue }
            if !word.contains("=") { _ = rest.popFirst() }
            guard option.isRepeating || seen.insert(CommandOption.name(word)).inserted else {
                return "\(CommandOption.name(word)) is given twice; it takes one value"
            }
        }
        return nil
    }

    /// An option that the command does not have, which the parser names only when nothing else is missing.
    func unknownOption() -> String? {
        guard let name = words.first, Self.commands.contains(name) else { return nil }
        return CommandOption.unknown(
            in: words.dropFirst(), Self.options(of: [name]),
            of: (["waypost"] + Self.verb(of: words)).joined(separator: " "))
    }

    /// The command that words begin with, and the member of a family that it is: `map sign`; empty where an option stands first.
    static func verb(of words: [String]) -> [String] {
        guard let name = words.first, !name.hasPrefix("-") else { return [] }
        return [name] + members(of: name).filter { $0 == words.dropFirst().first }
    }

    /// The second word of a family of commands, such as `profile add`, must be one of its members.
    private static func fault(inFamily name: String, _ word: String?) -> String? {
        let members = members(of: name)
        guard let word, !word.hasPrefix("-"), !members.isEmpty, !members.contains(word), word != "help" else {
            return nil
        }
        let near = NearestNames.find(word, among: members, limit: 1, slips: 2)
        return "there is no command \(name) \(word)\(NearestNames.question(near)) "
            + "(see waypost \(name) --help)"
    }

    /// The second words of a family of commands; empty for a command that is none.
    private static func members(of name: String) -> [String] {
        (types.first { $0.configuration.commandName == name }?.configuration.subcommands ?? [])
            .compactMap { $0.configuration.commandName }
    }

    private static var types: [any ParsableCommand.Type] {
        WaypostCommand.configuration.groupedSubcommands.flatMap(\.subcommands)
    }

    /// Whether a command of this name, or a member of it, has the options of the broker.
    static func reachesBroker(_ name: String) -> Bool {
        let command = types.first { $0.configuration.commandName == name }
        return [command].compactMap(\.self).flatMap { [$0] + $0.configuration.subcommands }.contains { type in
            Mirror(reflecting: type.init()).children.contains {
                $0.value is OptionGroup<SessionOptions> || $0.value is OptionGroup<BrokerOptions>
            }
        }
    }

    private static var commands: [String] { types.compactMap { $0.configuration.commandName } + ["help"] }

    /// Whether any command has this option.
    static func hasOption(_ name: String) -> Bool {
        commands.contains { options(of: [$0])[name] != nil }
    }

    /// Those of the commands that were asked about: to find them takes a while.
    private static let known = Guarded<[[String]: [String: CommandOption]]>([:])

    /// The options of a ``verb(of:)`` by their long names, `--help` among them; of a family alone those of all members.
    static func options(of verb: [String]) -> [String: CommandOption] {
        if let options = known.withLock({ $0[verb] }) { return options }
        // Not of all commands at once, which takes a while.
        let type = verb.reduce(nil) { family, name in
            (family?.configuration.subcommands ?? types).first { $0.configuration.commandName == name }
        }
        let options = type.map(CommandOption.all) ?? [:]
        known.withLock { $0[verb] = options }
        return options
    }
}
