import Foundation
import Testing

@testable import WaypostAgent

@Suite("Memory to spare")
struct SpareMemoryTests {
    @Test func `goes back in a pause after the start or much work, and only then`() {
        var memory = SpareMemory()
        // Number of commits at each look, and whether memory goes back.
        let looks = [
            (10, false), (20, false), (20, true), (20, false), (21, false), (21, false), (2_000, false),
            (5_000, false), (5_000, true), (5_000, false),
        ]
        for (commits, isDue) in looks { #expect(memory.isDue(afterCommits: commits) == isDue) }
    }

    @Test func `that the store has kept is read anew`() throws {
        let store = try Store(directory: NSTemporaryDirectory() + "waypost-memory-\(UUID().uuidString)")
        try store.commit { try $0.setNumber("epoch", 7) }
        store.releaseMemory()
        #expect(try store.commit { try $0.number("epoch") } == 7)
        store.close()
    }
}
