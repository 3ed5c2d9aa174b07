import Glibc
import Waypost

/// Where the files of the user who runs the program are (XDG Base Directory): never relative to where one stands.
enum UserFolder {
    /// What must survive a restart: `$XDG_STATE_HOME`, else `~/.local/state`.
    static func state(_ environment: [String: String]) -> String? {
        place("XDG_STATE_HOME", environment, orInHome: ".local/state")
    }

    /// What the user has set up: `$XDG_CONFIG_HOME`, else `~/.config`.
    static func config(_ environment: [String: String]) -> String? {
        place("XDG_CONFIG_HOME", environment, orInHome: ".config")
    }

    /// What lasts no longer than programs run: `$XDG_RUNTIME_DIR`; nil without one.
    static func runtime(_ environment: [String: String]) -> String? {
        absolute(environment["XDG_RUNTIME_DIR"])
    }

    private static func place(
        _ variable: String, _ environment: [String: String], orInHome folder: String
    ) -> String? {
        absolute(environment[variable])
            ?? (absolute(environment["HOME"]) ?? accountHome).map { ($0 == "/" ? "" : $0) + "/" + folder }
    }

    /// A path that says where it begins; the standard has others passed over.
    private static func absolute(_ path: String?) -> String? { path.flatMap { $0.hasPrefix("/") ? $0 : nil } }

    /// The home of the account, where there is such a folder: many services have an account with none.
    private static var accountHome: String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found) == 0, found != nil,
            let text = entry.pw_dir.map({ String(cString: $0) }), let home = absolute(text)
        else { return nil }
        var status = stat()
        return stat(home, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR ? home : nil
    }

    /// A path that is one wherever one stands later: one that is relative begins at `folder`.
    static func absolute(_ path: String, in folder: String) -> String {
        path.hasPrefix("/") ? path : folder == "/" ? "/\(path)" : "\(folder)/\(path)"
    }

    /// A path that is one wherever one stands later: one that is relative begins where one stands.
    ///
    /// - Throws: ``CommandError`` 64 where that folder is no longer there, so that it begins nowhere.
    static func fromHere(_ path: String) throws(CommandError) -> String {
        guard !path.hasPrefix("/") else { return path }
        guard let folder = getcwd(nil, 0) else {
            throw CommandError(
                .usage,
                "\(path.quoted): the current folder: \(Descriptor.text(of: errno)); use a path that begins with /"
            )
        }
        defer { free(folder) }
        return absolute(path, in: String(cString: folder))
    }

    /// What lasts as long as one program: `$TMPDIR`, else `/tmp`.
    static func temporary(_ environment: [String: String]) -> String {
        absolute(environment["TMPDIR"]) ?? "/tmp"
    }

    /// Makes a folder and those above it that are missing, for the user alone.
    ///
    /// - Returns: 0, or the `errno` of what failed.
    static func make(_ path: String) -> Int32 {
        if mkdir(path, 0o700) == 0 { return 0 }
        var error = errno
        if error == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            let above = make(String(path[..<slash]))
            guard above == 0 else { return above }
            error = mkdir(path, 0o700) == 0 ? 0 : errno
        }
        guard error == EEXIST else { return error }
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR ? 0 : ENOTDIR
    }
}
