import MQTTLink
import TestSupport
import Waypost

@testable import MQTTLink
@testable import WaypostAgent
@testable import WaypostMessages

/// What is kept of many messages, and how long something may take.
extension BorderTests {
    private static let limits = AgentLimits()

    static let held: [Border] = senders + reports + disk + times

    private static func admissions(_ count: Int, at now: Int64, after used: Int = 0)
        -> [SenderTable.Admission]
    {
        var table = SenderTable(maximum: 1, rate: limits.intakeRate, burst: limits.intakeBurst)
        for _ in 0..<used { _ = table.admit("ops", at: 0) }
        return (0..<count).map { _ in table.admit("ops", at: now) }
    }

    /// The space of all senders, where one may have all of it unless it is tried what one may have.
    private static func space(_ share: Int = 100) -> SenderShares {
        var limits = limits
        limits.senderShare = share
        return SenderShares(limits)
    }

    private static func ids(_ count: Int, bytes: Int = 0) -> InboxUsage {
        InboxUsage(topic: "t", rows: count, bytes: bytes)
    }

    /// Whether the last of so many is taken, when all others are there.
    private static func isTaken(
        _ bytes: Int = 1, in space: SenderShares, _ fill: (inout SenderShares) -> Void
    )
        -> Bool
    {
        var space = space
        fill(&space)
        return space.reserve(bytes, for: "ops") == nil
    }

    private static let senders: [Border] = [
        Border(name: "messages of a sender at once", limit: limits.intakeBurst) {
            admissions($0, at: 0).allSatisfy { $0 == .within }
        },
        // As many again are looked up.
        Border(
            name: "messages that are read at once", limit: 2 * limits.intakeBurst, page: limits.intakeBurst
        ) {
            admissions($0, at: 0).allSatisfy { $0 != .unread }
        },
        Border(name: "messages of a sender in a second", limit: limits.intakeRate) {
            admissions($0, at: 1_000, after: limits.intakeBurst).allSatisfy { $0 == .within }
        },
        Border(name: "events at once", limit: limits.logBurst) { count in
            var bucket = TokenBucket(rate: limits.logRate, burst: limits.logBurst, at: 0)
            return (0..<count).allSatisfy { _ in bucket.take(at: 0) }
        },
        Border(name: "events in a second", limit: limits.logRate) { count in
            var bucket = TokenBucket(rate: limits.logRate, burst: limits.logBurst, at: 0)
            bucket.owe(limits.logBurst)
            return (0..<count).allSatisfy { _ in bucket.take(at: 1_000) }
        },
        Border(name: "ids", limit: limits.dedupeKeys) { count in
            isTaken(in: space()) { $0.storedEarlier(ids(count - 1), of: "ops") }
        },
        Border(name: "ids of a sender", limit: limits.dedupeKeys / 4, page: limits.senderShare) { count in
            isTaken(in: space(limits.senderShare)) { $0.storedEarlier(ids(count - 1), of: "ops") }
        },
        Border(name: "commands that wait", limit: limits.waitingCommands) { count in
            let message = MQTTMessage(topic: "t", payload: [])
            let reader = CommandReader(limits: limits, trusted: .none, mustBeSigned: false)
            return reader.refusal(of: message, busy: nil, isOutboxFull: false, waiting: count - 1) == nil
        },
        Border(
            name: "commands of a sender that wait", limit: limits.waitingCommands / 4,
            page: limits.senderShare
        ) { count in
            isTaken(in: space(limits.senderShare)) { space in
                for _ in 1..<count { space.unfinishedEarlier(0, of: "ops") }
            }
        },
        Border(name: "commands for later", limit: limits.scheduledCommands) { count in
            var space = space()
            return (0..<count).allSatisfy { _ in space.reserve(1, isScheduled: true, for: "ops") == nil }
        },
        Border(
            name: "commands of a sender for later", limit: limits.scheduledCommands / 4,
            page: limits.senderShare
        ) { count in
            var space = space(limits.senderShare)
            return (0..<count).allSatisfy { _ in space.reserve(1, isScheduled: true, for: "ops") == nil }
        },
        Border(name: "bytes of commands that wait", limit: limits.waitingBytes) { bytes in
            isTaken(bytes - 1_000, in: space()) { $0.unfinishedEarlier(1_000, of: "dev") }
        },
        Border(
            name: "bytes of a sender's commands that wait", limit: limits.waitingBytes / 4,
            page: limits.senderShare
        ) { bytes in
            isTaken(bytes - 1_000, in: space(limits.senderShare)) { $0.unfinishedEarlier(1_000, of: "ops") }
        },
        Border(
            name: "bytes of a sender on disk", limit: limits.storeBytes / 4, page: limits.senderShare
        ) { bytes in
            let row = 1 + SenderShares.rowOverhead
            return isTaken(in: space(limits.senderShare)) {
                $0.storedEarlier(ids(1, bytes: bytes - row - SenderShares.rowOverhead), of: "ops")
            }
        },
    ]

    /// Whether the last of so many reports, or the one that begins at the last of so many bytes, is stored.
    private static func isReported(_ count: Int, bytes: Int = 0, share: Int = 100) -> Bool {
        var quota = ReportQuota(records: limits.outboxRecords, bytes: limits.outboxBytes, share: share)
        for number in 1..<Int64(count) { quota.stored(number, bytes: 0, of: "ops") }
        if bytes > 0 { quota.stored(0, bytes: bytes - 1, of: "ops") }
        return quota.admits(of: "ops")
    }

    private static let reports: [Border] = [
        Border(name: "reports on disk", limit: limits.outboxRecords) { isReported($0) },
        Border(name: "bytes of reports on disk", limit: limits.outboxBytes) { isReported(1, bytes: $0) },
        Border(name: "reports of a sender", limit: limits.outboxRecords / 4, page: limits.senderShare) {
            isReported($0, share: limits.senderShare)
        },
        Border(name: "bytes of a sender's reports", limit: limits.outboxBytes / 4, page: limits.senderShare) {
            isReported(1, bytes: $0, share: limits.senderShare)
        },
    ]

    private static let disk: [Border] = [
        Border(name: "bytes of the state file", limit: limits.storeBytes) { bytes in
            let health = DiskHealth(byteLimit: limits.storeBytes)
            // The last byte that is taken is in what comes next.
            health.measured(bytes - 1)
            return health.refusal == nil
        },
        Border(name: "bytes that are not stored", limit: limits.volatileBytes) { bytes in
            func event(_ bytes: Int) -> OutboxItem {
                OutboxItem(
                    origin: .volatile, kind: .log,
                    message: MQTTMessage(topic: "t", payload: [UInt8](repeating: 0, count: bytes)))
            }
            var outbox = OutboxState(window: 10, volatileBytes: limits.volatileBytes)
            return outbox.enqueued(event(bytes / 2 - event(0).bytes))
                && outbox.enqueued(event(bytes - bytes / 2 - event(0).bytes))
        },
        Border(name: "starts of a command", limit: limits.attempts) { starts in
            let command = ReceivedCommand(
                MQTTMessage(topic: "t", payload: []), from: "ops", id: "c", content: [],
                address: ReplyAddress(topic: "r"), header: .success(CommandHeader(id: "c", expires: 60_000)),
                operation: nil, rejection: nil, at: 0, isStoredFirst: true, earlierStarts: starts - 1)
            return command.job(1, attempts: limits.attempts, at: 0, 0).end == nil
        },
    ]

    private static func milliseconds(_ duration: Duration) -> Int {
        Int(duration.components.seconds) * 1_000
            + Int(duration.components.attoseconds / 1_000_000_000_000_000)
    }

    private static let reconnect = MQTTLinkConfiguration.Reconnect()

    /// The highest end of the delays after so many rounds.
    private static func ceiling(_ rounds: Int) -> Int {
        milliseconds(
            Backoff(first: reconnect.first, longest: reconnect.longest).ceiling(afterRounds: rounds))
    }

    /// Whether a connection of so many milliseconds leaves the delay as long as failures before it have made it.
    private static func isUnstable(after milliseconds: Int) -> Bool {
        (1...8 as ClosedRange<UInt64>).contains { seed in
            var state = LinkState(
                LinkState.Settings(brokers: [BrokerURL(host: "one", port: 1_883)]),
                random: SeededGenerator(seed: seed))
            var now = ContinuousClock.now
            _ = state.started(at: now)
            for _ in 0..<10 {
                _ = state.ended(.closedByBroker, at: now)
                now = state.deadline ?? now
                _ = state.timePassed(at: now)
            }
            _ = state.accepted(sessionPresent: true, at: now)
            _ = state.subscribed(at: now)
            now += .milliseconds(milliseconds)
            return state.ended(.keepAlive, at: now).contains { action in
                if case .report(let reason) = action {
                    reason.retryIn ?? .zero > reconnect.first
                } else {
                    false
                }
            }
        }
    }

    private static let times: [Border] = [
        Border(name: "milliseconds of a handler", limit: milliseconds(limits.handlerDeadline)) { time in
            var queues = LaneQueues(deadline: Int64(milliseconds(limits.handlerDeadline)))
            let operation = Command.Operation.open(url: "a://b", parameters: [:])
            let header = CommandHeader(Command(id: "c", operation: operation, expires: 0))
            _ = queues.admitted(
                CommandJob(
                    sequence: 1, sender: "ops", address: ReplyAddress(topic: "r"), header: header,
                    payload: [],
                    .decoded(operation), startBy: 60_000), at: 0)
            // It ends at the last of its milliseconds.
            _ = queues.ticked(at: Int64(time) - 1)
            return !queues.isIdle
        },
        Border(name: "milliseconds to the first attempt", limit: milliseconds(reconnect.first)) {
            $0 <= ceiling(0)
        },
        Border(name: "milliseconds to any attempt", limit: milliseconds(reconnect.longest)) {
            $0 <= ceiling(.max)
        },
        // Beyond the last of these it is stable.
        Border(name: "milliseconds of a stable connection", limit: milliseconds(reconnect.stableAfter)) {
            isUnstable(after: $0 - 1)
        },
    ]
}
