import Glibc

/// Shows whether a file has changed: one of these differs after it was written or replaced.
package struct FileMark: Sendable, Equatable {
    private var node: UInt64
    private var size: Int64
    private var seconds: Int64
    private var nanoseconds: Int64

    /// The mark of a file of which only so much is known; for tests that play a disk.
    package init(number: UInt64) { (node, size, seconds, nanoseconds) = (number, 0, 0, 0) }

    /// Nil when there is no such file.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        node = UInt64(status.st_ino)
        size = Int64(status.st_size)
        seconds = Int64(status.st_mtim.tv_sec)
        nanoseconds = Int64(status.st_mtim.tv_nsec)
    }
}
