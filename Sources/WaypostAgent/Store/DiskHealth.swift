import MQTTLink
import Synchronization
import Threading
import Waypost
import WaypostMessages

/// A disk that takes nothing more, in any of three ways: the one place that knows of it, and says what follows.
///
/// - What the state file holds reaches `store-bytes`. ``refusal``: new commands and maps get 503 `DISK`, and their
///   senders try again. ``isTight(with:)``: results and reports of what was taken have space of their own beyond it.
/// - A commit fails, as on a full file system (``problem``). Nothing is acknowledged: intake refuses the batch, the link
///   drops the connection, and the broker sends again on the next. What waits in the journal is tried again every
///   ``retryInterval``.
/// - A commit hangs, as on a dying SD card (``hang``). Nothing is acknowledged before it ends. Health, times and a stop
///   have other threads, which never wait for the disk, and the link keeps its connection alive meanwhile.
///
/// The check `store` shows each (``finding``); ``DiskAlarm`` reports the last two without the disk.
final class DiskHealth: Sendable {
    /// How long a commit that failed waits for the next try.
    static let retryInterval = Duration.seconds(1)
    /// Longer than any transaction on a disk that works, in milliseconds.
    private static let longTransaction: Int64 = 10_000
    /// Results and reports have a quarter of the limit beyond it, and so many bytes at least.
    private static let leastReserve = 16 << 20

    /// Bytes beyond which nothing new is taken.
    let byteLimit: Int
    private let held = Atomic<Int>(0)
    /// Since when the transaction that runs now has been at the disk, as ``MonotonicTime/now``; 0 while none runs.
    private let busySince = Atomic<UInt64>(0)
    private let currentProblem = Guarded<StoreError?>(nil)
    private let whenFailed = Callback<StoreError, Void> { _ in }
    private let wasHanging = Atomic<Bool>(false)

    init(byteLimit: Int) { self.byteLimit = byteLimit }

    // MARK: What the store notes

    func transactionBegan() { busySince.store(MonotonicTime.now, ordering: .relaxed) }

    func transactionEnded() { busySince.store(0, ordering: .relaxed) }

    func committed() { currentProblem.withLock { if $0 != nil { $0 = nil } } }

    func failed(_ error: StoreError) {
        currentProblem.withLock { $0 = error }
        whenFailed(error)
    }

    func measured(_ bytes: Int) { held.store(bytes, ordering: .relaxed) }

    // MARK: What follows

    /// Bytes in use: pages that hold something, and what the log has beyond its usual size.
    var heldBytes: Int { held.load(ordering: .relaxed) }

    /// Why no new command or map is taken; nil when they are.
    var refusal: Failure? {
        heldBytes < byteLimit
            ? nil : Failure(.disk, "the store is full (\(heldBytes) of \(byteLimit) bytes)")
    }

    /// Whether the space for results and reports of what was taken runs short with `bytes` more.
    func isTight(with bytes: Int = 0) -> Bool {
        heldBytes - byteLimit > max(byteLimit / 4, Self.leastReserve) / 2 - bytes
    }

    /// Why the last commit failed; nil when it did not.
    var problem: StoreError? { currentProblem.withLock { $0 } }

    /// Calls `body` after each commit that fails, on the thread of the commit.
    func onFailure(_ body: @escaping @Sendable (StoreError) -> Void) { whenFailed.set(body) }

    /// What is wrong while a transaction does not end; nil when none takes that long.
    var hang: String? {
        let since = busySince.load(ordering: .relaxed)
        let now = MonotonicTime.now
        let age = since == 0 ? 0 : Int64(clamping: (now - min(since, now)) / 1_000_000)
        guard age > Self.longTransaction else { return nil }
        return "a transaction has waited for the disk for \(TimeText.span(age)); does the disk hang?"
    }

    /// What became of the disk since the last look; nil when that is nothing.
    func takeNews() -> News? {
        let hang = hang
        guard wasHanging.exchange(hang != nil, ordering: .relaxed) != (hang != nil) else { return nil }
        return hang.map(News.hangs) ?? .responds
    }

    enum News: Sendable {
        case hangs(String)
        case responds
    }

    /// What is wrong with the disk, for the check `store`; nil when nothing is.
    var finding: String? {
        if let text = problem?.description ?? hang { return text }
        guard heldBytes >= byteLimit.share(80) else { return nil }
        return
            "\(heldBytes) of \(byteLimit) bytes are used; when it is full, new commands and maps get 503 DISK"
    }
}

/// Reports at QoS 0 that nothing can be stored any more: a report at QoS 1 would have to be stored first.
///
/// The report leaves with the CONNECT of the next connection, before anything is received on it. Later is too late:
/// the broker first delivers what is not acknowledged, and because that can't be stored, the connection is dropped. It
/// may be dropped before the broker has read the report, so that leaves with each CONNECT until one has been answered.
/// A connection of its own is no way either: a broker that ties client ids to user names would end the agent's session.
final class DiskAlarm: Sendable {
    private struct State {
        var lastRaised: Int64?
        var waiting: MQTTMessage?
        /// Whether it went out with the CONNECT that was made last.
        var hasLeft = false
        /// Why nothing could be stored, since when, and how often; until ``takeOutage()``.
        var outage: FailureReport?
    }

    /// The shortest time between two alarms, in milliseconds.
    private static let interval: Int64 = 30_000

    private let topic: String
    private let clock: AgentClock
    private let state = Guarded(State())

    init(topic: String, clock: AgentClock) {
        self.topic = topic
        self.clock = clock
    }

    /// Raises the alarm; returns the report, or nil when one was made a moment ago.
    func raise(_ problem: String) -> MQTTMessage? {
        let (now, wall) = (clock.monotonic(), clock.wall())
        let report = FailureReport(
            id: Identifier.ulid(at: wall), code: .disk, origin: .agent, detail: problem, at: wall)
        return state.withLock { state in
            var outage = state.outage ?? report
            outage.detail = problem
            outage.last = wall
            if state.outage != nil { outage.count += 1 }
            state.outage = outage
            if let last = state.lastRaised, now - last < Self.interval { return nil }
            let message = message(outage)
            (state.lastRaised, state.waiting, state.hasLeft) = (now, message, false)
            return message
        }
    }

    /// Why nothing could be stored, once that is over: the report that could not be stored then.
    ///
    /// It has the id of the alarms, so that a reader of one takes it for the same.
    func takeOutage() -> FailureReport? {
        state.withLock { state in
            defer { state.outage = nil }
            return state.outage
        }
    }

    /// What leaves with a CONNECT that is made now.
    func messagesWithConnect() -> [MQTTMessage] {
        state.withLock { state in
            state.hasLeft = state.waiting != nil
            return state.waiting.map { [$0] } ?? []
        }
    }

    /// The broker has answered what was sent after the CONNECT, and so it has what came with it.
    func arrived() {
        state.withLock { state in
            if state.hasLeft { state.waiting = nil }
        }
    }

    private func message(_ report: FailureReport) -> MQTTMessage {
        var message = MQTTMessage.retained(topic, report.encoded())
        message.retain = false
        message.qos = .atMostOnce
        return message
    }
}
