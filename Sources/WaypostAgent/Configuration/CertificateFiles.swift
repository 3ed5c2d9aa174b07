/// The files of an agent's certificate, and those beside them in which a newer one comes.
public struct CertificateFiles: Sendable, Hashable {
    /// The certificate in use, PEM.
    public let certificate: String
    /// Its key, PEM.
    public let key: String

    /// Where a newer certificate comes: the name of the one in use, and `.new`.
    public var newCertificate: String { certificate + ".new" }
    /// Where its key comes, if it has another; it must be there before the certificate is.
    public var newKey: String { key + ".new" }

    package init(certificate: String, key: String) { (self.certificate, self.key) = (certificate, key) }
}
