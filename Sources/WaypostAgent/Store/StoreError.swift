import CSQLite

/// Why the state directory can't be used, with what to do about it.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// The reason.
    public enum Reason: Sendable, Hashable {
        /// Another process holds the directory's lock.
        case locked
        /// The database was written by a newer Waypost.
        case newerSchema(found: Int, supported: Int)
        /// The file is not an intact SQLite database.
        case corrupt
        /// The file is no longer where it was opened.
        case gone
        /// Everyone can write in the state directory.
        case writableByOthers
        /// The file system is full.
        case full
        /// SQLite or the operating system refused, with its own code.
        case system(code: Int32)
    }

    /// The reason.
    public let reason: Reason
    /// The file or directory.
    public let path: String
    /// What was being done and what was found.
    public let detail: String

    package init(_ reason: Reason, path: String, detail: String) {
        self.reason = reason
        self.path = path
        self.detail = detail
    }

    package init(_ error: any Error, path: String, doing what: String) {
        let database = error as? SQLiteError
        let reason: Reason =
            switch database?.primaryCode {
            case SQLITE_FULL: .full
            case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt
            default: .system(code: database?.code ?? -1)
            }
        self.init(reason, path: path, detail: "\(what): \(database?.message ?? String(describing: error))")
    }

    /// One sentence: what was being done, to what, what was found, and what to do.
    public var description: String {
        switch reason {
        case .locked:
            "\(path): another agent uses this state directory; stop it, or give this one its own with --state"
        case .newerSchema(let found, let supported):
            "\(path): schema \(found) was written by a newer Waypost (this one knows \(supported)); "
                + "nothing was touched; use the newer version, or another state directory"
        case .corrupt:
            "\(path): not an intact database (\(detail)); "
                + "start once with --fresh-state to set it aside and begin a new one"
        case .gone:
            "\(path): \(detail); nothing is acknowledged until it is back; put it back, or restart the agent"
        case .writableByOthers:
            "\(path): everyone can write in this state directory and could replace what is in it; "
                + "run chmod 700 \(path)"
        case .full:
            "\(path): no space left on the device (\(detail)); make space, and the agent goes on by itself"
        case .system(let code):
            "\(path): \(detail) (SQLite code \(code))"
        }
    }
}
