import MQTTLink
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostCLI

/// In which order lines are shown, without a broker.
@Suite struct LogOrderTests {
    private static func event(
        _ sequence: Int64, boot: String = "B", at time: Int64 = 0, _ message: String = ""
    ) -> LogEvent {
        LogEvent(
            time: time, level: .info, tag: "T", boot: boot, sequence: sequence, process: 0, thread: 0,
            message: message)
    }

    private static func shown(_ lines: [(agent: String, boot: String, sequence: Int64)]) -> [String] {
        var window = ReorderWindow()
        for line in lines {
            window.add(
                AgentEvent(agent: line.agent, event: event(line.sequence, boot: line.boot), source: []))
        }
        return window.take().map { "\($0.agent)\($0.event.boot)\($0.event.sequence)" }
    }

    // Numbers begin anew with each start: sorted together, the first lines after it came before the last of those before.
    @Test func `lines of two starts of an agent are each in their order, and the starts stay apart`() {
        let lines =
            [("a", "X", 9), ("a", "X", 8), ("a", "Y", 2), ("a", "Y", 1)]
            as [(String, String, Int64)]
        #expect(Self.shown(lines) == ["aX8", "aX9", "aY1", "aY2"])
    }

    @Test func `lines of two agents are each in their order`() {
        let lines =
            [("a", "X", 9), ("b", "X", 2), ("a", "X", 8), ("b", "X", 1)]
            as [(String, String, Int64)]
        #expect(Self.shown(lines) == ["aX8", "bX1", "aX9", "bX2"])
    }

    @Test func `fifty events of one millisecond are replayed in the order of their numbers`() {
        var replay = ReplayCollector(agents: ["k1"], sender: "me", topics: .standard)
        for sequence in (1...50).reversed() as ReversedCollection<ClosedRange<Int64>> {
            let payload = Self.event(sequence, at: 1_795_216_999_123).encoded()
            let isTaken = replay.saw(MQTTMessage(topic: "waypost/v1/k1/log/i", payload: payload))
            #expect(isTaken)
        }
        #expect(replay.wanted.map(\.event.sequence) == Array(1...50))
    }

    @Test func `a failure report is told by the event of the same failure, and by no other`() throws {
        func event(_ agent: String, _ ref: String, _ url: String, _ code: Code) throws -> AgentEvent {
            var event = Self.event(1, "\(code): no route matches it")
            (event.isError, event.ref, event.url) = (true, ref, url)
            return try #require(AgentEvent.events(event.encoded(), from: agent).first)
        }
        var report = FailureReport(
            id: "f", code: .noRoute, origin: .router, ref: "c1", url: "a://x", detail: "no route matches it",
            at: 1)
        let line = try #require(AgentEvent.failure(report.encoded(), from: "k1"))
        #expect(try event("k1", "c1", "a://x", .noRoute).tells(of: line))
        for other in [
            try event("k2", "c1", "a://x", .noRoute), try event("k1", "c2", "a://x", .noRoute),
            try event("k1", "c1", "a://y", .noRoute), try event("k1", "c1", "a://x", .cycle), line,
        ] {
            #expect(!other.tells(of: line))
        }
        report.ref = nil
        #expect(
            try !event("k1", "c1", "a://x", .noRoute).tells(
                of: #require(AgentEvent.failure(report.encoded(), from: "k1"))))
    }
}
