import CMosquitto
import Glibc

/// Why OpenSSL did not accept a certificate: expired, signed by someone unknown, not yet valid.
///
/// libmosquitto says only "certificate verify failed". OpenSSL knows more, and is loaded with libmosquitto; its
/// two functions are looked up by name, so that its headers are not needed to build.
enum CertificateProblem {
    private typealias Result = @convention(c) (UnsafeMutableRawPointer?) -> Int
    private typealias Text = @convention(c) (Int) -> UnsafePointer<CChar>?

    private static let result: Result? = find("SSL_get_verify_result")
    private static let text: Text? = find("X509_verify_cert_error_string")

    private static func find<Function>(_ name: String) -> Function? {
        dlsym(nil, name).map { unsafeBitCast($0, to: Function.self) }
    }

    /// What is wrong with the certificate of a client's session; `nil` when it is fine, or there is none.
    static func of(_ client: OpaquePointer?) -> String? {
        guard let result, let text, let session = mosquitto_ssl_get(client) else { return nil }
        let code = result(session)
        // 0 is X509_V_OK.
        guard code != 0, let words = text(code) else { return nil }
        return String(cString: words)
    }
}
