import Dispatch
import Glibc

/// Ends the process when its output is closed, as with `waypost logcat | head -1`: without this it
/// would only be noticed at the next line, which may come tomorrow.
enum ClosedOutputMonitor {
    static func begin() {
        DispatchQueue(label: "waypost.reader").async {
            var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
            while poll(&output, 1, -1) < 0 && errno == EINTR {}
            // A reader that has enough is no failure.
            exit(Exit.ok.rawValue)
        }
    }
}
