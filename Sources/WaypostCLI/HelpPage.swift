import ArgumentParser

/// A page of the help as it is printed: the parser's, with a short usage, and with the pages of what commands share.
struct HelpPage {
    /// A longer usage is no help.
    private static let longestUsage = 80

    let text: String

    /// - Parameters:
    ///   - page: as the parser writes it.
    ///   - words: the command line.
    init(_ page: String, words: [String]) {
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix("USAGE: ") && line.count > Self.longestUsage ? Self.short(line) : String(line)
        }
        text = lines.joined(separator: "\n") + Self.footer(words)
    }

    /// The usage without the names of all options: `waypost bench [<options>] --agent <id>`.
    private static func short(_ usage: Substring) -> String {
        var parts = usage.split(separator: " [-").map(String.init)
        // What stands behind the brackets of an option is none, or one that must be there.
        for index in parts.indices.dropFirst() {
            let rest = parts[index].split(separator: "] ", maxSplits: 1)
            parts[index] = rest.count == 2 ? " \(rest[1])" : ""
        }
        let words = usage.split(separator: " ").prefix { word in
            !["[", "<", "-"].contains { word.hasPrefix($0) }
        }
        let command = words.joined(separator: " ")
        return command + " [<options>]" + parts.joined().dropFirst(command.count)
    }

    /// Where the options are that the command shares with others; empty where it shares none.
    private static func footer(_ words: [String]) -> String {
        let isPage = words.first == "help"
        let command = (isPage ? words.dropFirst() : words[...]).first ?? ""
        // A family that keeps such options shows them itself.
        guard isPage || words.contains("--help") || words.contains("-h"), command != "profile",
            CommandLineCheck.reachesBroker(command)
        else { return "" }
        return command == AgentCommand.configuration.commandName
            ? "\n  Broker, user name, TLS: waypost help broker\n  Limits and times: waypost help limits"
            : "\n  Broker, user name, TLS, --as, signing: waypost help broker"
    }
}
