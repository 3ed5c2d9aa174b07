import CoreMetrics
import Foundation
import MQTTLink
import Synchronization
import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite(.timeLimit(.minutes(60))) struct `The journal` {
    private static let topic = "waypost/v1/k1/cmd/ops"
    private let store: Store
    private let outbox: Outbox
    private let journal: Journal
    private let sent = Sent()
    private let isGathering = Flag()

    private final class Flag: Sendable {
        let value = Atomic(false)
    }

    private final class Sent: Sendable {
        private let messages = Guarded<[MQTTMessage]>([])

        var payloads: [[UInt8]] { messages.withLock { $0.map(\.payload) } }
        var count: Int { payloads.count }
        func add(_ sent: [OutgoingMessage]) { messages.withLock { $0 += sent.map(\.message) } }
    }

    init() throws {
        store = try Store(directory: NSTemporaryDirectory() + "waypost-journal-\(UUID().uuidString)")
        outbox = Outbox(
            limits: AgentLimits(), store: store, clock: .system,
            topics: try #require(Topics(root: "waypost/v1")),
            agent: "k1")
        journal = try Journal(
            store: store, outbox: outbox, failureTopic: "f", clock: .system, limits: AgentLimits(),
            durability: .full, handlerTimer: Timer(label: "handler"),
            connections: Journal.Connections(
                resultsCommitted: { _ in }, replyReplaced: { _, _ in },
                isGathering: { [isGathering] in isGathering.value.load(ordering: .relaxed) }))
        let sent = sent
        outbox.start(
            Outbox.Connections(
                publish: { sent.add($0) }, settled: { _ in }, accepted: {}, willRead: {},
                hasRoomForLogs: {}, damaged: { _ in }))
        outbox.connected(receiveMaximum: 65_535)
    }

    /// Stores a command and returns it as one that has ended.
    private func ended(_ id: String) throws -> EndedCommand {
        let row = try store.commit { try $0.receive(Self.command(id)) }
        return ended(id, row: try #require(row))
    }

    private func ended(_ id: String, row: Int64) -> EndedCommand {
        EndedCommand(
            job: CommandJob(
                sequence: row, sender: "ops", address: ReplyAddress(topic: "r"),
                header: CommandHeader(id: id, expires: .max), .encoded, startBy: .max),
            result: .ok())
    }

    private static func command(_ id: String) -> NewCommand {
        NewCommand(
            topic: topic, id: id, digest: SHA256.digest(of: Array(id.utf8)), payload: Array(id.utf8),
            received: 1, expires: 2, keepUntil: 3)
    }

    private func state(_ id: String) throws -> InboxState? {
        try store.commit { try $0.timeline(topic: Self.topic, id: id)?.state }
    }

    /// Commands that are not stored yet, named after their rows.
    private static func commands(_ rows: ClosedRange<Int64>) -> [NewCommand] {
        rows.map { row in
            var command = command("c\(row)")
            command.sequence = row
            return command
        }
    }

    private func journalWithoutDurability() throws -> Journal {
        try Journal(
            store: store, outbox: outbox, failureTopic: "f", clock: .system, limits: AgentLimits(),
            durability: .off, handlerTimer: Timer(label: "handler"), connections: journal.connections)
    }

    private func acknowledge(_ command: EndedCommand, in other: Journal? = nil) {
        let item = OutboxItem(
            origin: .reply(sequence: command.job.sequence), kind: .reply,
            message: MQTTMessage(topic: "r", payload: []))
        (other ?? journal).acknowledged([item])
    }

    @Test func `stores what a free thread brings before it returns, and sends the reply after that`() throws {
        try journal.ended([ended("c1")], isFree: true)
        #expect(try state("c1") == .finished)
        #expect(sent.count == 1)
    }

    // A look at the disk for each would be a hundred commits; on a slow machine some may be stored before the end.
    @Test func `stores what a thread gathers together, at the latest when it says so`() async throws {
        let commands = try (0..<100).map { try ended("c\($0)") }
        let before = store.commitCount
        isGathering.value.store(true, ordering: .relaxed)
        for command in commands { journal.ended([command], isFree: true) }
        journal.commitGathered()
        // The thread of the timer may be about it already, and is not waited for.
        try await eventually("the replies") { sent.count == commands.count }
        #expect(store.commitCount - before < 50)
        #expect(try commands.allSatisfy { try state($0.job.id) == .finished })
    }

    @Test func `stores the start of a command before its handler may run`() async throws {
        let command = try ended("c1")
        #expect(await journal.commit(.started(attempt: 1), of: command.job))
        #expect(try state("c1") == .started)
    }

    @Test func `lets acknowledgements ride together with the next command that is stored`() throws {
        let commands = try (0..<JournalState.batchSize).map { try ended("c\($0)") }
        journal.ended(commands, isFree: true)
        for command in commands { acknowledge(command) }
        _ = try journal.commit(steps: 1) { try $0.receive(Self.command("next")) }
        #expect(try commands.allSatisfy { try state($0.job.id) == .acknowledged })
        #expect(try state("next") == .received)
    }

    @Test func `stores an acknowledgement that comes alone without another's commit`() async throws {
        let command = try ended("c1")
        journal.ended([command], isFree: true)
        acknowledge(command)
        try await eventually("the acknowledgement on disk") { try state("c1") == .acknowledged }
    }

    /// - Parameter steps: the most that a commit may have leave no space in it for the acknowledgement.
    @Test(arguments: [1, AgentLimits().commitEntries])
    func `takes no acknowledgement for the one of a reply that is sent again later`(steps: Int) throws {
        let command = try ended("c1")
        journal.ended([command], isFree: true)
        acknowledge(command)
        try journal.commit(steps: steps, repeated: [command.job.sequence]) { _ in }
        journal.close()
        #expect(try state("c1") == .finished)
    }

    @Test func `stores the acknowledgements that wait when it is closed`() throws {
        let command = try ended("c1")
        journal.ended([command], isFree: true)
        acknowledge(command)
        journal.close()
        #expect(try state("c1") == .acknowledged)
    }

    // One table is gone, so that reports can't be stored: a stand-in for whatever an entry may meet.
    @Test
    func
        `does not let an entry that can't be stored keep commands from the disk, nor lose what came with it`()
        throws
    {
        try store.commit { try $0.database.execute("ALTER TABLE failures RENAME TO away") }
        journal.failed(FailureReport(id: "r1", code: .noRoute, origin: .router, detail: "d", at: 1))
        let command = try ended("c1")
        journal.ended([command])
        var calls = 0
        for number in 2...4 {
            _ = try journal.commit(steps: 1) { transaction in
                calls += 1
                return try transaction.receive(Self.command("c\(number)"))
            }
            #expect(try state("c\(number)") == .received)
        }
        // At most one of the three took the entries along and was done again without them.
        #expect(calls <= 4)
        #expect(try state("c1") == .received)
        #expect(sent.count == 0)
        try store.commit { try $0.database.execute("ALTER TABLE away RENAME TO failures") }
        journal.close()
        #expect(try state("c1") == .finished)
        #expect(sent.count == 2)
    }

    // The table is away, so that no commit can take them; later each takes a few.
    @Test func `keeps the order of what a commit that failed had taken`() async throws {
        var limits = AgentLimits()
        limits.commitEntries = 4
        let journal = try Journal(
            store: store, outbox: outbox, failureTopic: "f", clock: .system, limits: limits,
            durability: .full, handlerTimer: Timer(label: "handler"), connections: self.journal.connections)
        let ids = (10..<22).map { "c\($0)" }
        let commands = try ids.map(ended)
        try store.commit { try $0.database.execute("ALTER TABLE inbox RENAME TO away") }
        isGathering.value.store(true, ordering: .relaxed)
        for command in commands { journal.ended([command], isFree: true) }
        #expect(throws: StoreError.self) { try journal.commit { _ in } }
        #expect(sent.count == 0)
        try store.commit { try $0.database.execute("ALTER TABLE away RENAME TO inbox") }
        let sent = sent
        try await eventually("all to be sent", progress: { sent.count }) { sent.count == ids.count }
        #expect(try sent.payloads.map { try JSONValue(parsing: $0)["id"]?.stringValue } == ids)
    }

    // What can't be stored of a result must not keep the command from the disk, whose PUBACK waits for it.
    @Test func `stores commands that were received without the entries that can't be stored`() throws {
        try store.commit { try $0.database.execute("ALTER TABLE failures RENAME TO away") }
        #expect(journal.received([Self.command("c1")]))
        isGathering.value.store(true, ordering: .relaxed)
        journal.failed(FailureReport(id: "r1", code: .noRoute, origin: .router, detail: "d", at: 1))
        try journal.commitReceived()
        #expect(try state("c1") == .received)
    }

    @Test func `stores a command together with its result, in one commit`() throws {
        var command = Self.command("c1")
        command.sequence = 41
        #expect(journal.received([command]))
        let before = store.commitCount
        journal.ended([ended("c1", row: 41)], isFree: true)
        #expect(store.commitCount == before + 1)
        #expect(sent.count == 1)
        try journal.commitReceived()
        #expect(store.commitCount == before + 1)
        #expect(try state("c1") == .finished)
        let stored = try store.commit { try $0.unsentReplies(excluding: [], bytes: .max).records }
        #expect(stored.count == 1)
        #expect(stored.first?.damage == nil && stored.first?.payload == [])
    }

    @Test func `stores a command together with its start`() async throws {
        var command = Self.command("c1")
        command.sequence = 41
        #expect(journal.received([command]))
        #expect(await journal.commit(.started(attempt: 1), of: ended("c1", row: 41).job))
        #expect(try state("c1") == .started)
    }

    @Test func `takes no command when it is closed, or when each step is to have its commit`() throws {
        var limits = AgentLimits()
        limits.commitEntries = 1
        let journal = try Journal(
            store: store, outbox: outbox, failureTopic: "f", clock: .system, limits: limits,
            durability: .full, handlerTimer: Timer(label: "handler"), connections: self.journal.connections)
        #expect(!journal.received([Self.command("c1")]))
        self.journal.close()
        #expect(!self.journal.received([Self.command("c1")]))
    }

    // The table is away: nothing can be stored before it is sent.
    @Test func `sends what need not wait for the disk, and stores it when it can`() async throws {
        let journal = try journalWithoutDurability()
        try store.commit { try $0.database.execute("ALTER TABLE inbox RENAME TO away") }
        #expect(journal.received(Self.commands(41...43)))
        try journal.commitReceived()
        journal.ended([ended("c41", row: 41)], isFree: true)
        #expect(sent.count == 1)
        isGathering.value.store(true, ordering: .relaxed)
        journal.ended([ended("c42", row: 42)], isFree: true)
        #expect(sent.count == 1)
        journal.commitGathered()
        #expect(sent.count == 2)
        #expect(await journal.commit(.started(attempt: 1), of: ended("c43", row: 43).job))
        try store.commit { try $0.database.execute("ALTER TABLE away RENAME TO inbox") }
        for (id, expected) in [("c41", InboxState.finished), ("c42", .finished), ("c43", .started)] {
            try await eventually("\(id) to be \(expected)") { try state(id) == expected }
        }
        #expect(sent.count == 2)
    }

    // Another thread may bring the acknowledgement before the end of the command is noted.
    @Test(arguments: [false, true])
    func `stores how far a command has come that was not stored before`(isLate: Bool) throws {
        let journal = try journalWithoutDurability()
        #expect(journal.received(Self.commands(41...43)))
        let commands = (41...42).map { ended("c\($0)", row: $0) }
        if isLate { journal.ended(commands) }
        for command in commands { acknowledge(command, in: journal) }
        if !isLate { journal.ended(commands) }
        #expect(journal.commitSent())
        #expect(try ["c41", "c42", "c43"].map(state) == [.acknowledged, .acknowledged, .received])
        journal.ended([ended("c43", row: 43)])
        #expect(journal.commitSent())
        #expect(try state("c43") == .finished)
        acknowledge(ended("c43", row: 43), in: journal)
        #expect(journal.commitSent())
        #expect(try state("c43") == .acknowledged)
    }

    @Test func `says so when a command can't be stored, and keeps it`() throws {
        #expect(journal.received([Self.command("c1")]))
        try store.commit { try $0.database.execute("ALTER TABLE inbox RENAME TO away") }
        #expect(throws: StoreError.self) { try journal.commitReceived() }
        try store.commit { try $0.database.execute("ALTER TABLE away RENAME TO inbox") }
        try journal.commitReceived()
        #expect(try state("c1") == .received)
    }

    @Test func `stores each of many results once, whoever brings them, beside intake`() async throws {
        let commands = try (0..<400).map { try ended("c\($0)") }
        let journal = journal
        await withTaskGroup { group in
            for part in 0..<8 {
                group.addTask {
                    for index in stride(from: part, to: 400, by: 8) {
                        journal.ended([commands[index]], isFree: index % 3 != 0)
                    }
                }
            }
            group.addTask {
                for number in 0..<100 {
                    _ = try? journal.commit(steps: 1) { try $0.receive(Self.command("n\(number)")) }
                }
            }
        }
        journal.close()
        let finished = try store.commit { try $0.unsentReplies(excluding: [], bytes: .max).records.count }
        #expect(finished == 400)
        // The window lets 200 go; the others wait for acknowledgements.
        #expect(sent.count == 200)
        #expect(outbox.waiting == 400)
        #expect(journal.counters.ended[.ok] == 400)
    }

    // Several threads commit: the one that was first on the disk must be the first to send.
    @Test func `sends reports in the order in which they are on disk`() async throws {
        let journal = journal
        for round in 0..<10 {
            await withTaskGroup { group in
                for part in 0..<19 {
                    group.addTask {
                        journal.failed(
                            FailureReport(
                                id: "r\(round)-\(part)", code: .noRoute, origin: .router, detail: "d", at: 1))
                        _ = try? journal.commit(steps: 1) {
                            try $0.receive(Self.command("c\(round)-\(part)"))
                        }
                    }
                }
            }
        }
        journal.close()
        let onDisk = try store.commit { try $0.outbox().records.map(\.payload) }
        #expect(onDisk.count == 190)
        #expect(sent.payloads == onDisk)
    }

    @Test func `takes nothing after its end`() async throws {
        journal.close()
        let command = try ended("c1")
        journal.ended([command], isFree: true)
        #expect(await !journal.commit(.started(attempt: 1), of: command.job))
        #expect(try state("c1") == .received)
    }
}
