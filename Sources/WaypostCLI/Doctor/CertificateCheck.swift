import MQTTLink

/// Looks at the certificates of a connection: the broker's, our own, the authorities we trust.
struct CertificateCheck {
    let tls: TLSOptions?
    /// In seconds since 1970.
    let now: Int64

    /// - Parameter broker: the certificate of the connection; the link has checked its chain and its name.
    func findings(of broker: Certificate?, host: String) -> [DoctorFinding] {
        var findings: [DoctorFinding] = []
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
                DoctorFinding(
                    "certificate", .note, "no TLS: user names, passwords and data are not encrypted"))
        }
        return findings
    }

    private func judge(file: String, _ whose: String) -> DoctorFinding {
        guard let first = Certificate.firstToEnd(inFile: file) else {
            return DoctorFinding(
                "certificate", .failed, "\(whose): no certificate in \(file)",
                advice: "it must contain PEM, beginning with -----BEGIN CERTIFICATE-----")
        }
        return judge(first, "\(whose) (\(first.subject) in \(file))", renew: whose)
    }

    private func judge(_ certificate: Certificate, _ what: String, renew whose: String) -> DoctorFinding {
        let renew = "renew \(whose) certificate"
        return switch certificate.validity(at: now) {
        case .notYetValid:
            DoctorFinding(
                "certificate", .failed, "\(what) is not valid yet",
                advice: "set this machine's clock, or wait")
        case .expired: DoctorFinding("certificate", .failed, "\(what) has expired", advice: renew)
        case .valid(let days, isEnding: true):
            DoctorFinding("certificate", .warning, "\(what) expires in \(days) days", advice: renew)
        case .valid(let days, isEnding: false):
            DoctorFinding("certificate", .ok, "\(what) expires in \(days) days")
        }
    }
}
