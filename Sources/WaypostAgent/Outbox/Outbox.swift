import MQTTLink
import Synchronization
import Waypost

/// Sends what waits, in order and within the window: ``OutboxState`` decides behind a lock.
///
/// Whoever brings news sends what it makes possible, on his own thread: handing it to a task first would cost a
/// change of thread for every batch of replies and one for every batch of acknowledgements.
final class Outbox: Sendable {
    /// Hands messages to the link; called behind the lock, so that the order is kept, and must not call back.
    typealias Publish = @Sendable ([OutgoingMessage]) -> Void
    /// Learns that the broker has an item, or refused it for good.
    typealias Settle = @Sendable (OutboxItem, PublishReceipt.Result) -> Void

    private struct State {
        var items: OutboxState
        var publish: Publish?
        var settle: Settle?
        var drained: [@Sendable () -> Void] = []
        var isClosed = false
    }

    private let state: Guarded<State>
    /// Closed with the outbox.
    private let ended = Mailbox<Never>()
    private let logBacklog = Atomic<Int>(0)
    private let depth = Atomic<Int>(0)

    init(window: Int) { state = Guarded(State(items: OutboxState(window: window))) }

    /// Log messages that wait; the event log holds back while there are some.
    var waitingLogs: Int { logBacklog.load(ordering: .relaxed) }
    /// Messages that wait or are under way.
    var waiting: Int { depth.load(ordering: .relaxed) }

    /// Whether there is a broker to send to.
    var isOnline: Bool { state.withLock { $0.items.isOnline } }

    func enqueue(_ items: [OutboxItem]) {
        guard !items.isEmpty else { return }
        change { state in for item in items { state.items.enqueued(item) } }
    }

    /// Sends a retained message in the place of one on the same topic that still waits.
    func replace(_ item: OutboxItem) { change { $0.items.replaced(item) } }

    func connected(receiveMaximum: Int) { change { $0.items.connected(receiveMaximum: receiveMaximum) } }
    func disconnected() { change { $0.items.disconnected() } }

    /// Takes the broker's answers, and tells `settle` of those that are final.
    func settled(_ receipts: [PublishReceipt]) {
        var settled: [(item: OutboxItem, result: PublishReceipt.Result)] = []
        var settle: Settle?
        let drained = decide { state in
            settle = state.settle
            for receipt in receipts {
                if receipt.result == .lost {
                    state.items.lost(receipt.token)
                } else if let item = state.items.settled(receipt.token) {
                    settled.append((item, receipt.result))
                }
            }
        }
        for (item, result) in settled { settle?(item, result) }
        // Last: who waits for an empty outbox may close the journal next.
        for call in drained { call() }
    }

    /// Sends nothing more, and ends ``run(publish:settle:)``.
    func close() {
        let drained = state.withLock { state in
            state.isClosed = true
            state.publish = nil
            state.settle = nil
            defer { state.drained = [] }
            return state.drained
        }
        for call in drained { call() }
        ended.close()
    }

    /// Returns when nothing waits any more; not at all while the broker is away, so bound it.
    func drained() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                guard !state.isClosed, !state.items.isEmpty else { return true }
                state.drained.append { continuation.resume() }
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    /// Sends until ``close()``; what was enqueued before waits for it.
    func run(publish: @escaping Publish, settle: @escaping Settle) async {
        change { state in
            state.publish = publish
            state.settle = settle
        }
        _ = await ended.next()
    }

    private func change(_ body: (inout State) -> Void) {
        for call in decide(body) { call() }
    }

    /// Changes the state and sends what may be sent; returns whom to tell that nothing waits any more.
    private func decide(_ body: (inout State) -> Void) -> [@Sendable () -> Void] {
        state.withLock { state in
            guard !state.isClosed else { return [] }
            body(&state)
            if let publish = state.publish {
                let sending = state.items.messagesToSend()
                if !sending.isEmpty {
                    publish(sending.map { OutgoingMessage(token: $0.token, message: $0.message) })
                }
            }
            logBacklog.store(state.items.waitingLogs, ordering: .relaxed)
            depth.store(state.items.count, ordering: .relaxed)
            guard state.items.isEmpty else { return [] }
            defer { state.drained = [] }
            return state.drained
        }
    }
}

extension OutboxItem {
    /// A failure report, or a refusal, that waits on disk.
    init(_ record: OutboxRecord) {
        let address = ReplyAddress(stored: record.properties, usual: record.topic)
        self.init(
            origin: .stored(sequence: record.sequence), kind: .failure,
            message: address.message(record.payload))
    }
}
