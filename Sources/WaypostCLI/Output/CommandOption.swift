import ArgumentParser
import Waypost

/// An option of a command, by what the parser tells of it.
struct CommandOption {
    var takesValue: Bool
    var isRepeating: Bool
    /// As they stand on a command line, short ones too.
    var names: Set<String> = []

    /// The long name that begins a word such as `--wait=1m`.
    static func name(_ word: String) -> String { String(word.prefix { $0 != "=" }) }

    /// The options of a command by their long names, `--help` among them; of a family of commands those of all members.
    static func all(of type: any ParsableCommand.Type) -> [String: CommandOption] {
        let help = try? JSONValue(parsing: Array(type._dumpHelp().utf8), limits: .trustedFile)
        let named = [help?["command"]].compactMap(\.self)
        let arguments = (named + named.flatMap { $0["subcommands"]?.arrayValue ?? [] }).flatMap {
            $0["arguments"]?.arrayValue ?? []
        }
        var options: [String: CommandOption] = [:]
        for argument in arguments {
            let names = (argument["names"]?.arrayValue ?? []).compactMap { name in
                name["name"]?.stringValue.map { (name["kind"] == "long" ? "--" : "-") + $0 }
            }
            let option = CommandOption(
                takesValue: argument["kind"] == "option", isRepeating: argument["isRepeating"] == true,
                names: Set(names))
            for long in names where long.hasPrefix("--") {
                // A command's own --version goes before the flag that all of them have.
                if options[long]?.takesValue != true { options[long] = option }
            }
        }
        options["--help"] = CommandOption(takesValue: false, isRepeating: true)
        return options
    }

    /// What to say of the first option among the words that there is none of; nil when there are all.
    static func unknown(
        in words: ArraySlice<String>, _ options: [String: CommandOption], of command: String
    ) -> String? {
        var rest = words
        while let word = rest.popFirst(), word != "--" {
            guard word.hasPrefix("--") else { continue }
            let long = name(word)
            guard let option = options[long] else {
                let near = NearestNames.find(long, among: options.keys, limit: 1, slips: 2)
                return "there is no option \(long)\(NearestNames.question(near)) (see \(command) --help)"
            }
            if option.takesValue, !word.contains("=") { _ = rest.popFirst() }
        }
        return nil
    }
}
