import TestSupport
import Testing

@testable import WaypostAgent

/// The store on a disk that dies: SQLite's own code, over what it may expect of a disk and no more.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct DiskTests {
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `what was committed is there after each loss of power`(seed: UInt64) throws {
        let machine = try Machine(seed: seed, .full)
        for _ in 0..<12 { #expect(try machine.live()) }
        try machine.open()
        #expect(machine.tried > 12)
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `with normal durability the last commits may be lost, and nothing else`(seed: UInt64) throws {
        let machine = try Machine(seed: seed, .normal)
        for _ in 0..<12 { #expect(try machine.live()) }
        try machine.open()
        #expect(machine.tried > 12)
    }

    @Test(arguments: 1...24 as ClosedRange<UInt64>)
    func `a disk that says it has synced, and has not, is found out or has lost nothing`(seed: UInt64) throws
    {
        let machine = try Machine(seed: seed, .full)
        for _ in 0..<4 {
            guard try machine.live(lies: true) else { return }
        }
    }
}
