internal import COpenSSL

/// The digest by which documents and commands are compared (FIPS 180-4).
package enum SHA256 {
    // Looked up once: by name, each digest would look it up again. Safe because it is set once, and OpenSSL's algorithms
    // are never changed after that.
    private nonisolated(unsafe) static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)

    /// The digest of some bytes: 32 bytes.
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        let length = 32
        return [UInt8](unsafeUninitializedCapacity: length) { digest, count in
            let done = EVP_Digest(bytes, bytes.count, digest.baseAddress, nil, algorithm, nil)
            // No input makes it fail, only an OpenSSL set up without its provider; no digest could be trusted then.
            precondition(done == 1, "OpenSSL has no SHA-256; look at its openssl.cnf")
            count = length
        }
    }

    /// A digest as it stands in messages: `sha256:` and 64 lower-case hex digits.
    package static func label(_ digest: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let text = digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return "sha256:" + String(decoding: text, as: UTF8.self)
    }
}
