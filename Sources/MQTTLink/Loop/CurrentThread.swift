import CMosquitto

/// The thread that runs this.
package enum CurrentThread {
    /// Linux's thread id, as `ps -L` shows it.
    package static var id: Int64 { Int64(link_thread_id()) }
}
