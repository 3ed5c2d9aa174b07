#if canImport(Glibc)
import CThreading
import Glibc

/// The thread that runs this.
package enum CurrentThread {
    /// Linux's thread id, as `ps -L` shows it.
    package static var id: Int64 { Scheduling.scheduler?.thread ?? Int64(waypost_thread_id()) }

    /// The number of its process.
    package static var process: Int64 { Scheduling.scheduler?.process ?? Int64(getpid()) }

    /// Blocks it for that long; a thread that runs tasks waits with ``MonotonicTime/sleep(for:)``.
    package static func sleep(for duration: Duration) {
        if let scheduler = Scheduling.scheduler {
            scheduler.hold(passes: false)
            _ = scheduler.wait(for: ObjectIdentifier(scheduler), until: MonotonicTime.after(duration))
            return scheduler.letGo()
        }
        let end = MonotonicTime.after(duration)
        var time = timespec(tv_sec: Int(end / 1_000_000_000), tv_nsec: Int(end % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }
}
#endif
