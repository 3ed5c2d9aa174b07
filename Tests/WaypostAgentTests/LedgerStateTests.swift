import Foundation
import MQTTLink
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `The ledger of ids` {
    private var ledger = LedgerState(shares: SenderShares(AgentLimits()), lastSequence: 40)

    private static func command(
        _ id: String, _ url: String = "a://b", from sender: String = "ops", rejection: Failure? = nil,
        opening: Range<Int64>? = nil
    ) -> ReceivedCommand {
        var header = CommandHeader(id: id, expires: 60_000)
        header.opening = opening
        let topic = "waypost/v1/k1/cmd/\(sender)"
        let payload = Array(#"{"id":"\#(id)","type":"open","url":"\#(url)"}"#.utf8)
        return ReceivedCommand(
            MQTTMessage(topic: topic, payload: payload), from: sender, id: id, content: Array(url.utf8),
            address: ReplyAddress(topic: "r"), header: .success(header),
            operation: nil, rejection: rejection, at: 0, isStoredFirst: false, earlierStarts: 0)
    }

    private static func stored(_ command: ReceivedCommand, isDamaged: Bool = false) -> KnownCommand {
        KnownCommand(sequence: 7, digest: command.digest, reply: [1], isDamaged: isDamaged)
    }

    private mutating func receive(
        _ command: ReceivedCommand, stored: KnownCommand? = nil, refusal: Failure? = nil
    ) -> LedgerState.Finding {
        ledger.inFlight(command)
            ?? ledger.commandReceived(command, stored: stored, refusal: refusal)
    }

    @Test mutating func `gives a new command the next row, and a different one its own`() {
        #expect(receive(Self.command("a")) == .new(sequence: 41))
        #expect(receive(Self.command("b")) == .new(sequence: 42))
        #expect(receive(Self.command("a", from: "dev")) == .new(sequence: 43))
        #expect(ledger.shares.total.ids == 3)
        #expect(ledger.shares.total.waiting == 3)
    }

    @Test func `knows the id that another thread takes, and is done with, while the store is asked`() throws {
        let directory = NSTemporaryDirectory() + "waypost-ledger-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try Store(directory: directory)
        defer { store.close() }
        let ledger = try CommandLedger(
            AgentLimits(), store: store, topics: .standard, clock: AgentClock.system)
        var began: [LedgerState.Finding] = []
        func take(_ meanwhile: () throws -> Void) throws {
            let command = Self.command("a")
            let found = try ledger.take(command) {
                let known = try store.read(1) { try $0.known(command.topic, command.id) }
                try meanwhile()
                return known
            }
            guard case .new(let sequence) = found else { return }
            began.append(found)
            try store.commit { transaction in
                _ = try transaction.receive(
                    [
                        NewCommand(
                            sequence: sequence, topic: command.topic, id: command.id,
                            digest: command.digest.bytes, payload: command.payload, received: 0,
                            expires: 60_000, keepUntil: 60_000)
                    ], results: [:])
                try transaction.finish(InboxResult(sequence: sequence, attempt: 1, reply: [1]))
            }
            ledger.resultsCommitted([(sequence, 1)])
        }
        try take { try take {} }
        try take {}
        #expect(began == [.new(sequence: 1)])
        #expect(ledger.shares.total.ids == 1 && ledger.shares.total.waiting == 0)
    }

    @Test mutating func `says duplicate or conflict of what has no result on disk`() {
        _ = receive(Self.command("a"))
        #expect(receive(Self.command("a")) == .duplicate(sequence: 41, reply: nil))
        #expect(receive(Self.command("a", "a://c")) == .conflict)
        // Twice in one batch it is not in flight when the first look is taken.
        #expect(
            ledger.commandReceived(Self.command("a"), stored: nil, refusal: nil)
                == .duplicate(sequence: 41, reply: nil))
        #expect(ledger.shares.total.ids == 1)
    }

    @Test mutating func `says duplicate, conflict or damaged of what is stored`() {
        let command = Self.command("a")
        #expect(receive(command, stored: Self.stored(command)) == .duplicate(sequence: 7, reply: [1]))
        #expect(receive(Self.command("a", "a://c"), stored: Self.stored(command)) == .conflict)
        #expect(receive(command, stored: Self.stored(command, isDamaged: true)) == .damaged)
        #expect(ledger.shares.total == SenderShares.Use())
    }

    @Test(arguments: [true, false])
    mutating func `looks the id up before it asks what else is wrong`(isInFlight: Bool) {
        let command = Self.command("a")
        if isInFlight { _ = receive(command) }
        let (fast, full) = (Failure(.busy, "too fast"), Failure(.disk, "full"))
        let refused = Self.command("a", rejection: fast)
        let finding = receive(refused, stored: isInFlight ? nil : Self.stored(command), refusal: full)
        #expect(finding == .duplicate(sequence: isInFlight ? 41 : 7, reply: isInFlight ? nil : [1]))
        #expect(receive(Self.command("b", rejection: fast)) == .rejected(fast))
        #expect(receive(Self.command("b"), refusal: full) == .rejected(full))
        #expect(receive(Self.command("b")) == .new(sequence: isInFlight ? 42 : 41))
    }

    @Test mutating func `forgets what could not be stored, and gives its space back`() {
        _ = receive(Self.command("a"))
        ledger.notCommitted([41])
        #expect(ledger.shares.total == SenderShares.Use())
        #expect(receive(Self.command("a", "a://c")) == .new(sequence: 42))
    }

    @Test mutating func `leaves a command to the store once its result is there`() {
        let command = Self.command("a")
        _ = receive(command)
        ledger.resultsCommitted([(41, bytes: 100)])
        #expect(ledger.inFlight(command) == nil)
        #expect(ledger.shares.total.waiting == 0)
        #expect(ledger.shares.total.bytes == 100 + SenderShares.rowOverhead)
        // It can't end twice.
        ledger.resultsCommitted([(41, bytes: 100)])
        #expect(ledger.shares.total.bytes == 100 + SenderShares.rowOverhead)
    }

    @Test func `refuses a sender that holds its share, and no other`() {
        var limits = AgentLimits()
        (limits.dedupeKeys, limits.senderShare) = (8, 25)
        var ledger = LedgerState(shares: SenderShares(limits), lastSequence: 0)
        func receive(_ id: String, from sender: String) -> LedgerState.Finding {
            ledger.commandReceived(Self.command(id, from: sender), stored: nil, refusal: nil)
        }
        #expect(receive("a", from: "ops") == .new(sequence: 1))
        #expect(receive("b", from: "ops") == .new(sequence: 2))
        #expect(receive("c", from: "ops") == .noSpace(.idsOfSender))
        #expect(receive("c", from: "dev") == .new(sequence: 3))
        #expect(receive("a", from: "ops") == .duplicate(sequence: 1, reply: nil))
    }

    @Test func `takes of one batch no more for later than there is space`() throws {
        var limits = AgentLimits()
        (limits.scheduledCommands, limits.senderShare) = (4, 50)
        var ledger = LedgerState(shares: SenderShares(limits), lastSequence: 1)
        ledger.unfinishedEarlier(1, 0, isScheduled: true, of: "ops")
        func receive(_ id: String, from sender: String, isEarly: Bool = true) -> LedgerState.Finding {
            let command = Self.command(id, from: sender, opening: isEarly ? 1_000..<2_000 : nil)
            return ledger.commandReceived(command, stored: nil, refusal: nil)
        }
        #expect(receive("a", from: "ops") == .new(sequence: 2))
        #expect(receive("b", from: "ops") == .noSpace(.scheduledOfSender))
        #expect(receive("b", from: "ops", isEarly: false) == .new(sequence: 3))
        #expect(receive("c", from: "dev") == .new(sequence: 4))
        #expect(receive("d", from: "dev") == .new(sequence: 5))
        #expect(receive("e", from: "third") == .noSpace(.scheduled))
        ledger.notCommitted([4])
        ledger.resultsCommitted([(2, bytes: 0)])
        #expect(ledger.shares.total.scheduled == 2)
        #expect(receive("e", from: "third") == .new(sequence: 6))
    }

    @Test func `counts what an earlier run left`() {
        var ledger = LedgerState(shares: SenderShares(AgentLimits()), lastSequence: 2)
        ledger.storedEarlier(InboxUsage(topic: "t", rows: 2, bytes: 300), of: "ops")
        ledger.unfinishedEarlier(2, 100, of: "ops")
        #expect(ledger.shares.total.ids == 2)
        #expect(ledger.shares.total.waitingBytes == 100)
        ledger.resultsCommitted([(2, bytes: 50)])
        #expect(ledger.shares.total.waiting == 0)
        #expect(ledger.shares.total.bytes == 250 + 2 * SenderShares.rowOverhead)
    }
}
