#if canImport(Glibc)
import CThreading
import Glibc

/// An eventfd: any thread rings, and one that polls the descriptor wakes.
package final class WakeUp: Sendable {
    /// Can be read from once it was rung.
    package let descriptor: Int32

    package init() {
        descriptor = waypost_eventfd()
        precondition(descriptor >= 0, "eventfd: errno \(errno)")
    }

    deinit { close(descriptor) }

    package func ring() {
        var one: UInt64 = 1
        // Fails only when the counter is full, and then it has been rung.
        _ = write(descriptor, &one, 8)
    }

    /// Takes all rings so far.
    package func quiet() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
    }
}
#endif
