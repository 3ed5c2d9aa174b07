import MQTTLink
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `The decisions of the journal` {
    private typealias Entry = JournalState.Entry
    private var state = JournalState(
        limits: AgentLimits(), isDurable: true, quota: ReportQuota(records: 100, bytes: 100_000))

    private static func ended(_ rows: ClosedRange<Int64>) -> [Entry] {
        rows.map {
            .ended(InboxResult(sequence: $0, attempt: 1, reply: [1, 2, 3]), ReplyAddress(topic: "r"))
        }
    }

    private static func acknowledged(_ rows: ClosedRange<Int64>) -> [Entry] {
        rows.map { .replyAcknowledged(sequence: $0) }
    }

    private static func rows(_ batch: JournalBatch) -> [Int64] {
        batch.entries.compactMap {
            switch $0 {
            case .ended(let result, _): result.sequence
            case .replyAcknowledged(let sequence): sequence
            default: nil
            }
        }
    }

    private mutating func end(
        _ rows: ClosedRange<Int64>, isFree: Bool = true, isGathering: Bool = false
    ) -> JournalState.Next {
        state.resultsProduced(
            Self.ended(rows), rows.map { _ in .ok }, isFree: isFree, isGathering: isGathering
        ).0
    }

    @Test mutating func `has one thread commit, which looks for more after that`() {
        #expect(end(1...1) == .commit)
        #expect(end(2...2) == .nothing)
        let first = state.commitBegan(0)
        #expect(Self.rows(first) == [1, 2])
        state.committed(first, repeated: [])
        #expect(end(3...3) == .nothing)
        let looksForMore = state.committerEnded()
        #expect(looksForMore)
        state.committed(state.commitBegan(0), repeated: [])
        let isDone = !state.committerEnded()
        #expect(isDone)
        #expect(end(4...4, isFree: false) == .commitInBackground)
    }

    @Test mutating func `leaves what a thread gathers to the end of its gathering`() {
        #expect(end(1...1, isGathering: true) == .wait(flushes: 0))
        #expect(end(2...2, isGathering: true) == .nothing)
        #expect(state.gatheringEnded().0 == .commit)
        #expect(Self.rows(state.commitBegan(0)) == [1, 2])
    }

    @Test mutating func `lets acknowledgements wait until there are enough for a commit to carry`() {
        let few = Int64(JournalState.batchSize - 1)
        #expect(state.replyAcknowledged(Self.acknowledged(1...few), isGathering: false) == .wait(flushes: 0))
        #expect(Self.rows(state.commitBegan(1)) == [])
        #expect(
            state.replyAcknowledged(Self.acknowledged(few + 1...few + 1), isGathering: false) == .nothing)
        #expect(Self.rows(state.commitBegan(1)).count == JournalState.batchSize)
    }

    @Test mutating func `commits after a moment what came before it, and lets what is newer wait again`() {
        _ = state.replyAcknowledged(Self.acknowledged(1...1), isGathering: false)
        state.flush()
        _ = state.commitBegan(0)
        _ = state.replyAcknowledged(Self.acknowledged(2...2), isGathering: false)
        #expect(state.timePassed(since: 0) == .wait(flushes: 1))
        #expect(state.timePassed(since: 1) == .commitInBackground)
        #expect(Self.rows(state.commitBegan(0)) == [2])
    }

    @Test mutating func `puts back what a failed commit had taken, and lets others go without it`() {
        _ = end(1...2)
        let failed = state.commitBegan(0)
        _ = end(3...3)
        #expect(state.commitFailed(failed) == .nothing)
        #expect(state.waitingReplyBytes == 9)
        let other = state.commitBegan(1)
        #expect(!other.takesEntries && Self.rows(other) == [])
        state.committed(other, repeated: [])
        let again = state.commitBegan(0)
        #expect(Self.rows(again) == [1, 2, 3])
        state.committed(again, repeated: [])
        #expect(state.waitingReplyBytes == 0)
        _ = end(4...4)
        #expect(Self.rows(state.commitBegan(1)) == [4])
    }

    @Test mutating func `takes received commands back too, before those that came meanwhile`() {
        func command(_ row: Int64) -> NewCommand {
            NewCommand(
                sequence: row, topic: "t", id: "c\(row)", digest: [], payload: [], received: 1, expires: 2,
                keepUntil: 3)
        }
        _ = state.commandsReceived([command(1)])
        let failed = state.commitBegan(1)
        _ = state.commandsReceived([command(2)])
        #expect(state.commitFailed(failed) == .nothing)
        let again = state.commitBegan(2)
        #expect(again.received.map(\.sequence) == [1, 2])
        state.committed(again, repeated: [])
        #expect(state.receivedCount == 0)
    }

    @Test mutating func `commits reports once more that found no place while it wrote`() {
        var limits = AgentLimits()
        limits.outboxRecords = 2
        state = JournalState(limits: limits, isDurable: true, quota: ReportQuota(records: 2, bytes: 100_000))
        func fail() -> JournalState.Next {
            state.failureOccurred(
                FailureReport(id: "f", code: .badJSON, origin: .agent, detail: "broken", at: 1),
                isGathering: false)
        }
        #expect([fail(), fail(), fail()] == [.commitInBackground, .nothing, .nothing])
        let first = state.commitBegan(0)
        #expect(first.overflow == 1)
        #expect(fail() == .nothing)
        state.committed(first, repeated: [])
        #expect(state.counters.droppedReports == 1)
        let looksForMore = state.committerEnded()
        #expect(looksForMore)
        let second = state.commitBegan(0)
        #expect(second.entries.isEmpty && second.quota.dropped == 1)
        state.committed(second, repeated: [])
        let isDone = !state.committerEnded()
        #expect(isDone)
    }

    @Test mutating func `forgets the acknowledgement of a reply that goes out again`() {
        _ = state.replyAcknowledged(Self.acknowledged(1...2), isGathering: false)
        state.committed(state.commitBegan(1), repeated: [2])
        state.flush()
        #expect(Self.rows(state.commitBegan(0)) == [1])
    }

    @Test mutating func `tells each that waits when it takes nothing any more`() {
        let told = Told()
        #expect(
            state.handlerStarted(.mark { told.values.append($0) }, isGathering: true) == .wait(flushes: 0))
        state.close()
        #expect(end(1...1) == .giveUp)
        for entry in state.giveUp() { entry.settle(false) }
        #expect(told.values == [false])
    }

    // Safe because one thread uses it.
    private final class Told: @unchecked Sendable {
        var values: [Bool] = []
    }

    @Test func `sends replies at once when nothing waits for the disk, or when the gathering has ended`() {
        var state = JournalState(
            limits: AgentLimits(), isDurable: false, quota: ReportQuota(records: 100, bytes: 100_000))
        let (next, sent) = state.resultsProduced(Self.ended(1...1), [.ok], isFree: true, isGathering: false)
        #expect(next == .wait(flushes: 0))
        #expect(sent.count == 1)
        #expect(state.resultsProduced(Self.ended(2...2), [.ok], isFree: true, isGathering: true).1.isEmpty)
        #expect(state.gatheringEnded().1.count == 1)
        #expect(Self.rows(state.commitBegan(0)) == [1, 2])
    }
}
