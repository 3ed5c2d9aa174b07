import MQTTLink
import Threading
import Waypost
import WaypostMessages

/// What is known of the connection to the broker, for health.
final class LinkStatus: Sendable {
    struct State: Sendable {
        var connects: Int64 = 0
        /// Messages that were too large to be read.
        var skipped: Int64 = 0
        /// The last connection; it may be over.
        var connection: Connection?
        var selfTest = SelfTest()

        /// The filters of subscriptions that the broker refused.
        var refusedSubscriptions: [String] {
            connection?.subscriptions.filter { !$0.isGranted }.map(\.subscription.filter) ?? []
        }
    }

    private let state = Guarded(State())

    var current: State { state.withLock { $0 } }

    func connected(_ connection: Connection) {
        state.withLock { state in
            state.connects += 1
            state.connection = connection
        }
    }

    /// Subscriptions were tried again; returns the filters that are granted now.
    func subscribed(_ connection: Connection) -> [String] {
        state.withLock { state in
            let refused = state.refusedSubscriptions
            state.connection = connection
            return refused.filter { !state.refusedSubscriptions.contains($0) }
        }
    }

    /// The most bytes that a payload may have now; some are left for topic and properties.
    ///
    /// - Parameter packetBytes: the largest packet whatever the broker takes.
    func maximumPayload(_ packetBytes: Int) -> Int {
        let broker = current.connection?.maximumPacketSize.map { Int($0) } ?? .max
        return max(1, min(packetBytes, broker) - 1_024)
    }

    func skipped() { state.withLock { $0.skipped += 1 } }

    func changeSelfTest<Value>(_ body: (inout SelfTest) -> Value) -> Value {
        state.withLock { body(&$0.selfTest) }
    }
}

extension DisconnectReason {
    /// The code under which the end of a connection is reported; nil for what happens in normal operation.
    var code: Code? {
        switch cause {
        case .refused: .connectRefused
        case .tls: .tls
        case .clientIDConflict, .sessionTakenOver: .clientIDConflict
        case .packetTooLarge: .tooLarge
        case .unknownHost, .network, .closedByBroker, .timedOut, .keepAlive, .unacknowledged,
            .serverDisconnect, .protocolViolation, .batchRefused, .library, .renewing, .returning, .stopped:
            nil
        }
    }
}
