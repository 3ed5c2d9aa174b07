import FoundationEssentials
import Glibc

/// Where an agent keeps the data that must survive a restart.
enum StateDirectory {
    /// systemd's `$STATE_DIRECTORY`, else a directory of the agent's name in the user's state home.
    static func standard(agent: String, environment: [String: String]) -> String {
        // systemd lists several directories with colons; the first is ours.
        if let given = environment["STATE_DIRECTORY"]?.split(separator: ":").first { return String(given) }
        let home =
            environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? "\(environment["HOME"] ?? ".")/.local/state"
        return "\(home)/waypost/\(agent)"
    }

    /// Makes the directory and those above it, for us alone.
    static func create(_ path: String) throws(CommandError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandError(.failed, "create the state directory \(path): \(error)")
        }
        guard access(path, W_OK | X_OK) == 0 else {
            throw CommandError(
                .failed,
                "state directory \(path): \(String(cString: strerror(errno))); choose another with --state")
        }
    }
}
