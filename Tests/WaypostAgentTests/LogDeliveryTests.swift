import Dispatch
import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `Events that one thread publishes` {
    /// Flushes on another thread while an event `first` is under way to the agent, and `further` ones wait.
    ///
    /// Returns what the agent got, in its order, and how much of it before that flush returned.
    private func flush(_ further: String...) async throws -> (published: [String], beforeReturn: Int) {
        let (published, steps) = (TestSupport.EventLog<String>(), TestSupport.EventLog<String>())
        let isFlushed = DispatchSemaphore(value: 0)
        let log = WaypostAgent.EventLog(
            boot: "b", clock: TurnedClock().clock, limits: AgentLimits(), level: .info, redaction: Redaction()
        )
        log.connect(
            WaypostAgent.EventLog.Connection(
                publish: { batches in
                    let text = batches.map { String(decoding: $0.payload, as: UTF8.self) }.joined()
                    if text.contains("first") {
                        steps.append("taken")
                        // Only a flush that does not wait for this thread ends in this time.
                        _ = isFlushed.wait(timeout: .now() + .milliseconds(300))
                    }
                    published.append(text)
                }, hasRoom: { true }, maximumBytes: { .max }))
        log.log(.info, "Test", "first")
        try await steps.wait(for: "the first event to be taken out") { $0 == ["taken"] }
        for message in further { log.log(.info, "Test", message) }
        // As a stop does, which ends the link after it.
        let failure = PlainThread.start(name: "stop") {
            log.flush()
            steps.append("\(published.events.count)")
            isFlushed.signal()
        }
        #expect(failure == nil)
        try await steps.wait(for: "the flush") { $0.count == 2 }
        try await published.wait(for: "all events") { $0.count == further.count + 1 }
        return (published.events, steps.events.last.flatMap { Int($0) } ?? 0)
    }

    @Test func `wait for the broker up to a limit, and the oldest of the lowest level goes first`()
        async throws
    {
        var limits = AgentLimits()
        limits.logPending = 3
        let log = WaypostAgent.EventLog(
            boot: "b", clock: TurnedClock().clock, limits: limits, level: .info, redaction: Redaction())
        for message in ["i1", "i2", "i3", "i4"] { log.log(.info, "Test", message) }
        log.log(.warning, "Test", "w5")
        let published = TestSupport.EventLog<String>()
        log.connect(
            WaypostAgent.EventLog.Connection(
                publish: { batches in
                    for batch in batches {
                        for line in String(decoding: batch.payload, as: UTF8.self).split(separator: "\n") {
                            published.append(
                                (try? JSONValue(parsing: String(line)))?["msg"]?.stringValue ?? "\(line)")
                        }
                    }
                }, hasRoom: { true }, maximumBytes: { .max }))
        try await published.wait(for: "what is left") { $0.count >= 3 }
        #expect(published.events.sorted() == ["i3", "i4", "w5"])
    }

    @Test func `are with the agent before a flush on another thread returns`() async throws {
        #expect(try await flush().beforeReturn == 1)
    }

    @Test func `are before those that another publishes after them`() async throws {
        let published = try await flush("second").published
        #expect(published.first?.contains("first") == true)
        #expect(published.last?.contains("second") == true)
    }
}
