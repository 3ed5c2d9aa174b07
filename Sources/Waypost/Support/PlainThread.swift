#if canImport(Glibc)
import Glibc

/// A thread of our own, which ends when its work does.
package final class PlainThread: Sendable {
    private let name: String
    private let body: @Sendable () -> Void

    private init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }

    /// Starts a thread; false when the system has none.
    ///
    /// Signals are for the host's threads, except those of faults, so that crash reporters see them.
    package static func start(name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF] {
            sigdelset(&blocked, fault)
        }
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        let thread = Unmanaged.passRetained(PlainThread(name, body))
        var id = pthread_t()
        let code = pthread_create(
            &id, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<PlainThread>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, thread.toOpaque())
        guard code == 0 else {
            thread.release()
            return false
        }
        pthread_detach(id)
        return true
    }

    private func run() {
        // The name that `ps -L` shows.
        let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        if file >= 0 {
            _ = write(file, name, name.utf8.count)
            close(file)
        }
        body()
    }
}
#endif
