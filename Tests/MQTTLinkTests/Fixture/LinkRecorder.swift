import MQTTLink
import Synchronization
import TestSupport

/// A call of a link to its delegate.
enum LinkEvent: Sendable {
    case connected(Connection)
    case batch([MQTTMessage])
    case skipped(SkippedMessage)
    case subscribed(Connection)
    case settled([PublishReceipt])
    case disconnected(DisconnectReason)

    var connection: Connection? { if case .connected(let connection) = self { connection } else { nil } }
    var messages: [MQTTMessage] { if case .batch(let batch) = self { batch } else { [] } }
    var receipts: [PublishReceipt] { if case .settled(let receipts) = self { receipts } else { [] } }
    var reason: DisconnectReason? { if case .disconnected(let reason) = self { reason } else { nil } }
}

/// A delegate that records its calls, and answers as the test wants.
final class LinkRecorder: MQTTLinkDelegate {
    let log = EventLog<LinkEvent>()
    private let answer: @Sendable ([MQTTMessage]) -> BatchDecision
    private let will: @Sendable (MQTTVersion) -> MQTTMessage?
    private let lent: @Sendable (ThreadLoan) -> Void
    private let agrees: @Sendable () -> BatchDecision
    private let ticked = Mutex(0)

    init(
        will: @escaping @Sendable (MQTTVersion) -> MQTTMessage? = { _ in nil },
        answer: @escaping @Sendable ([MQTTMessage]) -> BatchDecision = { _ in .acknowledge },
        lent: @escaping @Sendable (ThreadLoan) -> Void = { _ in },
        agrees: @escaping @Sendable () -> BatchDecision = { .acknowledge }
    ) {
        self.agrees = agrees
        self.lent = lent
        self.will = will
        self.answer = answer
    }

    var ticks: Int { ticked.withLock { $0 } }

    func linkWillConnect(_ version: MQTTVersion) -> MQTTMessage? { will(version) }
    func link(skipped message: SkippedMessage) { log.append(.skipped(message)) }
    func linkDidSubscribe(_ connection: Connection) { log.append(.subscribed(connection)) }
    func linkDidConnect(_ connection: Connection) { log.append(.connected(connection)) }
    func link(settled receipts: [PublishReceipt]) { log.append(.settled(receipts)) }
    func linkDidDisconnect(_ reason: DisconnectReason) { log.append(.disconnected(reason)) }
    func link(lends thread: ThreadLoan) { lent(thread) }
    func linkWillAcknowledge() -> BatchDecision { agrees() }
    func linkTick() { ticked.withLock { $0 += 1 } }

    func link(received batch: [MQTTMessage]) -> BatchDecision {
        let decision = answer(batch)
        log.append(.batch(batch))
        return decision
    }

    // MARK: Waiting

    var messages: [MQTTMessage] { log.events.flatMap(\.messages) }
    var receipts: [PublishReceipt] { log.events.flatMap(\.receipts) }
    var connections: [Connection] { log.events.compactMap(\.connection) }
    var skipped: [SkippedMessage] {
        log.events.compactMap { if case .skipped(let message) = $0 { message } else { nil } }
    }
    var reasons: [DisconnectReason] { log.events.compactMap(\.reason) }

    @discardableResult
    func connected(times: Int = 1) async throws -> Connection {
        try await log.wait(for: "connection number \(times)") { $0.count { $0.connection != nil } >= times }
        return connections[times - 1]
    }

    /// Waits for a connection behind a disconnection.
    func connectedAgain() async throws {
        try await log.wait(for: "a connection after a disconnection") { events in
            guard let end = events.firstIndex(where: { $0.reason != nil }) else { return false }
            return events[end...].contains { $0.connection != nil }
        }
    }

    @discardableResult
    func received(_ count: Int) async throws -> [MQTTMessage] {
        try await log.wait(for: count, "messages") { $0.messages.count }
        return messages
    }

    @discardableResult
    func settled(_ count: Int) async throws -> [PublishReceipt] {
        try await log.wait(for: count, "receipts") { $0.receipts.count }
        return receipts
    }

    @discardableResult
    func disconnected(times: Int = 1) async throws -> DisconnectReason {
        try await log.wait(for: "disconnection number \(times)") { $0.count { $0.reason != nil } >= times }
        return reasons[times - 1]
    }
}
