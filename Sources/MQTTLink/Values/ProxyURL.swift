/// Why a text is not the URL of a proxy.
public struct ProxyURLError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was found.
    public var reason: String

    /// What was found, without the text: it may hold a password.
    public var description: String {
        "it is not the URL of a SOCKS5 proxy: \(reason); expected socks5://[user:password@]host:port"
    }
}

/// A SOCKS5 proxy (RFC 1928) through which brokers are reached, `socks5://proxy.example:1080`, with a user name and a
/// password (RFC 1929) where it wants them: `socks5://user:password@proxy.example:1080`.
///
/// It is the proxy that looks up the broker's name. TLS goes through it to the broker.
public struct ProxyURL: Sendable, Hashable, CustomStringConvertible {
    /// A name, or an IPv4 or IPv6 address without brackets.
    public let host: String
    /// The port.
    public let port: UInt16
    /// With a password; nil for none.
    public let credentials: Credentials?

    /// Reads a URL; in the user name and the password `%40` stands for `@`, and `%3A` for `:`.
    public init(_ text: String) throws(ProxyURLError) {
        let scheme = "socks5://"
        guard text.lowercased().hasPrefix(scheme) else {
            throw ProxyURLError(reason: "it does not begin with \(scheme)")
        }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        let mark = rest.lastIndex(of: UInt8(ascii: "@"))
        let place = String(decoding: mark.map { rest[$0...].dropFirst() } ?? rest, as: UTF8.self)
        let (plain, secured): (BrokerURL, BrokerURL)
        do {
            (plain, secured) = (try BrokerURL("mqtt://\(place)"), try BrokerURL("mqtts://\(place)"))
        } catch {
            throw ProxyURLError(reason: error.reason)
        }
        // Each scheme would have had its own.
        guard plain.port == secured.port else { throw ProxyURLError(reason: "it has no port") }
        (host, port) = (plain.host, plain.port)
        credentials = try mark.map { mark throws(ProxyURLError) in
            try Self.credentials(
                rest[..<mark].split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false))
        }
    }

    /// The place alone: neither the user name nor the password.
    public var description: String {
        "socks5://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }

    private static func credentials(_ parts: [Substring.UTF8View]) throws(ProxyURLError) -> Credentials {
        let texts = parts.compactMap(decoded)
        guard parts.count == 2, texts.count == 2 else {
            throw ProxyURLError(reason: "in front of @ stand a user name and a password, as user:password")
        }
        guard texts.allSatisfy({ (1...255).contains($0.utf8.count) && !$0.utf8.contains(0) }) else {
            throw ProxyURLError(reason: "its user name and its password must have 1 to 255 bytes, and no NUL")
        }
        return Credentials(username: texts[0], password: texts[1])
    }

    /// A text with its escapes; nil where these are none.
    private static func decoded(_ text: Substring.UTF8View) -> String? {
        var (bytes, rest) = ([UInt8](), text)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy({ isHexDigit($0) }),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }
}
