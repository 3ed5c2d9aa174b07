import CFilePlace
import FoundationEssentials
import Glibc
import Threading
import Waypost
import WaypostMessages

/// The database's file as the file system knows it.
struct StateFile: Sendable {
    /// What can lie in the place of a file.
    enum Kind: String, Sendable {
        case file = "a file"
        case directory = "a directory"
        case link = "a symbolic link"
        case pipe = "a named pipe"
        case socket = "a socket"
        case device = "a device"
    }

    /// What a path named when the database was opened.
    private struct Place: Sendable, Equatable {
        private var device: UInt64 = 0
        private var inode: UInt64 = 0

        /// Nil when nothing lies there.
        init?(_ path: String) {
            guard waypost_file_place(path, &device, &inode) == 0 else { return nil }
        }
    }

    let path: String
    /// The database and its log; what is written to one of them that lies there no more is lost.
    private var places: [(path: String, place: Place)] = []

    /// The size to which SQLite cuts its log after each checkpoint, in bytes.
    static let usualLog = 16 << 20

    init(path: String) { self.path = path }

    /// Creates the directory for its owner alone; an existing one stays as it is.
    ///
    /// - Returns: what to say about its rights; nil when they are right.
    /// - Throws: ``StoreError`` `.writableByOthers` when everyone can write in it: they could replace the file.
    static func prepare(directory: String) throws(StoreError) -> String? {
        if mkdir(directory, 0o700) == 0 {
            // Its name must be as durable as what will be acknowledged.
            try flush(directory: "\(directory)/..")
            return nil
        }
        guard errno == EEXIST else { throw .system("create the state directory", directory) }
        var status = stat()
        guard stat(directory, &status) == 0 else {
            throw .system("read the rights of the state directory", directory)
        }
        guard status.st_mode & S_IWOTH == 0 else {
            throw StoreError(.writableByOthers, path: directory, detail: "")
        }
        let mode = String(status.st_mode & 0o777, radix: 8)
        return status.st_mode & 0o077 == 0
            ? nil
            : "other users have rights on the state directory (mode \(mode)); run chmod 700 \(directory)"
    }

    /// Creates the file for its owner alone, before SQLite does; its log and index take the rights of the file.
    func keepPrivate() throws(StoreError) {
        for suffix in ["-wal", "-shm"] { chmod(path + suffix, 0o600) }
        let descriptor = try Self.openFile(path, O_RDWR | O_CREAT, "open the state file")
        fchmod(descriptor, 0o600)
        close(descriptor)
    }

    /// Opens a file for its owner alone; never another one that a link names, and without waiting for a pipe's reader.
    static func openFile(_ path: String, _ access: Int32, _ what: String) throws(StoreError) -> Int32 {
        let descriptor = open(path, access | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system(what, path) }
        return descriptor
    }

    /// What lies there, links not followed; nil when nothing does.
    static func kind(of path: String) throws(StoreError) -> Kind? {
        guard let status = try status(of: path) else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .file
        case S_IFDIR: return .directory
        case S_IFLNK: return .link
        case S_IFIFO: return .pipe
        case S_IFSOCK: return .socket
        default: return .device
        }
    }

    /// How many bytes the file has; nil when there is none.
    static func size(of path: String) throws(StoreError) -> Int? {
        try status(of: path).map { Int($0.st_size) }
    }

    private static func status(of path: String) throws(StoreError) -> stat? {
        var status = stat()
        if lstat(path, &status) == 0 { return status }
        guard errno == ENOENT else { throw .system("look at the file", path) }
        return nil
    }

    /// Makes the names in a directory durable, where that is possible: not every file system flushes a directory, and
    /// a directory in which one may write need not be one that one may read.
    static func flush(directory: String) throws(StoreError) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else {
            throw .system("flush the directory", directory)
        }
    }

    /// Bytes of the log beyond its usual size: it grows while a full disk keeps it from being written back.
    var logExcess: Int {
        var status = stat()
        guard stat(path + "-wal", &status) == 0 else { return 0 }
        return max(0, Int(status.st_size) - Self.usualLog)
    }

    /// Remembers in which files the database is; called when there is a log.
    mutating func opened() {
        places = [path, path + "-wal"].compactMap { path in Place(path).map { (path, $0) } }
    }

    /// Throws when a path no longer names the open file: what is written to it then would be lost.
    func checkPlaces() throws(StoreError) {
        for (path, place) in places {
            guard let found = Place(path) else {
                throw StoreError(
                    .gone, path: path, detail: "find the file again: \(String(cString: strerror(errno)))")
            }
            guard found == place else {
                throw StoreError(.gone, path: path, detail: "another file is in its place")
            }
        }
    }

    /// Sets the database aside under a name with the time in it, with what SQLite keeps beside it.
    ///
    /// - Returns: the new name.
    func setAside(at time: Int64) throws(StoreError) -> String {
        let target = "\(path).damaged-\(Timestamp.compact(time))"
        // The log first: a database without it is older, a log beside a new database would be mistaken for its own.
        for suffix in StateContinuity.suffixes.reversed()
        where rename(path + suffix, target + suffix) != 0 && errno != ENOENT {
            throw .system("rename it to \(target)\(suffix)", path + suffix)
        }
        return target
    }
}

/// The lock that keeps two agents from one state directory; the kernel drops it when the process ends, however.
final class StateLock: Sendable {
    /// Its name in the state directory.
    static let fileName = "lock"
    /// Two seconds in all.
    private static let attempts = 40
    private static let pause = Duration.milliseconds(50)

    private let descriptor: Guarded<Int32?>

    /// - Throws: ``StoreError`` `.locked` when another process holds it.
    init(path: String) throws(StoreError) {
        let opened = try StateFile.openFile(path, O_RDWR | O_CREAT, "open the lock file")
        // For a moment another process may hold it that is no agent: an agent that was just killed may not be gone
        // yet, nor a child of its between its fork and its exec, which still has its descriptors.
        var attempts = 0
        while flock(opened, LOCK_EX | LOCK_NB) != 0 {
            attempts += 1
            guard attempts == Self.attempts else {
                CurrentThread.sleep(for: Self.pause)
                continue
            }
            close(opened)
            throw StoreError(.locked, path: path, detail: "")
        }
        descriptor = Guarded(opened)
    }

    deinit { release() }

    /// Lets another agent have the directory.
    func release() {
        let held = descriptor.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
        guard let held else { return }
        // Closing alone would leave it to a child that is between its fork and its exec.
        _ = flock(held, LOCK_UN)
        close(held)
    }
}
