import Glibc
import Threading
import UnixSignals

/// What ends a command early: Ctrl-C and SIGTERM, or that its output is not read any more.
///
/// The first cancels the command, which then ends in its own way; a second signal ends the process at once.
package final class Signals: Sendable {
    private struct State {
        var first: Exit?
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Guarded(State())

    /// The status of a command that was cancelled by a signal.
    static var exit: Exit { Invocation.current.signals.first ?? .interrupted }

    /// What the first makes of the command; nil when there was none.
    private var first: Exit? { state.withLock { $0.first } }

    /// The first signal's name; nil when there was none.
    var name: String? {
        switch first {
        case .terminated: "SIGTERM"
        case .interrupted: "Ctrl-C (SIGINT)"
        default: nil
        }
    }

    /// Has the first signal, also one that came already, cancel the command.
    func whenFirst(_ cancel: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            state.cancel = cancel
            return state.first != nil
        }
        if isLate { cancel() }
    }

    /// SIGINT or SIGTERM has come; false when it is not the first.
    package func arrived(isTermination: Bool) -> Bool {
        cancel(with: isTermination ? .terminated : .interrupted)
    }

    /// What is printed is not read any more: a reader that has enough is no failure.
    func readerLeft() { _ = cancel(with: .ok) }

    private func cancel(with exit: Exit) -> Bool {
        let (isFirst, cancel) = state.withLock { state in
            guard state.first == nil else { return (false, nil as (@Sendable () -> Void)?) }
            state.first = exit
            return (true, state.cancel)
        }
        cancel?()
        return isFirst
    }

    /// Waits for those of the process until the task is cancelled.
    static func watch() async {
        for await signal in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
            let isTermination = signal == .sigterm
            guard Invocation.process.signals.arrived(isTermination: isTermination) else {
                ScreenMode.end()
                _exit(isTermination ? Exit.terminated.rawValue : Exit.interrupted.rawValue)
            }
        }
    }
}

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
