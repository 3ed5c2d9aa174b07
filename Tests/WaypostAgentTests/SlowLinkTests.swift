import MQTTLink
import TestSupport
import Testing
import Threading
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

/// A broker behind a slow connection: it acknowledges one message after the other, in the order in which they were sent.
@Suite(.timeLimit(.minutes(60))) struct `A slow link` {
    // All sixty were under way at once, and the ping's answer behind them: over 1 MB/s it came after 54 s.
    @Test(arguments: [256 * 1024 * 1024, 2 * 1024 * 1024])
    func `a sender with large results keeps no other waiting`(memoryBytes: Int) async throws {
        let router = Router()
        try router.register("app://large/:n", idempotent: true) { _ in
            .opened(.string(String(repeating: "x", count: 825_000)))
        }
        let harness = try await AgentHarness(router: router) {
            $0.logLevel = "E"
            $0.limits.intakeRate = 0
            $0.limits.outboxMemoryBytes = memoryBytes
        }
        harness.link.answer { $0.payload.count > 100_000 ? nil : .acknowledged }
        for number in 0..<4 {
            harness.receive(
                #"{"id":"l\#(number)","type":"open","url":"app://large/\#(number)"}"#,
                on: "waypost/v1/k1/cmd/loud")
        }
        try await harness.until("all results on disk") { $0.agent.journal.counters.ended[.ok] == 4 }
        try await harness.until("a large reply under way") { $0.link.unanswered.withLock { !$0.isEmpty } }
        let reply = try await harness.command(#"{"id":"p","type":"ping"}"#, from: "quiet")
        #expect(reply.code == .ok)
        // Nothing but the first has left meanwhile: it is under way alone, and nothing of its sender beside it.
        #expect(harness.link.unanswered.withLock { $0.count } == 1)
        // The rest follows, one behind the other's acknowledgement.
        var order: [String] = []
        for number in 0..<4 {
            try await harness.until("large reply \(number)") { $0.link.unanswered.withLock { !$0.isEmpty } }
            let message = try #require(harness.link.acknowledgeNext())
            order.append(try Reply(JSONValue(parsing: message.payload, limits: .trustedFile)).id)
        }
        // Each once: none was read from disk that had gone out. Their order is that in which they were encoded.
        #expect(Set(order) == Set((0..<4).map { "l\($0)" }))
        try await harness.untilAllIsAcknowledged()
        try await harness.close()
    }

    @Test func `after a restart the replies of all senders go out in turn`() async throws {
        let router = Router()
        try router.register("app://large/:n", idempotent: true) { _ in
            .opened(.string(String(repeating: "x", count: 500_000)))
        }
        let directory: String
        do {
            let harness = try await AgentHarness(router: router, isOnline: false) {
                $0.logLevel = "E"
                $0.limits.intakeRate = 0
            }
            directory = harness.agent.configuration.stateDirectory
            for number in 0..<10 {
                harness.receive(
                    #"{"id":"l\#(number)","type":"open","url":"app://large/\#(number)"}"#,
                    on: "waypost/v1/k1/cmd/loud")
            }
            harness.receive(#"{"id":"q","type":"open","url":"app://large/q"}"#, on: "waypost/v1/k1/cmd/quiet")
            try await harness.until("all results on disk") { $0.agent.journal.counters.ended[.ok] == 11 }
            try await harness.close()
        }
        let link = InMemoryLink()
        link.answer { $0.payload.count > 100_000 ? nil : .acknowledged }
        let harness = try await AgentHarness(directory: directory, router: router, link: link) {
            $0.logLevel = "E"
        }
        var order: [String] = []
        for number in 0..<11 {
            try await harness.until("reply \(number)") { $0.link.unanswered.withLock { !$0.isEmpty } }
            let message = try #require(link.acknowledgeNext())
            order.append(try Reply(JSONValue(parsing: message.payload, limits: .trustedFile)).id)
        }
        let place = try #require(order.firstIndex(of: "q"))
        #expect(place < 4, "\(order)")
        #expect(order.filter { $0 != "q" } == (0..<10).map { "l\($0)" })
        try await harness.untilAllIsAcknowledged()
        try await harness.close()
    }
}
