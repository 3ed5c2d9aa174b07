import Threading

/// The part of a session that the link calls.
final class SessionCore: MQTTLinkDelegate {
    enum Outcome: Sendable {
        case connected(Connection)
        case failed(DisconnectReason)
        case late
    }

    private struct Content {
        var publishing: [UInt64: Promise<PublishReceipt.Result>] = [:]
        var lastToken: UInt64 = 0
        var endReason: DisconnectReason?
        var skipped = 0
        var isClosed = false
    }

    private let content = Guarded(Content())
    private let outcome = Promise<Outcome>()
    private let queue: MessageQueue

    init(_ queue: MessageQueue) { self.queue = queue }

    deinit { queue.finish() }

    var endReason: DisconnectReason? { content.withLock { $0.endReason } }

    var skipped: Int { content.withLock { $0.skipped } }

    /// What to throw when there is no connection any more.
    var error: MQTTSessionError? {
        content.withLock { content in content.isClosed ? .closed : content.endReason.map { .ended($0) } }
    }

    // MARK: The session's side

    func connected() async throws(CancellationError) -> Outcome { try await outcome.value() }

    func connectDeadlinePassed() { outcome.fulfill(.late) }

    func closed() {
        let waiters = content.withLock { content in
            content.isClosed = true
            defer { content.publishing = [:] }
            return content.publishing.values
        }
        for waiter in waiters { waiter.fulfill(.lost) }
        queue.finish()
    }

    /// Gives a token to `publish` and waits for its receipt.
    ///
    /// - Throws: `CancellationError` when the task is cancelled meanwhile; the message may be sent all the same.
    func settled(_ publish: (UInt64) -> Void) async throws(CancellationError) -> PublishReceipt.Result {
        let receipt = Promise<PublishReceipt.Result>()
        let token: UInt64? = content.withLock { content in
            if content.isClosed || content.endReason != nil { return nil }
            content.lastToken += 1
            content.publishing[content.lastToken] = receipt
            return content.lastToken
        }
        guard let token else { return .lost }
        publish(token)
        return try await receipt.value()
    }

    // MARK: The link's side

    func linkDidConnect(_ connection: Connection) { outcome.fulfill(.connected(connection)) }

    func link(received batch: [MQTTMessage]) -> BatchDecision {
        queue.append(batch)
        return .acknowledge
    }

    func link(skipped message: SkippedMessage) { content.withLock { $0.skipped += 1 } }

    func link(settled receipts: [PublishReceipt]) {
        let waiters = content.withLock { content in
            // Who waits for what is lost learns it with the end of the connection, which comes next and says why.
            receipts.filter { $0.result != .lost || content.endReason != nil }
                .map { (content.publishing.removeValue(forKey: $0.token), $0.result) }
        }
        for (waiter, result) in waiters { waiter?.fulfill(result) }
    }

    func linkDidDisconnect(_ reason: DisconnectReason) {
        // A session does not come back; a link that is not to reconnect reports its last reason without a next try.
        guard reason.retryIn == nil else { return }
        let waiters = content.withLock { content in
            content.endReason = reason
            defer { content.publishing = [:] }
            return content.publishing.values
        }
        for waiter in waiters { waiter.fulfill(.lost) }
        queue.finish()
        outcome.fulfill(.failed(reason))
    }
}
