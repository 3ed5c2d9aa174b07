import CMosquitto
import COpenSSL
import Glibc

extension Certificate {
    private typealias PeerCertificate =
        @convention(c) (UnsafeMutableRawPointer?) -> OpaquePointer?

    // libssl is loaded with libmosquitto and its functions are looked up by name; OpenSSL 3 has the first one, 1.1
    // the second.
    private static let peerCertificate: PeerCertificate? =
        (dlsym(nil, "SSL_get1_peer_certificate") ?? dlsym(nil, "SSL_get_peer_certificate")).map {
            unsafeBitCast($0, to: PeerCertificate.self)
        }

    /// The certificate with which the server of a client's session has shown who it is.
    init?(ofServerOf client: OpaquePointer) {
        guard let session = mosquitto_ssl_get(client), let found = Self.peerCertificate?(session) else {
            return nil
        }
        defer { X509_free(found) }
        self.init(found)
    }

    /// The certificates of a PEM file, in their order; none when the file can't be read or holds none.
    package static func inFile(_ path: String) -> [Certificate] {
        guard let file = BIO_new_file(path, "r") else {
            ERR_clear_error()
            return []
        }
        defer { BIO_free(file) }
        var found: [Certificate] = []
        // A chain has a few, and the system's bundle some hundreds.
        while found.count < 10_000, let next = PEM_read_bio_X509(file, nil, refusePassphrase, nil) {
            if let certificate = Certificate(next) { found.append(certificate) }
            X509_free(next)
        }
        // The last read ends with an error; it must not stay in OpenSSL's queue.
        ERR_clear_error()
        return found
    }

    /// Whether a PEM file has the key of the first certificate of another; nil when one of the two can't be read.
    package static func fits(_ certificateFile: String, key keyFile: String) -> Bool? {
        defer { ERR_clear_error() }
        guard let file = BIO_new_file(certificateFile, "r") else { return nil }
        defer { BIO_free(file) }
        guard let other = BIO_new_file(keyFile, "r") else { return nil }
        defer { BIO_free(other) }
        guard let certificate = PEM_read_bio_X509(file, nil, refusePassphrase, nil) else { return nil }
        defer { X509_free(certificate) }
        guard let key = PEM_read_bio_PrivateKey(other, nil, refusePassphrase, nil) else { return nil }
        defer { EVP_PKEY_free(key) }
        return X509_check_private_key(certificate, key) == 1
    }

    private init?(_ certificate: OpaquePointer) {
        guard let notBefore = Self.seconds(X509_get0_notBefore(certificate)),
            let notAfter = Self.seconds(X509_get0_notAfter(certificate))
        else { return nil }
        self.init(
            subject: Self.text(X509_get_subject_name(certificate)),
            issuer: Self.text(X509_get_issuer_name(certificate)), notBefore: notBefore, notAfter: notAfter)
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return Int64(timegm(&parts))
    }

    private static func text(_ name: OpaquePointer?) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard let name, X509_NAME_oneline(name, &buffer, Int32(buffer.count)) != nil else { return "" }
        let bytes = buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Answers OpenSSL when it wants a passphrase for something in a file: there is none.
///
/// Without an answer OpenSSL asks on the terminal, catches the process's signals meanwhile, and waits for ever.
let refusePassphrase:
    @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
        _, _, _, _ in -1
    }
