/// A call that is made after a while, unless it is taken back before.
///
/// What is called must return at once: it resumes a task, or starts one.
package struct DelayedCall: Sendable {
    private let takeBack: @Sendable () -> Void

    package init(after delay: Duration, on clock: any Clock<Duration>, _ body: @escaping @Sendable () -> Void)
    {
        guard clock is ContinuousClock else {
            let timer = Task {
                guard (try? await clock.sleep(for: delay)) != nil else { return }
                body()
            }
            takeBack = { timer.cancel() }
            return
        }
        let call = TimerThread.shared.call(after: delay, body)
        takeBack = { call.cancel() }
    }

    /// Takes it back; does nothing when it was made already.
    package func cancel() { takeBack() }
}
