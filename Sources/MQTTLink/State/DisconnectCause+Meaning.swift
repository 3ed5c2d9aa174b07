extension DisconnectReason.Cause {
    /// What a broker that knows only 3.1.1 may do to a v5 CONNECT, besides refusing it properly.
    var mayMeanOldBroker: Bool {
        switch self {
        case .closedByBroker, .protocolViolation: true
        case .network(let code, _): code == connectionReset
        default: false
        }
    }

    /// What a broker may do to a 3.1.1 CONNECT that has come to know another version.
    var mayMeanOtherVersion: Bool {
        if case .refused(.unsupportedProtocolVersion, _) = self { return true }
        return mayMeanOldBroker
    }

    /// The broker is there and does not want us now, or not here: asking again soon would only be noise.
    var asksToStayAway: Bool {
        switch self {
        case .refused(let code, _), .serverDisconnect(let code):
            [.quotaExceeded, .useAnotherServer, .serverMoved].contains(code)
        default: false
        }
    }

    /// The next broker of the list is the better choice.
    var meansAnotherBroker: Bool {
        switch self {
        case .keepAlive, .unacknowledged, .serverDisconnect: true
        default: asksToStayAway
        }
    }
}
