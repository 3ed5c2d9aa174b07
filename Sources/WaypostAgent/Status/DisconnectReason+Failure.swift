import MQTTLink
import Waypost
import WaypostMessages

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
