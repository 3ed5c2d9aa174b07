import Threading

/// The part of a session that the link calls.
final class SessionCore: MQTTLinkDelegate {
    enum Outcome: Sendable {
        case connected(Connection)
        case failed(DisconnectReason)
        case late
    }

    private struct Content {
        var outcome: Outcome?
        var connecting: CheckedContinuation<Outcome, Never>?
        var publishing: [UInt64: CheckedContinuation<PublishReceipt.Result, Never>] = [:]
        var lastToken: UInt64 = 0
        var endReason: DisconnectReason?
        var skipped = 0
        var isClosed = false
    }

    private let content = Guarded(Content())
    private let queue: MessageQueue
    private let will: MQTTMessage?

    init(_ queue: MessageQueue, will: MQTTMessage? = nil) { (self.queue, self.will) = (queue, will) }

    deinit { queue.finish() }

    var endReason: DisconnectReason? { content.withLock { $0.endReason } }

    var skipped: Int { content.withLock { $0.skipped } }

    /// What to throw when there is no connection any more.
    var error: MQTTSessionError? {
        content.withLock { content in content.isClosed ? .closed : content.endReason.map { .ended($0) } }
    }

    // MARK: The session's side

    func connected() async -> Outcome {
        await withCheckedContinuation { continuation in
            let outcome = content.withLock { content in
                if content.outcome == nil { content.connecting = continuation }
                return content.outcome
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }

    func connectDeadlinePassed() { decide(.late) }

    func closed() {
        let waiters = content.withLock { content in
            content.isClosed = true
            defer { content.publishing = [:] }
            return content.publishing.values.map(\.self)
        }
        for waiter in waiters { waiter.resume(returning: .lost) }
        queue.finish()
    }

    /// Gives a token to `publish` and waits for its receipt.
    func settled(_ publish: (UInt64) -> Void) async -> PublishReceipt.Result {
        await withCheckedContinuation { continuation in
            let token: UInt64? = content.withLock { content in
                if content.isClosed || content.endReason != nil { return nil }
                content.lastToken += 1
                content.publishing[content.lastToken] = continuation
                return content.lastToken
            }
            if let token { publish(token) } else { continuation.resume(returning: .lost) }
        }
    }

    private func decide(_ outcome: Outcome) {
        let waiter = content.withLock { content in
            if content.outcome != nil { return nil as CheckedContinuation<Outcome, Never>? }
            content.outcome = outcome
            defer { content.connecting = nil }
            return content.connecting
        }
        waiter?.resume(returning: outcome)
    }

    // MARK: The link's side

    func linkWillConnect(_ version: MQTTVersion) -> MQTTMessage? { will }

    func linkDidConnect(_ connection: Connection) { decide(.connected(connection)) }

    func link(received batch: [MQTTMessage]) -> BatchDecision {
        queue.append(batch)
        return .acknowledge
    }

    func link(skipped message: SkippedMessage) { content.withLock { $0.skipped += 1 } }

    func link(settled receipts: [PublishReceipt]) {
        let waiters = content.withLock { content in
            receipts.map { (content.publishing.removeValue(forKey: $0.token), $0.result) }
        }
        for (waiter, result) in waiters { waiter?.resume(returning: result) }
    }

    func linkDidDisconnect(_ reason: DisconnectReason) {
        // A session does not come back; a link that is not to reconnect reports its last reason without a next try.
        guard reason.retryIn == nil else { return }
        let waiters = content.withLock { content in
            content.endReason = reason
            defer { content.publishing = [:] }
            return content.publishing.values.map(\.self)
        }
        for waiter in waiters { waiter.resume(returning: .lost) }
        queue.finish()
        decide(.failed(reason))
    }
}
