import Waypost
import WaypostBackend

/// A line of the shell that does the same as a button of the page.
struct CommandLineText: Sendable {
    private(set) var text: String

    /// - Parameter words: The command's words; they are quoted where the shell needs it.
    init(_ words: [String], broker: BackendConfiguration) {
        var words = ["waypost"] + words
        let isUsual = broker.place == "mqtt://127.0.0.1:1883"
        if !isUsual { words += broker.brokers.flatMap { ["--broker", $0.description] } }
        if broker.root != "waypost/v1" { words += ["--root", broker.root] }
        if let user = broker.credentials?.username { words += ["--username", user] }
        words += ["--as", broker.name]
        text = words.map(Self.quoted).joined(separator: " ")
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
