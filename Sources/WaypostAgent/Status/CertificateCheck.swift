import MQTTLink

/// How long the certificates of a connection are still valid: the agent's own, from its file, and the broker's.
struct CertificateCheck: Sendable {
    /// The agent's own, for mutual TLS.
    let file: String?
    var disk: any CertificateDisk = FileDisk()

    /// The finding; nil when there are no certificates.
    ///
    /// - Parameters:
    ///   - broker: the broker's, of the connection that is there or was there last.
    ///   - now: in milliseconds since 1970.
    func finding(broker: Certificate?, at now: Int64) -> (isOK: Bool, detail: String)? {
        // The file may be renewed at any time; the next connection will read it.
        let own = file.map { (disk.certificate(in: $0), $0) }
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

    /// How many days are left of the agent's own, `own`, and of the broker's, `broker`; negative when it has expired.
    func days(broker: Certificate?, at now: Int64) -> [(whose: String, days: Int64)] {
        let own = file.flatMap(disk.certificate(in:))
        return [("own", own), ("broker", broker)].compactMap { whose, certificate in
            certificate.map {
                (whose, ($0.notAfter.subtractingReportingOverflow(now / 1000).partialValue) / 86_400)
            }
        }
    }

    private static func check(
        _ certificate: Certificate, _ whose: String, at now: Int64
    ) -> (isOK: Bool, text: String) {
        switch certificate.validity(at: now) {
        case .notYetValid: (false, "\(whose) is not valid yet")
        case .expired: (false, "\(whose) has expired; renew it")
        case .valid(let days, isEnding: true): (false, "\(whose) expires in \(days) days; renew it")
        case .valid(let days, isEnding: false): (true, "\(whose) expires in \(days) days")
        }
    }
}
