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
