import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite("Memory to spare")
struct SpareMemoryTests {
    @Test func `goes back in a pause after the start or much work, and only then`() {
        var memory = SpareMemory()
        // Number of changes at each look, and whether memory goes back; SQLite's number goes round at 2³¹.
        let looks = [
            (10, false), (20, false), (20, true), (20, false), (21, false), (21, false), (2_000, false),
            (5_000, false), (5_000, true), (5_000, false), (-2_147_480_000, false), (-2_147_480_000, true),
        ]
        for (changes, isDue) in looks { #expect(memory.takeRelease(afterChanges: changes, at: 0) == isDue) }
    }

    @Test func `goes back once more when the threads that worked have ended`() {
        var memory = SpareMemory()
        // Number of changes and time at each look, and whether memory goes back.
        let looks: [(Int, Int64, Bool)] = [
            (10, 0, false), (10, 10_000, true), (10, 90_000, false), (5_000, 100_000, false),
            (5_000, 110_000, true), (5_000, 139_999, false), (5_000, 140_000, true), (5_000, 290_000, false),
            (9_000, 300_000, false), (9_000, 310_000, true), (9_100, 350_000, false), (9_100, 360_000, true),
            (9_100, 990_000, false),
        ]
        for (changes, now, isDue) in looks {
            #expect(memory.takeRelease(afterChanges: changes, at: now) == isDue)
        }
    }

    @Test func `goes back from the link too, and the agent works on`() async throws {
        let agent = try await AgentHarness { $0.healthInterval = .seconds(1) }
        try await agent.link.released.wait(for: "a pause") { !$0.isEmpty }
        let reply = try await agent.command(#"{"id":"c1","type":"ping"}"#)
        #expect(reply.code == .ok)
        try await agent.close()
    }

    @Test func `one commit that holds many changes is much work`() throws {
        let store = try Store(directory: NSTemporaryDirectory() + "waypost-memory-\(UUID().uuidString)")
        var memory = SpareMemory()
        func isDueInPause() -> Bool {
            _ = memory.takeRelease(afterChanges: store.changeCount, at: 0)
            return memory.takeRelease(afterChanges: store.changeCount, at: 0)
        }
        #expect(isDueInPause())
        try store.commit { _ in }
        #expect(!isDueInPause())
        try store.commit { transaction in
            for number in 0..<2_000 { try transaction.setNumber("epoch", Int64(number)) }
        }
        #expect(isDueInPause())
        store.close()
    }

    @Test func `that the store has kept is read anew`() throws {
        let store = try Store(directory: NSTemporaryDirectory() + "waypost-memory-\(UUID().uuidString)")
        try store.commit { try $0.setNumber("epoch", 7) }
        store.releaseMemory()
        #expect(try store.commit { try $0.number("epoch") } == 7)
        store.close()
    }
}
