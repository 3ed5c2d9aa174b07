import Foundation
import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `A lane after a crash` {
    // The first without a result counts as the one that was running. The next one had begun by then, and it was the one
    // before that paid: three crashes for each command before the one that ends the agent, and all interrupted.
    @Test func `goes on with a command when the end of the one before is on disk`() async throws {
        let directory = NSTemporaryDirectory() + "waypost-lane-\(UUID().uuidString)"
        let ids = (1...30).map { "c\($0)" }
        do {
            let store = try Store(directory: directory)
            defer { store.close() }
            try store.commit { transaction in
                for (id, sequence) in zip(ids, Int64(1)...) {
                    let payload = Array(#"{"id":"\#(id)","type":"open","url":"a://look"}"#.utf8)
                    _ = try transaction.receive(
                        NewCommand(
                            sequence: sequence, topic: "waypost/v1/k1/cmd/me", id: id,
                            digest: SHA256.digest(of: payload), payload: payload, received: TurnedClock.start,
                            expires: TurnedClock.start + 3_600_000, keepUntil: .max / 4))
                }
            }
        }
        let store = Guarded<Store?>(nil)
        let (isReady, ready) = AsyncStream.makeStream(of: Void.self)
        let router = Router()
        try router.register("a://look", idempotent: true) { _ in
            for await _ in isReady { break }
            let first = try store.withLock { $0 }?.commit { try $0.unfinished().first }
            return .opened(.string(first?.id ?? "none"))
        }
        let harness = try await AgentHarness(directory: directory, router: router)
        store.withLock { $0 = harness.agent.store }
        ready.finish()
        for (number, id) in ids.enumerated() {
            let reply = try await harness.reply(to: id)
            #expect(reply.result["value"]?.stringValue == id, "\(reply)")
            #expect(reply.attempt == (number == 0 ? 2 : 1))
        }
        store.withLock { $0 = nil }
        try await harness.close()
    }

    // It ended as expired, which a sender does not send again.
    @Test(arguments: [
        ("", Code.clock), (#","after":\#(TurnedClock.start + 60_000)"#, .clock),
        (#","at":\#(TurnedClock.start + 60_000)"#, .clockSkew),
        (#","window":"02:00-03:00 utc""#, .badField),
    ])
    func `what was refused when it came ends as refused, as long as nobody was told`(
        field: String, code: Code
    ) async throws {
        let directory = NSTemporaryDirectory() + "waypost-refused-\(UUID().uuidString)"
        let start = TurnedClock.start
        do {
            let store = try Store(directory: directory)
            defer { store.close() }
            let text = #"{"id":"c1","type":"open","url":"a://look","exp":\#(start + 3_600_000)\#(field)}"#
            try store.commit { transaction in
                _ = try transaction.receive(
                    NewCommand(
                        sequence: 1, topic: "waypost/v1/k1/cmd/me", id: "c1",
                        digest: SHA256.digest(of: Array(text.utf8)), payload: Array(text.utf8),
                        received: start, expires: start, keepUntil: .max / 4))
            }
        }
        let harness = try await AgentHarness(directory: directory)
        #expect(try await harness.reply(to: "c1").code == code)
        try await harness.close()
    }
}
