import COpenSSL
import TestSupport
import Testing

/// A way in which an attempt to connect can end, and what is to be said of it.
enum ConnectionEnd: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case refused = "nobody listens"
    case unreachable = "no way leads there"
    case closedAtOnce = "closed at once"
    case resetAtOnce = "reset at once"
    case closedInHandshake = "closed after the first bytes"
    case resetInHandshake = "reset after the first bytes"
    case closedInMessage = "closed in the middle of an answer"
    case closedAtConnect = "closed at the CONNECT"
    case resetAtConnect = "reset at the CONNECT"
    case silent = "silent"
    case silentAtConnect = "silent at the CONNECT"
    case webServer = "a web server"
    case otherPort = "the port of the other transport"
    case unknownAuthority = "a certificate of an unknown authority"
    case wrongName = "a certificate for another name"
    case expired = "a certificate that has expired"
    case wantsCertificateEarly = "wants a certificate in the handshake"
    case wantsCertificateLate = "wants a certificate after the handshake"

    var testDescription: String { rawValue }

    /// Those that only TLS has.
    var isOfTLS: Bool {
        switch self {
        case .unknownAuthority, .wrongName, .expired, .wantsCertificateEarly, .wantsCertificateLate: true
        default: false
        }
    }

    var isSilent: Bool { self == .silent || self == .silentAtConnect }

    /// A broker that ends attempts so; nil where nobody is there.
    func broker(secured: Bool, _ certificates: TestCertificates) throws -> FakeBroker? {
        func secure(_ server: String = "server", demand: FakeTLS.Demand = .nothing) throws -> FakeTLS? {
            secured ? try FakeTLS(certificates, server: server, demand: demand) : nil
        }
        switch self {
        case .refused, .unreachable: return nil
        case .closedAtOnce: return try FakeBroker { try $0.closeAndWait() }
        case .resetAtOnce: return try FakeBroker { $0.resetAtEnd() }
        case .closedInHandshake:
            return try FakeBroker {
                try $0.readAnything()
                try $0.closeAndWait()
            }
        case .resetInHandshake:
            return try FakeBroker {
                try $0.readAnything()
                $0.resetAtEnd()
            }
        case .closedInMessage:
            return try FakeBroker {
                try $0.readAnything()
                // The beginning of a ServerHello, or of a CONNACK.
                try $0.write(secured ? [0x16, 3, 3, 0, 0x7A, 2] : [0x20])
                try $0.closeAndWait()
            }
        case .closedAtConnect:
            return try FakeBroker(tls: secure()) { _ = try $0.readPacket() }
        case .resetAtConnect:
            return try FakeBroker(tls: secure()) {
                _ = try $0.readPacket()
                $0.resetAtEnd()
            }
        case .silent: return try FakeBroker { while true { try $0.readAnything() } }
        case .silentAtConnect: return try FakeBroker(tls: secure()) { try $0.readToEnd() }
        case .webServer:
            return try FakeBroker {
                try $0.readAnything()
                try $0.write(Array("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".utf8))
                try $0.closeAndWait()
            }
        case .otherPort:
            // A broker without TLS does not understand a ClientHello and closes; one with TLS sends an alert.
            return secured
                ? try FakeBroker { _ = try $0.readPacket() }
                : try FakeBroker(tls: FakeTLS(certificates)) { try $0.readToEnd() }
        case .unknownAuthority: return try FakeBroker(tls: secure()) { try $0.readToEnd() }
        case .wrongName: return try FakeBroker(tls: secure("elsewhere")) { try $0.readToEnd() }
        case .expired: return try FakeBroker(tls: secure("expired")) { try $0.readToEnd() }
        case .wantsCertificateEarly:
            return try FakeBroker(tls: secure(demand: .certificate(version: TLS1_2_VERSION))) {
                try $0.readToEnd()
            }
        case .wantsCertificateLate:
            return try FakeBroker(tls: secure(demand: .certificate(version: TLS1_3_VERSION))) {
                try $0.readToEnd()
            }
        }
    }

    /// The parts of the report's sentence: how far it came, what was found, and what to do.
    func sentence(secured: Bool) -> [String] {
        let whileSecuring = secured ? "setting up TLS with" : "logging in to"
        let closed = "the broker closed the connection"
        let port = secured ? "is it the port for TLS?" : "does this port expect TLS (mqtts://)"
        let certificates = "check the certificates on both sides"
        switch self {
        case .refused: return ["connecting to", "Connection refused", "is a broker listening there?"]
        case .unreachable: return ["connecting to", "Network is unreachable", "check the address"]
        case .closedAtOnce, .resetAtOnce, .closedInHandshake, .resetInHandshake, .closedInMessage:
            return [whileSecuring, closed, port]
        case .closedAtConnect, .resetAtConnect:
            return ["logging in to", closed, secured ? "client certificate" : port]
        case .silent:
            return [
                whileSecuring, "no answer in time", "does not answer \(secured ? "TLS" : "MQTT")",
            ]
        case .silentAtConnect: return ["logging in to", "no answer in time", "does not answer MQTT"]
        case .webServer:
            return secured
                ? [whileSecuring, "wrong version number", certificates] : [whileSecuring, port]
        case .otherPort:
            return secured ? [whileSecuring, closed, port] : [whileSecuring, port]
        case .unknownAuthority: return [whileSecuring, "certificate verify failed", certificates]
        case .wrongName: return [whileSecuring, "host name verification failed", certificates]
        case .expired: return [whileSecuring, "certificate has expired", certificates]
        case .wantsCertificateEarly: return [whileSecuring, "handshake failure", certificates]
        // The alert comes after our part is done, and a write may meet the end first.
        case .wantsCertificateLate: return ["logging in to", "certificate"]
        }
    }
}
