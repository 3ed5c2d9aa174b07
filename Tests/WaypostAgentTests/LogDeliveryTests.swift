import Dispatch
import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `Events that one thread publishes` {
    /// A log whose first events are under way to the agent until they may go on.
    private func log(_ published: TestSupport.EventLog<String>, holding first: @escaping @Sendable () -> Void)
        -> WaypostAgent.EventLog
    {
        let log = WaypostAgent.EventLog(
            boot: "b", clock: TurnedClock().clock, limits: AgentLimits(), level: .info, redaction: Redaction()
        )
        log.connect(
            WaypostAgent.EventLog.Connection(
                publish: { batches in
                    let text = batches.map { String(decoding: $0.payload, as: UTF8.self) }.joined()
                    if text.contains("first") { first() }
                    published.append(text)
                }, hasRoom: { true }, maximumBytes: { .max }))
        return log
    }

    @Test func `are with the agent before a flush on another thread returns`() async throws {
        let (published, steps) = (TestSupport.EventLog<String>(), TestSupport.EventLog<String>())
        let isFlushed = DispatchSemaphore(value: 0)
        let log = log(published) {
            steps.append("taken")
            // Only a flush that does not wait for this thread ends in this time.
            _ = isFlushed.wait(timeout: .now() + .milliseconds(300))
        }
        log.log(.info, "Test", "first")
        try await steps.wait(for: "the first event to be taken out") { $0 == ["taken"] }
        // As a stop does, which ends the link after it.
        let failure = PlainThread.start(name: "stop") {
            log.flush()
            steps.append("flushed: \(published.events.count)")
            isFlushed.signal()
        }
        #expect(failure == nil)
        try await steps.wait(for: "the flush") { $0.count == 2 }
        #expect(steps.events.last == "flushed: 1")
    }

    @Test func `are before those that another publishes after them`() async throws {
        let (published, steps) = (TestSupport.EventLog<String>(), TestSupport.EventLog<String>())
        let isFlushed = DispatchSemaphore(value: 0)
        let log = log(published) {
            steps.append("taken")
            _ = isFlushed.wait(timeout: .now() + .milliseconds(300))
        }
        log.log(.info, "Test", "first")
        try await steps.wait(for: "the first event to be taken out") { $0 == ["taken"] }
        log.log(.info, "Test", "second")
        let failure = PlainThread.start(name: "second") {
            log.flush()
            isFlushed.signal()
        }
        #expect(failure == nil)
        try await published.wait(for: "both events") { $0.count == 2 }
        #expect(published.events.first?.contains("first") == true)
        #expect(published.events.last?.contains("second") == true)
    }
}
