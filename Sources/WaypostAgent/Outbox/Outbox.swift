import MQTTLink
import Synchronization

/// Sends what waits, in order and within the window: a loop with local state that lets ``OutboxState`` decide.
final class Outbox: Sendable {
    private enum Input: Sendable {
        case enqueue([OutboxItem])
        case replace(OutboxItem)
        case connected(receiveMaximum: Int)
        case disconnected
        case settled([PublishReceipt])
        case whenDrained(@Sendable () -> Void)
    }

    /// Hands messages to the link.
    typealias Publish = @Sendable ([OutgoingMessage]) -> Void
    /// Learns that the broker has an item, or refused it for good.
    typealias Settle = @Sendable (OutboxItem, PublishReceipt.Result) -> Void

    private let mailbox = Mailbox<Input>()
    private let window: Int
    private let logBacklog = Atomic<Int>(0)
    private let depth = Atomic<Int>(0)

    init(window: Int) { self.window = window }

    /// Log messages that wait; the event log holds back while there are some.
    var waitingLogs: Int { logBacklog.load(ordering: .relaxed) }
    /// Messages that wait or are under way.
    var waiting: Int { depth.load(ordering: .relaxed) }

    func enqueue(_ items: [OutboxItem]) {
        guard !items.isEmpty else { return }
        mailbox.send(.enqueue(items))
    }

    /// Sends a retained message in the place of one on the same topic that still waits.
    func replace(_ item: OutboxItem) { mailbox.send(.replace(item)) }

    func connected(receiveMaximum: Int) { mailbox.send(.connected(receiveMaximum: receiveMaximum)) }
    func disconnected() { mailbox.send(.disconnected) }
    func settled(_ receipts: [PublishReceipt]) { mailbox.send(.settled(receipts)) }
    func close() { mailbox.close() }

    /// Returns when nothing waits any more; not at all while the broker is away, so bound it.
    func drained() async {
        await withCheckedContinuation { continuation in
            mailbox.send(.whenDrained { continuation.resume() })
        }
    }

    /// Sends until ``close()``.
    func run(publish: Publish, settle: Settle) async {
        var state = OutboxState(window: window)
        var drained: [@Sendable () -> Void] = []
        while let batch = await mailbox.next() {
            for input in batch {
                switch input {
                case .enqueue(let items): for item in items { state.enqueued(item) }
                case .replace(let item): state.replaced(item)
                case .connected(let maximum): state.connected(receiveMaximum: maximum)
                case .disconnected: state.disconnected()
                case .settled(let receipts):
                    for receipt in receipts {
                        if receipt.result == .lost {
                            state.lost(receipt.token)
                        } else if let item = state.settled(receipt.token) {
                            settle(item, receipt.result)
                        }
                    }
                case .whenDrained(let call): drained.append(call)
                }
            }
            let sending = state.messagesToSend()
            if !sending.isEmpty {
                publish(sending.map { OutgoingMessage(token: $0.token, message: $0.message) })
            }
            logBacklog.store(state.waitingLogs, ordering: .relaxed)
            depth.store(state.count, ordering: .relaxed)
            if state.isEmpty {
                for call in drained { call() }
                drained = []
            }
        }
        for call in drained { call() }
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
