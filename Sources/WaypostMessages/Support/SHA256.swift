internal import COpenSSL
import Synchronization

/// The digest by which documents and commands are compared (FIPS 180-4).
package enum SHA256 {
    /// Set up once, for all: to look the algorithm up by name takes longer than a short digest.
    private static let context = Mutex(
        {
            let context = EVP_MD_CTX_new()
            EVP_DigestInit_ex(context, EVP_sha256(), nil)
            return context
        }())

    /// The digest of some bytes: 32 bytes.
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        let isDone = context.withLock { context in
            EVP_DigestInit_ex(context, nil, nil) == 1
                && EVP_DigestUpdate(context, bytes, bytes.count) == 1
                && EVP_DigestFinal_ex(context, &digest, nil) == 1
        }
        // No input makes it fail, only an OpenSSL set up without its provider; no digest could be trusted then.
        precondition(isDone, "OpenSSL has no SHA-256; check its openssl.cnf")
        return digest
    }

    /// A digest as it stands in messages: `sha256:` and 64 lower-case hex digits.
    package static func label(_ digest: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text = Array("sha256:".utf8)
        text.reserveCapacity(text.count + 2 * digest.count)
        for byte in digest {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
