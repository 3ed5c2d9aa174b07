import Waypost
import WaypostAgent

/// The names that a configuration file may have: those of all settings, of any command.
///
/// One file serves `waypost agent` and, say, `waypost doctor`, which knows only some of them.
struct SettingNames {
    /// All of them, so that a new one needs no line here: those of the table, and the password and the sender, which are
    /// not of it.
    static let all: [String] = (["password", "as"] + AgentSetting.all.map(\.name)).sorted()

    /// Those whose values are never shown: a proxy's may have a password in it.
    static let secrets: Set = ["password", "proxy"]

    /// Those that are a path, and whether an id and `=` may stand before it.
    static let paths: [String: Bool] = AgentSetting.all.reduce(into: [:]) { paths, setting in
        switch setting.kind {
        case .file, .directory: paths[setting.name] = false
        case .list(let form) where form.hasSuffix("file"): paths[setting.name] = true
        default: break
        }
    }

    /// Checks a name in a file.
    ///
    /// - Parameter place: the file and the line, to begin the error with.
    /// - Throws: ``CommandError`` 64 naming the place, the name and the nearest that is one.
    static func check(_ name: String, at place: String) throws(CommandError) {
        guard !all.contains(name) else { return }
        let nearest = NearestNames.find(name, among: all, limit: 1).first
        throw CommandError(
            .usage,
            "\(place): there is no setting \(name.debugDescription)"
                + (nearest.map { "; did you mean \($0)?" } ?? "; see: waypost agent --help"))
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
}
