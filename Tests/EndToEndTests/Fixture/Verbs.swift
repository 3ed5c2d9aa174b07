import ArgumentParser

@testable import WaypostCLI

/// All that `waypost` can be told to do, read from the commands themselves.
enum Verbs {
    /// The words of each: `["open"]`, `["profile", "add"]`.
    static let all = words(of: WaypostCommand.self, [])
    /// The first words, each once, in the order of the help.
    static let families = visible(WaypostCommand.self).map(name)

    /// Whatever stands behind a word, families and pages of the help too.
    static let types = types(of: WaypostCommand.self)

    private static func types(of type: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        [type] + type.configuration.subcommands.flatMap { types(of: $0) }
    }

    private static func words(of type: any ParsableCommand.Type, _ before: [String]) -> [[String]] {
        let members = visible(type)
        guard !members.isEmpty else { return [before] }
        return members.flatMap { words(of: $0, before + [name($0)]) }
    }

    /// Without the pages that only the help has.
    private static func visible(_ type: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        type.configuration.subcommands.filter { $0.configuration.shouldDisplay }
    }

    private static func name(_ type: any ParsableCommand.Type) -> String {
        type.configuration.commandName ?? ""
    }
}
