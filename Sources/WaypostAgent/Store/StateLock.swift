import Glibc

/// The lock that keeps two agents from one state directory; the kernel drops it when the process ends, however.
struct StateLock: ~Copyable {
    private let descriptor: Int32

    /// - Throws: ``StoreError`` `.locked` when another process holds it.
    init(path: String) throws(StoreError) {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(
                .system(code: errno), path: path,
                detail: "open the lock file: \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw StoreError(.locked, path: path, detail: "")
        }
    }

    deinit { close(descriptor) }
}
