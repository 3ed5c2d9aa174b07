import MQTTLink

/// Looks at the certificates of a connection: the broker's, our own, the authorities we trust.
struct CertificateCheck {
    /// Two weeks: enough to renew one in working hours.
    private static let warning: Int64 = 14 * 86_400

    let tls: TLSOptions?
    /// In seconds since 1970.
    let now: Int64

    /// - Parameter broker: the certificate of the connection; the link has checked its chain and its name.
    func findings(of broker: Certificate?, host: String) -> [Finding] {
        var findings: [Finding] = []
        if let broker {
            findings.append(
                judge(
                    broker, "the broker's (\(broker.subject)) is valid for \(host) and", renew: "the broker's"
                )
            )
        }
        if let file = tls?.certificateFile { findings.append(judge(file: file, "the client's")) }
        if let file = tls?.caFile { findings.append(judge(file: file, "the authority")) }
        if findings.isEmpty {
            findings.append(
                Finding("certificate", .skipped, "no TLS: user names, passwords and data are not encrypted"))
        }
        return findings
    }

    private func judge(file: String, _ whose: String) -> Finding {
        // Of a file with several, the one that ends first.
        guard let first = Certificate.inFile(file).min(by: { $0.notAfter < $1.notAfter }) else {
            return Finding(
                "certificate", .failed, "\(whose): no certificate in \(file)",
                advice: "it must contain PEM, beginning with -----BEGIN CERTIFICATE-----")
        }
        return judge(first, "\(whose) (\(first.subject) in \(file))", renew: whose)
    }

    private func judge(_ certificate: Certificate, _ what: String, renew whose: String) -> Finding {
        let (left, overflow) = certificate.notAfter.subtractingReportingOverflow(now)
        if certificate.notBefore > now {
            return Finding(
                "certificate", .failed, "\(what) is not valid yet",
                advice: "set this machine's clock, or wait")
        }
        guard !overflow, left > 0 else {
            return Finding(
                "certificate", .failed, "\(what) has expired", advice: "renew \(whose) certificate")
        }
        let text = "\(what) expires in \(left / 86_400) days"
        return left < Self.warning
            ? Finding("certificate", .warning, text, advice: "renew \(whose) certificate")
            : Finding("certificate", .ok, text)
    }
}
