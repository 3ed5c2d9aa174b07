#if canImport(Glibc)
import CThreading

/// The thread that runs this.
package enum CurrentThread {
    /// Linux's thread id, as `ps -L` shows it.
    package static var id: Int64 { Int64(waypost_thread_id()) }
}
#endif
