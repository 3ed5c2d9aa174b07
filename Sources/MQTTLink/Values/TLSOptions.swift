/// What a TLS connection needs from files; they are read again on each connect.
///
/// The broker's certificate and its host name are always checked: there is no switch to turn that off.
public struct TLSOptions: Sendable, Hashable {
    /// The lowest version that is spoken.
    public enum MinimumVersion: String, Sendable, Hashable {
        /// TLS 1.2, the default.
        case v12 = "tlsv1.2"
        /// TLS 1.3.
        case v13 = "tlsv1.3"
    }

    /// A PEM file with the certificates that are trusted; those of the system when neither this nor a directory
    /// is given.
    public var caFile: String?
    /// A directory of such files, hashed as `openssl rehash` does.
    public var caDirectory: String?
    /// The client's certificate chain, PEM; for mutual TLS, together with the key.
    public var certificateFile: String?
    /// The client's private key, PEM, without a pass phrase.
    public var keyFile: String?
    /// The lowest version that is spoken.
    public var minimumVersion: MinimumVersion
    /// The application protocol that is named in the handshake (ALPN, RFC 7301), 1 to 255 bytes; none unless given.
    ///
    /// Where several services share port 443 it says which is meant, such as `x-amzn-mqtt-ca` at AWS IoT Core.
    public var alpn: String?

    /// Options; the system's trust store and no client certificate unless given.
    public init(
        caFile: String? = nil, caDirectory: String? = nil, certificateFile: String? = nil,
        keyFile: String? = nil,
        minimumVersion: MinimumVersion = .v12, alpn: String? = nil
    ) {
        self.caFile = caFile
        self.caDirectory = caDirectory
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.minimumVersion = minimumVersion
        self.alpn = alpn
    }
}

/// A name and a password for the broker.
public struct Credentials: Sendable, Hashable, CustomStringConvertible {
    /// The user's name.
    public var username: String
    /// The password, if there is one.
    public var password: String?

    /// A name and, usually, a password.
    public init(username: String, password: String? = nil) {
        self.username = username
        self.password = password
    }

    /// The name alone; a password never comes into a log this way.
    public var description: String { "\(username)\(password == nil ? "" : " with a password")" }
}
