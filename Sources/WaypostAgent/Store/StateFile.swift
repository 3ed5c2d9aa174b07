import FoundationEssentials
import Glibc
import WaypostMessages

/// The database's file as the file system knows it.
struct StateFile: Sendable {
    let path: String
    /// What the path named when the database was opened.
    private var device: dev_t = 0
    private var inode: ino_t = 0

    init(path: String) { self.path = path }

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
