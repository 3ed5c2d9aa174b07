internal import COpenSSL
import FoundationEssentials

/// A public key for Ed25519 (RFC 8032), by which signatures are checked.
package struct VerifyingKey: Sendable, Hashable {
    /// The 32 bytes of the key.
    package let bytes: [UInt8]

    /// What stands before the key in its DER form (RFC 8410).
    fileprivate static let derPrefix: [UInt8] = [
        0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
    ]

    /// Reads a key: PEM, as `openssl pkey -pubout` writes it, or the 32 bytes in base64.
    ///
    /// - Throws: ``KeyError`` saying what was found.
    package init(text: String) throws(KeyError) {
        bytes = try KeyText.read(text, label: "PUBLIC KEY", prefix: Self.derPrefix)
    }

    /// A key by its 32 bytes.
    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Whether the signature is this key's over the message.
    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count) else {
            return false
        }
        defer { EVP_PKEY_free(key) }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        // A wrong signature leaves an error with the thread, where TLS would take it for its own.
        defer { ERR_clear_error() }
        return EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}

/// A private key for Ed25519.
package struct SigningKey: Sendable {
    private let seed: [UInt8]

    /// What stands before the key in its DER form (RFC 8410).
    private static let derPrefix: [UInt8] = [
        0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
    ]

    /// Reads a key: PEM, as `openssl genpkey -algorithm ed25519` writes it, or the 32 bytes in base64.
    ///
    /// - Throws: ``KeyError`` saying what was found, and nothing of the key.
    package init(text: String) throws(KeyError) {
        seed = try KeyText.read(text, label: "PRIVATE KEY", prefix: Self.derPrefix)
        guard publicBytes != nil else { throw KeyError(detail: "OpenSSL does not accept the key") }
    }

    /// The public key that belongs to it.
    package var verifyingKey: VerifyingKey { VerifyingKey(bytes: publicBytes ?? []) }

    private var publicBytes: [UInt8]? {
        guard let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count) else {
            return nil
        }
        defer { EVP_PKEY_free(key) }
        var bytes = [UInt8](repeating: 0, count: 32)
        var length = bytes.count
        return EVP_PKEY_get_raw_public_key(key, &bytes, &length) == 1 && length == 32 ? bytes : nil
    }

    /// The signature over a message: 64 bytes; nil when OpenSSL refuses.
    func signature(of message: [UInt8]) -> [UInt8]? {
        guard let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count) else {
            return nil
        }
        defer { EVP_PKEY_free(key) }
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: 64)
        var length = signature.count
        guard EVP_DigestSignInit(context, nil, nil, nil, key) == 1,
            EVP_DigestSign(context, &signature, &length, message, message.count) == 1, length == 64
        else { return nil }
        return signature
    }
}

/// Why a text is no key.
package struct KeyError: Error, CustomStringConvertible {
    package let detail: String
    package var description: String { detail }

    init(detail: String) { self.detail = detail }

    /// That a text is a public key where a private one is needed; nil when it is none.
    package init?(publicKey text: String) { self.init(text: text, wanting: "PRIVATE KEY") }

    /// That a text is a private key where a public one is needed; nil when it is none.
    package init?(privateKey text: String) { self.init(text: text, wanting: "PUBLIC KEY") }

    fileprivate init?(text: String, wanting label: String) {
        guard let line = KeyText.lines(of: text).first(where: { $0.hasPrefix("-----BEGIN") })
        else { return nil }
        switch label {
        case "PRIVATE KEY" where line.contains("PUBLICKEY"):
            detail = "this is a public key; to sign, give the private key"
        case "PUBLIC KEY" where line.contains("PRIVATEKEY"):
            detail = "this is a private key; give the public one: openssl pkey -in FILE -pubout"
        default: return nil
        }
    }
}

/// A key as text: PEM or base64.
private enum KeyText {
    /// The lines without blanks; they end at LF, CR and CRLF (RFC 7468, 3).
    static func lines(of text: String) -> [String] {
        text.utf8.split { $0 == 0x0A || $0 == 0x0D }.map { line in
            String(decoding: line.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
        }
    }

    static func read(_ text: String, label: String, prefix: [UInt8]) throws(KeyError) -> [UInt8] {
        let lines = Self.lines(of: text)
        guard let start = lines.firstIndex(of: "-----BEGIN\(label.filter { $0 != " " })-----") else {
            if let found = lines.first(where: { $0.hasPrefix("-----BEGIN") }) {
                if let fault = KeyError(text: text, wanting: label) { throw fault }
                guard !found.contains("ENCRYPTED") else {
                    throw KeyError(detail: "the key is encrypted; it must be one without a passphrase")
                }
                throw KeyError(
                    detail: "expected an Ed25519 \(label); found \(found.dropFirst(10).prefix(32))")
            }
            return try raw(lines.joined(), "the 32 bytes of a key in base64")
        }
        let body = lines[(start + 1)...].prefix { !$0.hasPrefix("-----END") }.joined()
        let der = try decoded(body, "the PEM")
        guard der.count == prefix.count + 32, der.starts(with: prefix) else {
            throw KeyError(detail: "the \(label) is not an Ed25519 key")
        }
        return Array(der.suffix(32))
    }

    private static func raw(_ text: String, _ wanted: String) throws(KeyError) -> [UInt8] {
        let bytes = try decoded(text, wanted)
        guard bytes.count == 32 else {
            throw KeyError(detail: "expected \(wanted); found \(bytes.count) bytes")
        }
        return bytes
    }

    private static func decoded(_ text: String, _ what: String) throws(KeyError) -> [UInt8] {
        guard let bytes = Base64.decode(text) else { throw KeyError(detail: "\(what) is not base64") }
        return bytes
    }
}

/// Base64 in either alphabet (RFC 4648, 4 and 5), as DSSE allows.
package enum Base64 {
    /// The bytes; nil for what is not base64.
    package static func decode(_ text: String) -> [UInt8]? {
        var standard = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: Data(standard)).map { [UInt8]($0) }
    }

    /// The standard alphabet, padded.
    package static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
}
