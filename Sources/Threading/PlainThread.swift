#if canImport(Glibc) || canImport(Musl)
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// A thread of our own.
///
/// Not a task: what runs here blocks in poll, in getaddrinfo or in a user's handler, and a blocked thread of the
/// pool is missing there.
package enum PlainThread {
    /// Starts a thread that ends by itself; returns the `errno` for why there is none, or nil.
    package static func start(name: String, _ body: @escaping @Sendable () -> Void) -> Int32? {
        final class Box {
            let name: String
            let body: @Sendable () -> Void

            init(_ name: String, _ body: @escaping @Sendable () -> Void) {
                self.name = name
                self.body = body
            }
        }

        // Signals are for the host's threads. SIGPIPE above all: libmosquitto writes to sockets with plain
        // write(2), and in a host that does not ignore it a lost broker would end the process. Faults stay
        // unblocked, so that crash reporters see them.
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF] {
            sigdelset(&blocked, fault)
        }
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        let body = Scheduling.scheduler?.thread(named: name, body) ?? body
        let box = Unmanaged.passRetained(Box(name, body))
        var id = pthread_t()
        let code = pthread_create(
            &id, nil,
            { context in
                guard let context else { return nil }
                let box = Unmanaged<Box>.fromOpaque(context).takeRetainedValue()
                PlainThread.setName(box.name)
                box.body()
                return nil
            }, box.toOpaque())
        guard code == 0 else {
            box.release()
            return code
        }
        pthread_detach(id)
        return nil
    }

    /// Sets the name that `ps -L` shows, for the thread that calls.
    static func setName(_ name: String) {
        let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = write(file, name, name.utf8.count)
        close(file)
    }
}
#endif
