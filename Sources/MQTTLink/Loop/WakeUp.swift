import CMosquitto
import Glibc

/// An eventfd: any thread rings, the link's thread polls it.
final class WakeUp: Sendable {
    let descriptor: Int32

    init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        precondition(descriptor >= 0, "eventfd: errno \(errno)")
    }

    deinit { close(descriptor) }

    func ring() {
        var one: UInt64 = 1
        // Fails only when the counter is full, and then it has been rung.
        _ = write(descriptor, &one, 8)
    }

    func quiet() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
    }
}
