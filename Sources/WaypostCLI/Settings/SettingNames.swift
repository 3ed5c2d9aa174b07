import ArgumentParser
import Waypost
import WaypostAgent

/// The names that a configuration file may have: those of all settings, of any command.
///
/// One file serves `waypost agent` and, say, `waypost doctor`, which knows only some of them.
struct SettingNames {
    /// All of them; read from the options, so that a new one needs no line here, and the password, which is not an option.
    static let all: [String] =
        Set(
            ["password", "as"] + AgentSetting.all.map(\.name)
                + ((try? AgentOptions.parse([]))?.given.keys.map(\.self) ?? [])
                + ((try? BrokerOptions.parse([]))?.given.keys.map(\.self) ?? [])
        ).sorted()

    /// Checks the names in a file.
    ///
    /// - Throws: ``CommandError`` 64 naming the first name that is none, its line, and the nearest that is one.
    static func check(_ bytes: [UInt8], of file: String) throws(CommandError) {
        for name in names(in: bytes) {
            let place = "configuration file \(file)" + (name.line.map { ", line \($0)" } ?? "")
            guard !name.isNested else {
                // It would not be read, and the default would hold without a notice.
                throw CommandError(
                    .usage, "\(place): \(name.text) is below another name; settings are not nested")
            }
            guard !all.contains(name.text) else { continue }
            let nearest = NearestNames.find(name.text, among: all, limit: 1).first
            throw CommandError(
                .usage,
                "\(place): there is no setting \(name.text.debugDescription)"
                    + (nearest.map { "; did you mean \($0)?" } ?? "; see: waypost agent --help"))
        }
    }

    /// The variables that look like a misspelt setting, each with the one that may be meant.
    ///
    /// Others that begin with `WAYPOST_` may have another purpose.
    ///
    /// - Parameter isOption: whether a command has an option of this name, which may be set in the environment too.
    static func typos(
        in environment: some Sequence<String>, isOption: (String) -> Bool
    ) -> [(variable: String, meant: String)] {
        environment.sorted().compactMap { variable in
            guard let name = name(of: variable), name != "config", name != "profile", !all.contains(name)
            else {
                return nil
            }
            let near = NearestNames.find(name, among: all, limit: 1, slips: name.utf8.count < 6 ? 1 : 2)
            guard let meant = near.first, !isOption(name) else { return nil }
            return (variable, self.variable(of: meant))
        }
    }

    /// The name of the setting or the option that a variable of the environment sets; nil for all other variables.
    static func name(of variable: String) -> String? {
        guard variable.hasPrefix("WAYPOST_"), variable.utf8.count > 8 else { return nil }
        return variable.dropFirst(8).lowercased().replacing("_", with: "-")
    }

    /// The environment's variable of a setting.
    static func variable(of name: String) -> String {
        "WAYPOST_" + name.uppercased().replacing("-", with: "_")
    }

    /// Whether the file holds a password itself.
    static func hasPassword(_ bytes: [UInt8]) -> Bool { names(in: bytes).contains { $0.text == "password" } }

    private struct FoundName {
        var text: String
        /// Nil in JSON.
        var line: Int?
        var isNested = false
    }

    /// The names in a JSON object or a YAML mapping.
    ///
    /// Settings are flat texts, numbers and lists of texts, so of YAML only how a line begins is of interest.
    private static func names(in bytes: [UInt8]) -> [FoundName] {
        if let json = try? JSONValue(parsing: bytes, limits: .trustedFile), let members = json.objectValue {
            return members.sorted { $0.key < $1.key }.flatMap { name, value in
                [FoundName(text: name)]
                    + (value.objectValue?.keys.sorted().map { FoundName(text: $0, isNested: true) } ?? [])
            }
        }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return lines.enumerated().compactMap { index, line in
            let text = String(decoding: line, as: UTF8.self)
            let rest = text.drop { $0 == " " }
            guard let first = rest.first, first.isLetter || first == "\"" || first == "'",
                let colon = rest.firstIndex(of: ":")
            else { return nil }
            let after = rest[rest.index(after: colon)...].first
            guard after == nil || after?.isWhitespace == true else { return nil }
            let name = rest[..<colon].filter { $0 != "\"" && $0 != "'" && !$0.isWhitespace }
            return FoundName(text: name, line: index + 1, isNested: rest.startIndex != text.startIndex)
        }
    }
}
