/// What an X.509 certificate says about itself, as far as people ask for it.
public struct Certificate: Sendable, Hashable {
    /// The subject, in OpenSSL's one-line form: `/CN=broker.example.com`.
    public var subject: String
    /// The issuer, in the same form.
    public var issuer: String
    /// When it becomes valid, in seconds since 1970.
    public var notBefore: Int64
    /// When it ends to be valid, in seconds since 1970.
    public var notAfter: Int64

    /// A certificate; for tests that play a link.
    public init(subject: String, issuer: String = "", notBefore: Int64 = 0, notAfter: Int64) {
        self.subject = subject
        self.issuer = issuer
        self.notBefore = notBefore
        self.notAfter = notAfter
    }
}

extension Certificate {
    /// How long a certificate is still good.
    package enum Validity: Sendable, Hashable {
        case notYetValid
        case expired
        /// `isEnding` when it is time to renew it.
        case valid(days: Int64, isEnding: Bool)
    }

    /// A certificate that ends sooner than this, or in the last sixth of its life, must be renewed, in days: enough to do it
    /// in working hours.
    private static let warningDays: Int64 = 14

    /// How long it is still good.
    ///
    /// - Parameter now: in seconds since 1970.
    package func validity(at now: Int64) -> Validity {
        guard notBefore <= now else { return .notYetValid }
        let (left, overflow) = notAfter.subtractingReportingOverflow(now)
        guard !overflow, left > 0 else { return .expired }
        let days = left / 86_400
        // One that lives for a day is renewed every day.
        let (life, isForEver) = notAfter.subtractingReportingOverflow(notBefore)
        let warning = isForEver ? Self.warningDays * 86_400 : min(Self.warningDays * 86_400, life / 6)
        return .valid(days: days, isEnding: left < warning)
    }

    /// Of the certificates in a PEM file the one that ends first; nil when there is none.
    package static func firstToEnd(inFile path: String) -> Certificate? {
        inFile(path).min { $0.notAfter < $1.notAfter }
    }
}
