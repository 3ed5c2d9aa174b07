import MQTTLink
import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

/// What an agent decides without a thread and without a disk: each at its border and beside it, and with what is left
/// of before.
@Suite struct `Decisions at their borders` {
    // MARK: Space

    @Test func `commands run up to the share of their sender and up to all space, to the byte`() {
        var space = RunningSpace(limit: 10_000, share: 50)
        space.began(2_000, of: "ops")
        space.began(2_000, of: "dev")
        #expect(space.fits(3_000, of: "ops") && !space.fits(3_001, of: "ops"))
        space.began(3_000, of: "dev")
        #expect(space.fits(3_000, of: "ops") && !space.fits(3_001, of: "ops"))
        space.began(1, of: "one")
        #expect(!space.fits(3_000, of: "ops"))
    }

    @Test func `opens wait at gates up to half of a share and half of all space, to the byte`() {
        var space = RunningSpace(limit: 20_000, share: 50)
        func isHeld(_ bytes: Int, of sender: String) -> Bool {
            space.reasonNotToHold(bytes, of: sender) == nil
        }
        func hold(_ bytes: Int, of sender: String) {
            space.began(bytes, of: sender)
            space.held(bytes, of: sender, true)
        }
        hold(2_000, of: "ops")
        #expect(isHeld(3_000, of: "ops") && !isHeld(3_001, of: "ops"))
        for sender in ["a", "b"] { hold(4_000, of: sender) }
        // Half of all is taken: a little one of who has none waits yet.
        #expect(isHeld(RunningSpace.small, of: "new") && !isHeld(RunningSpace.small + 1, of: "new"))
        #expect(!isHeld(1, of: "ops"))
    }

    @Test func `bytes under way have a limit, and those of a line a share of it, to the byte`() {
        var traffic = OutboxTraffic(maximum: 1_000, share: 600)
        func item(_ bytes: Int, _ topic: String) -> OutboxItem {
            let message = MQTTMessage(topic: topic, payload: [UInt8](repeating: 0, count: bytes - 129))
            return OutboxItem(origin: .volatile, kind: .reply, message: message)
        }
        traffic.sent(item(400, "a"))
        #expect(traffic.admission(of: item(200, "a")) == .now)
        #expect(traffic.admission(of: item(201, "a")) == .behindItsOwn)
        #expect(traffic.admission(of: item(600, "b")) == .now)
        #expect(traffic.admission(of: item(601, "b")) == .later)
    }

    @Test func `who has used four of five parts of a share is named`() {
        var limits = AgentLimits()
        (limits.dedupeKeys, limits.senderShare) = (1_000, 10)
        for (count, isNear) in [(79, false), (80, true)] {
            var shares = SenderShares(limits)
            shares.storedEarlier(InboxUsage(topic: "t", rows: count, bytes: 0), of: "ops")
            #expect((shares.nearLimit != nil) == isNear, "\(count) of 100")
        }
    }

    private func job(_ sequence: Int64, lane: String, bytes: Int, startBy: Int64 = 60_000) -> CommandJob {
        let operation = Command.Operation.open(url: "a://b", parameters: [:])
        let command = Command(id: "c\(sequence)", operation: operation, expires: 0, lane: lane)
        return CommandJob(
            sequence: sequence, sender: "ops", address: ReplyAddress(topic: "r"),
            header: CommandHeader(command), payload: Array(repeating: 0x20, count: bytes),
            .decoded(operation), startBy: startBy)
    }

    @Test(arguments: [true, false])
    func `a lane goes on when what waited for space in it is cancelled or expires`(_ isCanceled: Bool) {
        var queues = LaneQueues(runningBytes: 10)
        _ = queues.admitted(job(1, lane: "a", bytes: 10), at: 0)
        for (number, bytes) in [(2, 10), (3, 0)] as [(Int64, Int)] {
            let action = queues.admitted(job(number, lane: "b", bytes: bytes, startBy: 90 + number), at: 0)
            #expect(action.isEmpty)
        }
        let actions = isCanceled ? queues.cancel(id: "c2", by: "ops", at: 1).1 : queues.ticked(at: 92)
        let runs = actions.compactMap { if case .run(let job) = $0 { job.sequence } else { nil } }
        #expect(runs == [3])
    }

    @Test func `what was refused first is sent again first, whatever is refused after it`() {
        var outbox = OutboxState(window: 10)
        outbox.connected(receiveMaximum: 10)
        for name in ["a", "b"] {
            let message = MQTTMessage(topic: name, payload: [], qos: .atLeastOnce)
            _ = outbox.enqueued(OutboxItem(origin: .volatile, kind: .reply, message: message))
        }
        let sent = outbox.messagesToSend()
        for (message, time) in zip(sent, [0, 500] as [Int64]) {
            let receipt = PublishReceipt(token: message.token, result: .refused(.quotaExceeded))
            _ = outbox.settled(receipt, at: time)
        }
        #expect(outbox.retryDue == 1_000)
        outbox.retry(at: 1_000)
        let again = outbox.messagesToSend()
        #expect(again.map(\.message.topic) == ["a"] && outbox.retryDue == 1_500)
    }

    // MARK: Senders

    @Test func `a new rate holds for look-ups too, and one that was in vain is given back`() {
        var table = SenderTable(maximum: 4, rate: 1, burst: 1)
        func admit(_ count: Int) -> [SenderTable.Admission] {
            (0..<count).map { _ in table.admit("ops", at: 0) }
        }
        #expect(admit(3) == [.within, .lookedUp, .unread])
        table.refund("ops", .lookedUp)
        #expect(admit(2) == [.lookedUp, .unread])
        table.setLimits(rate: 2, burst: 2, at: 0)
        #expect(admit(5) == [.within, .within, .lookedUp, .lookedUp, .unread])
    }

    @Test func `after a crash commands are stored first for a minute from the first connection on`() {
        var afterCrash = CrashGuard()
        let message = MQTTMessage(topic: "t", payload: [], qos: .atLeastOnce)
        afterCrash.connected(at: 1_000)
        afterCrash.connected(at: 50_000)
        #expect(afterCrash.storesFirst(message, at: 60_999))
        #expect(!afterCrash.storesFirst(message, at: 61_000))
    }

    // MARK: Reports

    private func failure(_ detail: String, at time: Int64 = 1) -> FailureReport {
        FailureReport(id: "f", code: .badJSON, origin: .intake, detail: detail, at: time)
    }

    @Test func `so many failures are watched, and each repetition of these is in a count`() {
        let log = FailureLog(limit: 2)
        let reported = ["a", "b", "c", "a", "b", "c"].map { log.occurred(failure($0)).count }
        #expect(reported == [1, 1, 1, 0, 0, 1])
        #expect(log.windowsOver(at: nil).map(\.count) == [2, 2])
        #expect(log.isEmpty)
    }

    @Test func `what is reported with its count is reported again only when it occurs again`() {
        let log = FailureLog(limit: 2)
        var outage = failure("a")
        outage.count = 5
        #expect(log.occurred(outage).map(\.count) == [5])
        #expect(log.windowsOver(at: nil).isEmpty && log.isEmpty)
        _ = log.occurred(outage)
        #expect(log.occurred(failure("a")).isEmpty)
        #expect(log.windowsOver(at: nil).map(\.count) == [6])
    }

    @Test func `refusals are said every 10 s, those between once as a number`() {
        let log = RefusalLog()
        #expect(log.refused(at: 0, "a") == ["a"])
        #expect(log.refused(at: 9_999, "b") == [])
        #expect(log.refused(at: 10_000, "c") == ["the broker refused 1 more message", "c"])
        #expect(log.refused(at: 20_000, "d") == ["d"])
        #expect(log.summary(at: nil) == [])
    }

    @Test func `a full share is counted, and the count is said when it has space again`() {
        var quota = ReportQuota(records: 8, bytes: .max, share: 25)
        for number in 1...2 { quota.stored(Int64(number), bytes: 1, of: "loud") }
        let isTaken = (0..<3).map { _ in quota.admits(of: "loud") }
        #expect(isTaken == [false, false, false] && quota.dropped == 3)
        let early = quota.takeDropped()
        #expect(early == nil)
        quota.removed(1)
        let late = quota.takeDropped()
        #expect(late?.sender == "loud" && late?.count == 3 && quota.dropped == 0)
    }

    @Test func `an alarm of the disk is said every 30 s, and kept until it has left`() {
        let clock = TurnedClock()
        let alarm = DiskAlarm(topic: "t", clock: clock.clock)
        #expect(alarm.raise("full") != nil)
        // What the broker answered was not for it.
        alarm.arrived()
        #expect(alarm.messagesWithConnect().count == 1)
        alarm.arrived()
        #expect(alarm.messagesWithConnect().isEmpty)
        clock.advance(29_999)
        #expect(alarm.raise("full") == nil)
        clock.advance(1)
        #expect(alarm.raise("full") != nil && alarm.takeOutage()?.count == 3)
    }

    // MARK: Maps

    private func map(_ number: UInt8) -> MapBudget.Postponed {
        MapBudget.Postponed(
            message: MQTTMessage(topic: "t", payload: [number]), key: "k1", audience: .agent("k1"))
    }

    @Test func `a map that waits for its turn does not come after a newer one`() {
        var budget = MapBudget(rate: 1)
        let first = (0..<6).map { budget.documentCame(map($0), on: "k1", at: 0) }
        #expect(first == [.read, .read, .read, .read, .read, .report])
        #expect(budget.documentCame(map(9), on: "k1", at: 1_000) == .read)
        #expect(budget.takePostponed(at: 60_000).isEmpty)
    }

    @Test func `that maps wait is said every 10 s`() {
        var budget = MapBudget(rate: 1)
        #expect(budget.documentCame(map(1), on: "k1", at: 0) == .read)
        budget.checked("k1", effort: 10_000)
        let said = [0, 9_999, 10_000, 10_001].map { budget.documentCame(map(2), on: "k1", at: $0) }
        #expect(said == [.report, .skip, .report, .skip])
        #expect(budget.takePostponed(at: 200_000).map(\.message.payload) == [[2]])
    }

    // MARK: Health

    @Test func `a check is dated by when it came to be so`() {
        let history = HealthHistory()
        func since(_ state: HealthCheck.State, at now: Int64) -> Int64? {
            history.dated([HealthCheck("disk", state, "")], at: now)[0].since
        }
        #expect([since(.ok, at: 1), since(.ok, at: 4)] == [1, 1])
        #expect([since(.failed, at: 5), since(.failed, at: 9)] == [5, 5])
        #expect([since(.unknown, at: 12), since(.ok, at: 20), since(.ok, at: 21)] == [12, 20, 20])
    }

    @Test func `a check that is not made yet is no news for the log`() {
        let history = HealthHistory()
        func logged(_ check: HealthCheck) -> [String] {
            history.takeUnlogged(history.dated([check], at: 1)).map(\.name)
        }
        #expect(logged(.unknown("echo", "pending", isPending: true)) == [])
        #expect(logged(.unknown("echo", "no answer")) == ["echo"])
        #expect(logged(.unknown("echo", "no answer")) == [])
    }

    @Test func `an outage is told again after a connection, and a reason with a code stays`() throws {
        let status = LinkStatus(optional: [])
        let broker = try BrokerURL("mqtt://broker")
        func lost(_ cause: DisconnectReason.Cause, _ code: Code? = nil, at now: Int64) -> (Code?, Bool) {
            let found = status.disconnected(
                DisconnectReason(cause: cause, stage: .connecting, broker: broker), "it ended", code: code,
                at: now, now)
            return (found.outage.cause.code, found.isLineDue)
        }
        #expect(lost(.tls("no"), .tls, at: 0) == (.tls, true))
        #expect(lost(.tls("no"), .tls, at: 59_999) == (.tls, false))
        #expect(lost(.timedOut, at: 60_000) == (.tls, true))
        status.connected(Connection(broker: broker, version: .v5))
        #expect(lost(.timedOut, at: 60_001) == (nil, true))
    }

    // MARK: Pages of events

    private func event(at time: Int64, _ number: Int64 = 1) -> LogEvent {
        LogEvent(
            time: time, level: .info, tag: "t", boot: "B", sequence: number, process: 1, thread: 1,
            message: "m")
    }

    @Test func `a page begins with the event of exactly the oldest time and behind the last number`() throws {
        let filter = EventPage.Filter(since: 1, oldest: 5, query: try LogQuery(""), agent: "k1", now: 9)
        #expect([4, 5, 6].map { filter.takes(event(at: $0, 2)) } == [false, true, true])
        #expect([1, 2].map { filter.takes(event(at: 5, $0)) } == [false, true])
    }

    @Test(arguments: [("B", 2..<9 as Range<Int64>), ("A", 0..<0)])
    func `a page of another start of the agent has nothing of this one`(
        _ boot: String, _ open: Range<Int64>
    ) throws {
        let wanted = Replay.Page(before: Replay.Place(boot: boot, sequence: 9))
        let page = try EventPage(
            Replay(since: 1, page: wanted), wanted, of: "k1", boot: "B", bytes: 1_000, at: 9)
        #expect(page.open == open)
    }
}
