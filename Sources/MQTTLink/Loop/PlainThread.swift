import CMosquitto
import Glibc

/// A thread of our own.
///
/// Not a task: what runs here blocks in poll or getaddrinfo, and a blocked thread of the pool is missing there.
struct PlainThread: Sendable {
    private let id: pthread_t

    /// Starts a thread, or returns the `errno` for why there is none.
    static func start(name: String, _ body: @escaping @Sendable () -> Void) -> Result<PlainThread, SystemCode>
    {
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

        let box = Unmanaged.passRetained(Box(name, body))
        var id = pthread_t()
        let code = pthread_create(
            &id, nil,
            { context in
                guard let context else { return nil }
                let box = Unmanaged<Box>.fromOpaque(context).takeRetainedValue()
                link_set_thread_name(box.name)
                box.body()
                return nil
            }, box.toOpaque())
        guard code == 0 else {
            box.release()
            return .failure(SystemCode(code))
        }
        return .success(PlainThread(id: id))
    }

    /// Waits for its end; once, and not from itself.
    func join() { pthread_join(id, nil) }

    /// Lets it end by itself.
    func detach() { pthread_detach(id) }
}

/// An `errno`.
struct SystemCode: Error {
    var value: Int32

    init(_ value: Int32) { self.value = value }
}
