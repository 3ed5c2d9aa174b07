import FoundationEssentials
import Glibc
import Threading
import Waypost
import WaypostMessages

/// The database's file as the file system knows it.
struct StateFile: Sendable {
    let path: String
    /// What the path named when the database was opened.
    private var device: dev_t = 0
    private var inode: ino_t = 0

    /// The size to which SQLite cuts its log after each checkpoint, in bytes.
    static let usualLog = 16 << 20

    init(path: String) { self.path = path }

    /// Creates the directory for its owner alone; an existing one stays as it is.
    ///
    /// - Returns: what is to be said about its rights; nil when they are right.
    /// - Throws: ``StoreError`` `.writableByOthers` when everyone can write in it: they could replace the file.
    static func prepare(directory: String) throws(StoreError) -> String? {
        func failed(_ what: String) -> StoreError {
            StoreError(
                .system(code: errno), path: directory, detail: "\(what): \(String(cString: strerror(errno)))")
        }
        if mkdir(directory, 0o700) == 0 { return nil }
        guard errno == EEXIST else { throw failed("create the state directory") }
        var status = stat()
        guard stat(directory, &status) == 0 else { throw failed("read the rights of the state directory") }
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
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(
                .system(code: errno), path: path,
                detail: "open the state file: \(String(cString: strerror(errno)))")
        }
        fchmod(descriptor, 0o600)
        close(descriptor)
    }

    /// Bytes of the log beyond its usual size: it grows while a full disk keeps it from being written back.
    var logExcess: Int {
        var status = stat()
        guard stat(path + "-wal", &status) == 0 else { return 0 }
        return max(0, Int(status.st_size) - Self.usualLog)
    }

    /// Remembers which file the database is in.
    mutating func opened() {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        (device, inode) = (status.st_dev, status.st_ino)
    }

    /// Throws when the path no longer names the open file: what is written to it then would be lost.
    func checkPlace() throws(StoreError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw StoreError(
                .gone, path: path, detail: "find the state file again: \(String(cString: strerror(errno)))")
        }
        guard status.st_ino == inode, status.st_dev == device else {
            throw StoreError(.gone, path: path, detail: "another file lies in its place")
        }
    }

    /// Sets the database aside under a name with the time in it, with what SQLite keeps beside it.
    ///
    /// - Returns: the new name.
    func setAside(at time: time_t) throws(StoreError) -> String {
        let target = "\(path).damaged-\(Timestamp.compact(Int64(time) * 1_000))"
        // The log first: a database without it is older, a log beside a new database would be mistaken for its own.
        for suffix in ["-wal", "-shm", ""]
        where rename(path + suffix, target + suffix) != 0 && errno != ENOENT {
            throw StoreError(
                .system(code: errno), path: path + suffix,
                detail: "set it aside as \(target)\(suffix): \(String(cString: strerror(errno)))")
        }
        return target
    }
}

/// The lock that keeps two agents from one state directory; the kernel drops it when the process ends, however.
final class StateLock: Sendable {
    /// Two seconds in all.
    private static let attempts = 40
    /// In microseconds.
    private static let pause: UInt32 = 50_000

    private let descriptor: Guarded<Int32?>

    /// - Throws: ``StoreError`` `.locked` when another process holds it.
    init(path: String) throws(StoreError) {
        let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard opened >= 0 else {
            throw StoreError(
                .system(code: errno), path: path,
                detail: "open the lock file: \(String(cString: strerror(errno)))")
        }
        // For a moment another process may hold it that is no agent: an agent that was just killed may not be gone
        // yet, nor a child of its between its fork and its exec, which still has its descriptors.
        var attempts = 0
        while flock(opened, LOCK_EX | LOCK_NB) != 0 {
            attempts += 1
            guard attempts == Self.attempts else {
                usleep(Self.pause)
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
