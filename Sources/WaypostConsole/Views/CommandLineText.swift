import Waypost
import WaypostBackend

/// Lines of the shell that do the same as the buttons of the page.
struct CommandLineText: Sendable {
    /// What each line ends with: the broker, as the console was told to reach it, and under which name.
    private let place: [String]

    /// - Parameters:
    ///   - place: the options that name the broker.
    ///   - name: the sender's.
    init(place: [(name: String, value: String)], as name: String) {
        self.place = (place + [("as", name)]).flatMap(Self.option)
    }

    /// A value that looks like an option itself is one word with its name.
    private static func option(_ name: String, _ value: String?) -> [String] {
        guard let value else { return ["--\(name)"] }
        let isPlain = !value.isEmpty && value.utf8.first != UInt8(ascii: "-")
        return isPlain ? ["--\(name)", value] : ["--\(name)=\(value)"]
    }

    /// A line that a shell takes as it is meant, whatever the words are.
    ///
    /// - Parameters:
    ///   - verb: the verb, of one word or several.
    ///   - arguments: what the verb is about; behind `--` when one of them looks like an option.
    ///   - options: each with its value; nil for a flag.
    /// - Throws: ``ViewError`` for a word that no line of a shell can have.
    func line(
        _ verb: [String], _ arguments: [String] = [], _ options: KeyValuePairs<String, String?> = [:]
    ) throws(ViewError) -> String {
        let options = options.flatMap { Self.option($0.key, $0.value) }
        let looksLikeOptions = arguments.contains { $0.utf8.first == UInt8(ascii: "-") }
        let words =
            looksLikeOptions
            ? verb + options + place + ["--"] + arguments : verb + arguments + options + place
        for word in words where word.utf8.contains(0) {
            throw .invalid("\(word.quoted) has the character U+0000, which no command line can have")
        }
        return (["waypost"] + words).map(Self.quoted).joined(separator: " ")
    }

    /// The line with some more options behind it.
    func adding(_ options: KeyValuePairs<String, String?>, to line: String) throws(ViewError) -> String {
        let words = options.flatMap { Self.option($0.key, $0.value) }
        guard !words.isEmpty else { return line }
        for word in words where word.utf8.contains(0) {
            throw .invalid("\(word.quoted) has the character U+0000, which no command line can have")
        }
        // In front of all others, which may end with what looks like options and is none.
        let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(
            String.init)
        return (Array(parts.prefix(2)) + words.map(Self.quoted) + parts.dropFirst(2)).joined(separator: " ")
    }

    /// A word as a POSIX shell takes it.
    static func quoted(_ word: String) -> String {
        let plain = word.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || "-_./:@=,+%".utf8.contains(byte)
        }
        return plain && !word.isEmpty ? word : "'" + word.escaping { $0 == "'" ? "'\\''" : nil } + "'"
    }
}
