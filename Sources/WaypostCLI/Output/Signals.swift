import Glibc
import Threading
import UnixSignals

/// What Ctrl-C and SIGTERM do: the first cancels the command, which then ends in its own way; a second ends the
/// process at once.
enum Signals {
    private static let received = Guarded<UnixSignal?>(nil)

    /// The status of a command that was cancelled by a signal.
    static var exit: Exit { received.withLock { $0 == .sigterm } ? .terminated : .interrupted }

    /// The first signal; nil when there was none.
    static var first: String? {
        received.withLock { $0.map { $0 == .sigterm ? "SIGTERM" : "Ctrl-C (SIGINT)" } }
    }

    /// Waits for signals until the task is cancelled.
    static func watch(_ cancel: () -> Void) async {
        for await signal in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
            let isFirst = received.withLock { received in
                defer { received = received ?? signal }
                return received == nil
            }
            guard isFirst else {
                ScreenMode.end()
                _exit(signal == .sigterm ? Exit.terminated.rawValue : Exit.interrupted.rawValue)
            }
            cancel()
        }
    }
}
