import CMosquitto
import Glibc

/// A call into libmosquitto that failed: its code, the system's when there is one, and what was being done.
struct LibraryError: Error, Sendable, CustomStringConvertible {
    var code: Int32
    var systemCode: Int32 = 0
    var doing: String

    /// The library's text for the code.
    var text: String { mosquitto_strerror(code).map { String(cString: $0) } ?? "error \(code)" }

    var description: String { "\(doing): \(text)" }

    /// What it means for a message that should have been published.
    var sendError: PublishReceipt.SendError {
        switch code {
        case MOSQ_ERR_OVERSIZE_PACKET.rawValue, MOSQ_ERR_PAYLOAD_SIZE.rawValue: .tooLarge
        default: .library(code: code, text: text)
        }
    }

    /// Nothing more can be sent on this connection.
    var meansNoConnection: Bool {
        code == MOSQ_ERR_NO_CONN.rawValue || code == MOSQ_ERR_CONN_LOST.rawValue
    }
}

extension DisconnectReason.Cause {
    /// What the end of a call, a callback's code or the library's log lines come down to.
    static func of(
        code: Int32, systemCode: Int32, logLines: [String] = [], certificateProblem: String? = nil
    ) -> Self {
        let findings = tlsFindings(logLines, certificateProblem)
        // The peer has closed the socket in the middle of TLS, which is no fault of a certificate.
        if findings == ["unexpected eof while reading"] { return .closedByBroker }
        if !findings.isEmpty { return .tls(findings.joined(separator: "; ")) }
        switch code {
        case MOSQ_ERR_CONN_LOST.rawValue, MOSQ_ERR_NO_CONN.rawValue, MOSQ_ERR_SUCCESS.rawValue:
            return .closedByBroker
        case MOSQ_ERR_KEEPALIVE.rawValue: return .keepAlive
        case MOSQ_ERR_ERRNO.rawValue:
            // OpenSSL's error, a write to a closed socket, or an errno that closing the socket has overwritten.
            return [0, EPROTO, EPIPE, EAGAIN].contains(systemCode) ? .closedByBroker : .system(systemCode)
        case MOSQ_ERR_PROTOCOL.rawValue, MOSQ_ERR_MALFORMED_PACKET.rawValue, MOSQ_ERR_MALFORMED_UTF8.rawValue,
            MOSQ_ERR_INVAL.rawValue, MOSQ_ERR_DUPLICATE_PROPERTY.rawValue, MOSQ_ERR_NOT_SUPPORTED.rawValue:
            return .protocolViolation(LibraryError(code: code, doing: "").text)
        default: return .library(code: code, text: LibraryError(code: code, doing: "").text)
        }
    }

    /// `OpenSSL Error[0]: error:0A000086:SSL routines::certificate verify failed` without the parts that say nothing.
    private static func tlsFindings(_ logLines: [String], _ certificateProblem: String?) -> [String] {
        var findings: [String] = []
        for line in logLines {
            if line.hasPrefix("OpenSSL Error") {
                findings.append(String(line.split(separator: ":").last ?? "error"))
            } else if line.hasPrefix("Error: ") {
                findings.append(String(line.dropFirst("Error: ".count)))
            }
        }
        if let certificateProblem { findings.append(certificateProblem) }
        return findings
    }
}

/// `ECONNRESET`, named so that the state machine needs no C library.
let connectionReset: Int32 = ECONNRESET

/// The codes that say that no way leads to an address.
let unreachable: Set<Int32> = [ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL]

extension DisconnectReason.Cause {
    /// The cause for an `errno`, in the system's words.
    static func system(_ code: Int32) -> Self {
        // strerror's text for a known number is a constant; only an unknown one is formatted.
        guard let text = strerror(code) else { return .network(code: code, text: "error") }
        return .network(code: code, text: String(cString: text))
    }
}

extension ProxyURL {
    /// The cause for a proxy to which there is no connection.
    func unreachable(_ cause: DisconnectReason.Cause) -> DisconnectReason.Cause {
        switch cause {
        case .network(let code, let text): .proxy("\(self) can't be reached: \(text) (errno \(code))")
        case .unknownHost(let text): .proxy("\(self) can't be reached: its name has no address (\(text))")
        default: .proxy("\(self) can't be reached")
        }
    }
}
