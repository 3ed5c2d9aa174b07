import MQTTLink

/// How long the certificates of a connection are still valid: the agent's own, from its file, and the broker's.
struct CertificateCheck: Sendable {
    /// A certificate that ends sooner than this turns health red: two weeks are enough to renew one in working hours.
    static let warning: Int64 = 14 * 86_400

    /// The agent's own, for mutual TLS.
    let file: String?

    /// The finding; nil when there are no certificates.
    ///
    /// - Parameters:
    ///   - broker: the broker's, of the connection that is there or was there last.
    ///   - now: in milliseconds since 1970.
    func finding(broker: Certificate?, at now: Int64) -> (isOK: Bool, detail: String)? {
        // The file may be renewed at any time; the next connection will read it.
        let own = file.map { (Certificate.inFile($0).first, $0) }
        var parts: [(isOK: Bool, text: String)] = []
        if let (certificate, path) = own {
            parts.append(
                certificate.map { Self.check($0, "own", at: now / 1000) }
                    ?? (false, "own: no certificate in \(path)"))
        }
        if let broker { parts.append(Self.check(broker, "the broker's", at: now / 1000)) }
        guard !parts.isEmpty else { return nil }
        return (parts.allSatisfy(\.isOK), parts.map(\.text).joined(separator: "; "))
    }

    private static func check(
        _ certificate: Certificate, _ whose: String, at now: Int64
    ) -> (isOK: Bool, text: String) {
        let (left, overflow) = certificate.notAfter.subtractingReportingOverflow(now)
        if certificate.notBefore > now { return (false, "\(whose) is not valid yet") }
        guard !overflow, left > 0 else { return (false, "\(whose) has expired; renew it") }
        let days = left / 86_400
        return left < warning
            ? (false, "\(whose) expires in \(days) days; renew it")
            : (true, "\(whose) expires in \(days) days")
    }
}
