import Glibc
import Waypost

/// Where an agent keeps the data that must survive a restart.
enum StateDirectory {
    /// The directory that was chosen, else systemd's `$STATE_DIRECTORY`, else one of the agent's name in the user's state
    /// home.
    ///
    /// - Throws: ``CommandError`` 64 where there is none of them.
    static func standard(
        agent: String, chosen: String?, environment: [String: String]
    ) throws(CommandError) -> String {
        if let chosen { return try UserFolder.fromHere(chosen) }
        // systemd lists several directories with colons; the first is ours.
        if let given = environment["STATE_DIRECTORY"]?.utf8.split(separator: UInt8(ascii: ":")).first {
            guard given.first == UInt8(ascii: "/") else {
                throw CommandError(
                    .usage,
                    "STATE_DIRECTORY \(String(Substring(given)).quoted) must begin with /; use --state DIRECTORY"
                )
            }
            return String(Substring(given))
        }
        guard let home = UserFolder.state(environment) else {
            throw CommandError(
                .usage,
                "there is no place for the data of agent \(agent): HOME is not set, and this account has no home; "
                    + "use --state DIRECTORY")
        }
        return "\(home)/waypost/\(agent)"
    }

    /// Makes the directory and those above it, for us alone.
    static func create(_ path: String) throws(CommandError) {
        let error = UserFolder.make(path)
        guard error == 0 else {
            throw CommandError(
                .failed,
                "create the state directory \(path): \(Descriptor.text(of: error)); choose another with --state"
            )
        }
        guard access(path, W_OK | X_OK) == 0 else {
            throw CommandError(
                .failed, "state directory \(path): \(Descriptor.text(of: errno)); choose another with --state"
            )
        }
    }
}
