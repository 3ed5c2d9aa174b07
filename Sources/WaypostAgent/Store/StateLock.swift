import Glibc
import Waypost

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
        // For a moment another process may hold it that is no agent: a child between its fork and its exec still
        // has our descriptors, and an agent that was just killed may not be gone yet.
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
        if let held { close(held) }
    }
}
