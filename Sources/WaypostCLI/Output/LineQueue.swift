import Threading
import Waypost

/// Lines that a thread of their own writes, so that who has something to say never waits for who reads it.
///
/// What waits is bounded; lines beyond that are dropped and counted, and one line says so once it flows again.
final class LineQueue: Sendable {
    /// The most bytes that wait; as many again may be on their way.
    static let maximumBytes = 256 * 1024
    /// What a line counts beside its bytes: many short ones take memory, too.
    private static let lineOverhead = 64

    private struct State {
        var lines: [[UInt8]] = []
        var bytes = 0
        var dropped = 0
        var isWriting = false
    }

    private let state = Monitor(State())
    private let thread: String
    private let write: @Sendable ([UInt8]) -> Bool
    private let loss: @Sendable (Int) -> [UInt8]

    /// - Parameters:
    ///   - thread: the thread's name, at most 15 bytes.
    ///   - write: writes a line, for as long as it takes; false when it can't.
    ///   - loss: the line that says how many are missing.
    init(
        thread: String, write: @escaping @Sendable ([UInt8]) -> Bool,
        loss: @escaping @Sendable (Int) -> [UInt8]
    ) {
        (self.thread, self.write, self.loss) = (thread, write, loss)
    }

    /// Adds a line, which ends with its newline; never waits.
    func append(_ line: [UInt8]) {
        state.withLock { state in
            let weight = line.count + Self.lineOverhead
            if state.bytes + weight > Self.maximumBytes {
                state.dropped += 1
            } else {
                state.lines.append(line)
                state.bytes += weight
            }
            return ((), wakes: false)
        }
        startWriting()
    }

    /// Waits until everything is written, but no longer than `limit`.
    ///
    /// It blocks the thread that calls.
    func flush(within limit: Duration) {
        startWriting()
        let end = MonotonicTime.after(limit)
        state.wait { state, isTimeUp in !state.isWriting || isTimeUp ? .end(()) : .wait(until: end) }
    }

    /// Starts the thread when there is something for it; it ends when all is written.
    private func startWriting() {
        let mustStart = state.withLock { state in
            guard !state.isWriting, !state.lines.isEmpty else { return (false, wakes: false) }
            state.isWriting = true
            return (true, wakes: false)
        }
        guard mustStart, PlainThread.start(name: thread, { self.writeAll() }) != nil else { return }
        // The system has no thread now; the next line tries again.
        state.withLock { state in
            state.isWriting = false
            return ((), wakes: true)
        }
    }

    private func writeAll() {
        var isOpen = true
        while let (lines, dropped) = take(isOpen: isOpen) {
            var lost = lines.reduce(0) { $0 + (write($1) ? 0 : 1) }
            isOpen = lost == 0
            if dropped > 0, !isOpen || !write(loss(dropped)) {
                lost += dropped
                isOpen = false
            }
            state.withLock { state in
                state.dropped += lost
                return ((), wakes: false)
            }
        }
    }

    /// What waits, and how many lines are missing behind it; nil when there is nothing to write.
    ///
    /// - Parameter isOpen: whether the last could be written: a loss that could not be said goes with the next line.
    private func take(isOpen: Bool) -> (lines: [[UInt8]], dropped: Int)? {
        state.withLock { state in
            guard !state.lines.isEmpty || (state.dropped > 0 && isOpen) else {
                state.isWriting = false
                return (nil, wakes: true)
            }
            defer { (state.lines, state.bytes, state.dropped) = ([], 0, 0) }
            return ((state.lines, state.dropped), wakes: false)
        }
    }
}
