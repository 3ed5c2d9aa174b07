import CMosquitto
import COpenSSL

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
