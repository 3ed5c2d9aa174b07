import ArgumentParser
import Waypost

/// The names that a configuration file may have: those of all settings, of any command.
///
/// One file serves `waypost agent` and, say, `waypost doctor`, which knows only some of them.
struct SettingNames {
    /// All of them; read from the options, so that a new one need not be told here, and the password, which is none.
    static let all: [String] =
        Set(
            ["password"] + ((try? AgentOptions.parse([]))?.given.keys.map(\.self) ?? [])
                + ((try? BrokerOptions.parse([]))?.given.keys.map(\.self) ?? [])
        ).sorted()

    /// Checks what stands at the top of a file.
    ///
    /// - Throws: ``Complaint`` 64 naming the first name that is none, its line, and the nearest that is one.
    static func check(_ bytes: [UInt8], of file: String) throws(Complaint) {
        for (name, line) in names(in: bytes) where !all.contains(name) {
            let nearest = NearestNames.find(name, among: all, limit: 1).first
            let place = line.map { ", line \($0)" } ?? ""
            throw Complaint(
                .usage,
                "configuration file \(file)\(place): there is no setting \(name.debugDescription)"
                    + (nearest.map { "; is \($0) meant?" } ?? "; see: waypost agent --help"))
        }
    }

    /// Whether the file holds a password itself.
    static func hasPassword(_ bytes: [UInt8]) -> Bool { names(in: bytes).contains { $0.name == "password" } }

    /// The names at the top of a JSON object or a YAML mapping, with their lines where they have any.
    ///
    /// Settings are flat, so of YAML only what begins a line is of interest.
    private static func names(in bytes: [UInt8]) -> [(name: String, line: Int?)] {
        if let json = try? JSONValue(parsing: bytes, limits: .trustedFile), let members = json.objectValue {
            return members.keys.sorted().map { ($0, nil) }
        }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return lines.enumerated().compactMap { index, line in
            let text = String(decoding: line, as: UTF8.self)
            guard let first = text.first, first.isLetter || first == "\"" || first == "'",
                let colon = text.firstIndex(of: ":")
            else { return nil }
            let after = text[text.index(after: colon)...].first
            guard after == nil || after?.isWhitespace == true else { return nil }
            return (text[..<colon].filter { $0 != "\"" && $0 != "'" && !$0.isWhitespace }, index + 1)
        }
    }
}
