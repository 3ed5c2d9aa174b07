import MQTTLink
import Waypost
import WaypostMessages

/// What is known of the connection to the broker, for health.
final class LinkStatus: Sendable {
    /// What the self-test over the agent's own echo topic showed.
    enum Echo: String, Sendable {
        case pending, ok, missing
    }

    struct State: Sendable {
        var connects: Int64 = 0
        /// The last connection; it may be over.
        var connection: Connection?
        var echo = Echo.pending

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
            state.echo = .pending
        }
    }

    func echoReceived() { state.withLock { $0.echo = .ok } }

    /// Whether the message to itself should be back by now and is not; true once for each connection.
    func isEchoMissing() -> Bool {
        state.withLock { state in
            guard state.echo == .pending, state.connects > 0 else { return false }
            state.echo = .missing
            return true
        }
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
        case .unknownHost, .network, .closedByBroker, .timedOut, .keepAlive, .serverDisconnect,
            .protocolViolation, .batchRefused, .library, .renewing, .stopped:
            nil
        }
    }
}
