import CMosquitto
import COpenSSL
import Glibc

/// TLS, set up step by step.
///
/// Not by the library's own steps: they take every error of the system for "not yet" and forget it, so that a
/// connection that is lost meanwhile would be tried again without a pause, and never be said to be lost.
extension ClientHandle {
    /// What a step came to.
    enum SetupStep {
        case done
        case wantsRead
        case wantsWrite
        case failed(DisconnectReason.Cause)
    }

    /// The TLS session; nil without TLS.
    var session: OpaquePointer? { mosquitto_ssl_get(client).map { OpaquePointer($0) } }

    /// Whether TLS is still being set up; until it is, nothing else is read or written.
    var isSettingUpTLS: Bool { session.map { SSL_is_init_finished($0) == 0 } ?? false }

    /// Sets TLS up as far as the socket allows now.
    func setUpTLS() -> SetupStep {
        guard let session else { return .done }
        ERR_clear_error()
        errno = 0
        let result = SSL_do_handshake(session)
        let system = errno
        switch SSL_get_error(session, result) {
        case SSL_ERROR_NONE: return .done
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_SSL: return .failed(openSSLFindings())
        default: return .failed([0, EPIPE, ECONNRESET].contains(system) ? .closedByBroker : .system(system))
        }
    }

    /// What OpenSSL has found on this thread, behind what the library had to say of the certificate's name.
    private func openSSLFindings() -> DisconnectReason.Cause {
        var lines = sink.logLines
        while case let code = ERR_get_error(), code != 0 {
            if let text = ERR_reason_error_string(code) {
                lines.append("OpenSSL Error:" + String(cString: text))
            }
        }
        return .of(
            code: MOSQ_ERR_TLS.rawValue, systemCode: 0, logLines: lines,
            certificateProblem: CertificateProblem.of(client))
    }

    /// How the connect ended, when TLS has taken it from the socket, which reports it once; nil when it goes on.
    ///
    /// - Parameter code: the `errno` behind the connect, whose last call of the system was the first write of TLS.
    func endOfConnect(_ code: Int32) -> Int32? {
        var descriptor = pollfd(fd: socket, events: 0, revents: 0)
        guard session != nil, poll(&descriptor, 1, 0) > 0 else { return nil }
        // These say that it was connected, or is not yet: then the next step finds the end.
        return [0, EAGAIN, EINPROGRESS, EPIPE, ECONNRESET].contains(code) ? nil : code
    }
}

/// Why OpenSSL did not accept a certificate: expired, signed by someone unknown, not yet valid.
///
/// libmosquitto says only "certificate verify failed".
enum CertificateProblem {
    /// What is wrong with the certificate of a client's session; `nil` when it is fine, or there is none.
    static func of(_ client: OpaquePointer?) -> String? {
        guard let session = mosquitto_ssl_get(client) else { return nil }
        let code = SSL_get_verify_result(OpaquePointer(session))
        guard code != X509_V_OK else { return nil }
        return X509_verify_cert_error_string(code).map { String(cString: $0) }
    }
}
