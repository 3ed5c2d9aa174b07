import Glibc
import Threading

/// Ends the command when its output is closed, as with `waypost logcat | head -1`: without this it would only be
/// noticed at the next line, which may come tomorrow.
struct ClosedOutputMonitor {
    private let isOver = WakeUp()

    /// Begins to watch; ``end()`` must follow.
    init() {
        let (invocation, isOver) = (Invocation.current, isOver)
        _ = PlainThread.start(name: "wp-reader") {
            var watched = [
                pollfd(fd: invocation.output, events: 0, revents: 0),
                pollfd(fd: isOver.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            while poll(&watched, nfds_t(watched.count), -1) < 0 && errno == EINTR {}
            if watched[0].revents != 0 { invocation.signals.readerLeft() }
        }
    }

    func end() { isOver.ring() }
}
