import Glibc
import Threading

/// One thread for the loops of many links: for a program with thousands of sessions, each of which would take a
/// thread, with a stack that stays in memory.
///
/// As long as a delegate's call lasts, all links of the thread wait; none is lent the thread.
package final class LinkThread: Sendable {
    private struct Added: Sendable {
        var loops: [@Sendable (PeekBuffer) -> LinkLoop?] = []
        var isRunning = false
    }

    private let wake = WakeUp()
    private let added = Guarded(Added())

    package init() {}

    /// Has the thread run one more loop, which is made there; returns the `errno` for why it can't, or nil.
    func add(_ make: @escaping @Sendable (PeekBuffer) -> LinkLoop?) -> Int32? {
        let mustStart = added.withLock { added in
            added.loops.append(make)
            defer { added.isRunning = true }
            return !added.isRunning
        }
        guard mustStart else {
            wake.ring()
            return nil
        }
        // It keeps this alive until its last loop has ended.
        let failure = PlainThread.start(name: "mqtt-links") { self.run() }
        if failure != nil { added.withLock { $0 = Added() } }
        return failure
    }

    private func run() {
        var turns = Turns(wake)
        while let new = takeAdded(isIdle: turns.isEmpty) {
            for make in new { turns.add(make) }
            turns.turn()
        }
    }

    /// The loops that came since the last time; nil when the thread has nothing to do any more.
    private func takeAdded(isIdle: Bool) -> [@Sendable (PeekBuffer) -> LinkLoop?]? {
        added.withLock { added in
            guard !added.loops.isEmpty || !isIdle else {
                added.isRunning = false
                return nil
            }
            defer { added.loops = [] }
            return added.loops
        }
    }

    /// The loops of the thread, and what each waits for.
    private struct Turns {
        private let wake: WakeUp
        private let buffer = PeekBuffer()
        private var loops: [LinkLoop] = []
        /// When each is to have a turn without being woken.
        private var due: [LinkLoop.Instant] = []
        /// The thread's own, then for each loop that of its mailbox and that of its socket, or -1.
        private var descriptors: [pollfd]

        init(_ wake: WakeUp) {
            self.wake = wake
            descriptors = [pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0)]
        }

        var isEmpty: Bool { loops.isEmpty }

        mutating func add(_ make: (PeekBuffer) -> LinkLoop?) {
            guard let loop = make(buffer) else { return }
            loop.begin()
            loops.append(loop)
            due.append(MonotonicTime.instant)
            descriptors += [loop.wakeDescriptor, pollfd(fd: -1, events: 0, revents: 0)]
        }

        /// Sleeps until one of them has something to do, and gives each of those a turn.
        mutating func turn() {
            guard let first = due.min() else { return }
            let timeout = LinkLoop.milliseconds(MonotonicTime.instant.duration(to: first))
            let count = poll(&descriptors, nfds_t(descriptors.count), timeout)
            if count > 0, descriptors[0].revents != 0 { wake.quiet() }
            let now = MonotonicTime.instant
            var hasEnded = false
            for (index, loop) in loops.enumerated() {
                let place = 1 + 2 * index
                let (bell, socket) = (descriptors[place], descriptors[place + 1])
                guard due[index] <= now || count > 0 && (bell.revents != 0 || socket.revents != 0) else {
                    continue
                }
                loop.turnOnSharedThread(wasRung: bell.revents != 0, socket.fd >= 0 ? socket : nil)
                guard !loop.isFinished else {
                    loop.finish()
                    hasEnded = true
                    continue
                }
                let (next, limit) = loop.prepareToSleep()
                descriptors[place + 1] = next ?? pollfd(fd: -1, events: 0, revents: 0)
                due[index] = MonotonicTime.instant + limit
            }
            if hasEnded { removeEnded() }
        }

        private mutating func removeEnded() {
            let left = loops.indices.filter { !loops[$0].isFinished }
            let theirs = left.flatMap { descriptors[1 + 2 * $0..<3 + 2 * $0] }
            descriptors = [descriptors[0]] + theirs
            due = left.map { due[$0] }
            loops = left.map { loops[$0] }
        }
    }
}

/// Where a thread looks at what waits in sockets, for one loop after the other.
final class PeekBuffer {
    var bytes = [UInt8](repeating: 0, count: 16_384)
}
