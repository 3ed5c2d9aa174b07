import CSQLite
import Glibc
package import WaypostMessages

/// Why the state directory can't be used, with what to do about it.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// The reason.
    public enum Reason: Sendable, Hashable {
        /// Another process holds the directory's lock.
        case locked
        /// The database was written by a newer Waypost.
        case newerSchema(found: Int, supported: Int)
        /// The database was written by a build from before the first release; `supported` is the oldest that is read.
        case olderSchema(found: Int, supported: Int)
        /// The file is not an intact SQLite database.
        case corrupt
        /// The file is missing, empty, older than what was stored, or of another directory.
        case lost
        /// Something else lies in the place of a file: another program's database, a directory, a link.
        case foreign
        /// Another program has the database open.
        case busy
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

    init(_ reason: Reason, path: String, detail: String) {
        self.reason = reason
        self.path = path
        self.detail = detail
    }

    init(_ error: any Error, path: String, doing what: String) {
        let database = error as? SQLiteError
        let reason: Reason =
            switch database?.primaryCode {
            case SQLITE_FULL: .full
            case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt
            case SQLITE_BUSY: .busy
            default: .system(code: database?.code ?? -1)
            }
        let text = database.map { "\($0.message) (SQLite code \($0.code))" } ?? String(describing: error)
        self.init(reason, path: path, detail: "\(what): \(text)")
    }

    /// What the operating system has just refused, with its text, and what to do where that is known.
    static func system(_ doing: String, _ path: String) -> StoreError {
        let code = errno
        let advice =
            switch code {
            case EACCES, EPERM:
                "; give the directory and all in it to the agent's user: chown -R USER DIRECTORY"
            case EROFS:
                "; mount the file system so that it can be written, or choose another directory"
            case ELOOP: "; symbolic links are not followed here: remove it"
            default: ""
            }
        return StoreError(
            code == ENOSPC || code == EDQUOT ? .full : .system(code: code), path: path,
            detail: "\(doing): \(String(cString: strerror(code)))\(advice)")
    }

    /// The check of the structure found something that can't be put right.
    static func damaged(_ path: String, _ found: String) -> StoreError {
        StoreError(.corrupt, path: path, detail: "check the state file: \(found)")
    }

    /// Whether the state can't be gone on with, so that a new one may be begun with `--fresh-state`.
    var isLoss: Bool {
        switch reason {
        case .corrupt, .lost, .olderSchema: true
        default: false
        }
    }

    /// Whether it stays as it is until a person mends it: trying again does not help.
    public var needsPerson: Bool {
        switch reason {
        case .corrupt, .lost, .olderSchema, .newerSchema, .foreign, .writableByOthers: true
        case .locked, .busy, .gone, .full, .system: false
        }
    }

    /// One sentence: what was being done, to what, what was found, and what to do.
    public var description: String { wording.library }

    /// The description, worded for the library and for the command line.
    package var wording: Wording {
        let other: Wording = "\(library: "stateDirectory", shell: "--state")"
        let fresh: Wording = "\(library: "freshState", shell: "--fresh-state")"
        return switch reason {
        case .locked:
            "\(path): another agent uses this state directory; stop it, or give this one its own with \(other)"
        case .newerSchema(let found, let supported):
            "\(path): schema \(found) was written by a newer Waypost (this one knows \(supported)); "
                + "nothing was changed; use the newer version, or another state directory"
        case .olderSchema(_, let supported):
            "\(path): \(detail) (this one reads \(supported) and newer); nothing was changed; start once with "
                + "\(fresh) to rename it and start with a new one"
        case .corrupt:
            "\(path): not an intact database (\(detail)); "
                + "start once with \(fresh) to rename it and start with a new one"
        case .lost:
            "\(path): \(detail). Commands that had run would run again, and older maps would be accepted; restore "
                + "the newest waypost.sqlite and waypost.sqlite-wal, or start once with \(fresh) to "
                + "accept that, rename what is left, and start with a new one"
        case .foreign:
            "\(path): \(detail); nothing was changed; move it away, or give the agent another directory with \(other)"
        case .busy:
            "\(path): another program has the state file open (\(detail)); end it, or give this agent its own "
                + "directory with \(other)"
        case .gone:
            "\(path): \(detail); nothing is acknowledged until it is back; restore it, or restart the agent"
        case .writableByOthers:
            "\(path): everyone can write in this state directory and could replace what is in it; "
                + "run chmod 700 \(path)"
        case .full:
            "\(path): no space left on the device (\(detail)); free some space; the agent then continues by itself"
        case .system: "\(path): \(detail)"
        }
    }
}
