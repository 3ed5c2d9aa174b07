public import Foundation

private let startLock = NSLock()

/// Runs something that starts a process, which inherits what signals are blocked.
///
/// The threads that tests run on are libdispatch's, and those block nearly all: a child of theirs would never see
/// its SIGTERM, nor a shell the end of its own children. One at a time: Foundation's own preparations for a child
/// have crashed when several threads were at them.
public func withNoSignalBlocked<Value>(_ body: () throws -> Value) rethrows -> Value {
    startLock.lock()
    defer { startLock.unlock() }
    var none = sigset_t()
    var before = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    return try body()
}

extension Pipe {
    /// A pipe that only the process inherits for which it is made.
    ///
    /// An end that any other child holds, which may live as long as the tests do, keeps its reader waiting for as long.
    /// Foundation closes in a child what was open a moment before, and not what was opened since: so none is made while
    /// a child is started, and a program that is started in another way has neither end.
    public static func forOneChild() -> Pipe {
        startLock.withLock {
            let pipe = Pipe()
            for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
                _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
            }
            return pipe
        }
    }
}
