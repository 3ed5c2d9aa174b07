import Glibc

/// Why a text is not the URL of a broker.
public struct BrokerURLError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The text, with anything before an `@` left out: it may hold a password.
    public var text: String
    /// What was found.
    public var reason: String

    /// The text and what was found.
    public var description: String {
        "\"\(text)\" is not a broker URL: \(reason); expected mqtt://host[:1883], mqtts://host[:8883] or unix:///path"
    }
}

/// Where a broker listens: `mqtt://host:1883`, `mqtts://host:8883` or `unix:///run/broker.sock`.
///
/// It holds no user name and no password, for it is shown in logs.
public struct BrokerURL: Sendable, Hashable, CustomStringConvertible {
    /// How the bytes get there.
    public enum Transport: Sendable, Hashable {
        /// Plain TCP.
        case tcp
        /// TLS over TCP.
        case tls
        /// A socket in the file system.
        case unix
    }

    /// How the bytes get there.
    public var transport: Transport
    /// A name, an IPv4 or IPv6 address without brackets, or the socket's path.
    public var host: String
    /// The port; 0 for a socket in the file system.
    public var port: UInt16

    /// A broker on a host.
    public init(host: String, port: UInt16, transport: Transport = .tcp) {
        self.host = host
        self.port = port
        self.transport = transport
    }

    /// Whether they lead to the same place: a name without case and without the dot of the root, an IPv6 address however
    /// it is written.
    public static func == (one: BrokerURL, other: BrokerURL) -> Bool {
        one.transport == other.transport && one.port == other.port && one.comparedHost == other.comparedHost
    }

    /// The same for both.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(transport)
        hasher.combine(port)
        hasher.combine(comparedHost)
    }

    /// The same text for all that are equal.
    package var compared: String {
        BrokerURL(host: comparedHost, port: port, transport: transport).description
    }

    private var comparedHost: String {
        guard transport != .unix else { return host }
        var address = in6_addr()
        if inet_pton(AF_INET6, host, &address) == 1 {
            return withUnsafeBytes(of: address) { $0.map { String($0, radix: 16) }.joined(separator: ":") }
        }
        let name = host.lowercased()
        return name.hasSuffix(".") && name.utf8.count > 1 ? String(name.dropLast()) : name
    }

    /// Reads a URL; the port is 1883 or 8883 (with TLS) unless given.
    public init(_ text: String) throws(BrokerURLError) {
        do throws(Fault) {
            try self.init(bytes: Array(text.utf8))
        } catch {
            let shown = text.utf8.lastIndex(of: UInt8(ascii: "@")).map { text.utf8[$0...].dropFirst() }
            throw BrokerURLError(
                text: String(decoding: shown ?? text.utf8[...], as: UTF8.self), reason: error.reason)
        }
    }

    /// What is wrong with a URL, before it is shown without a password.
    private struct Fault: Error {
        var reason: String

        init(_ reason: String) { self.reason = reason }
    }

    /// By bytes throughout: what combines with a mark of the URL makes no other mark of it.
    private init(bytes: [UInt8]) throws(Fault) {
        guard let mark = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[mark...].starts(with: "://".utf8)
        else {
            throw Fault("it has no scheme")
        }
        var rest = bytes[(mark + 3)...]
        switch String(decoding: bytes[..<mark], as: UTF8.self).lowercased() {
        case "mqtt", "tcp": transport = .tcp
        case "mqtts", "ssl", "tls": transport = .tls
        case "unix", "mqtt+unix":
            // 107: what fits into sun_path with its NUL.
            guard rest.first == UInt8(ascii: "/"), rest.count <= 107, !rest.contains(0) else {
                throw Fault("the path of a socket must be absolute and have at most 107 bytes")
            }
            (transport, host, port) = (.unix, String(decoding: rest, as: UTF8.self), 0)
            return
        case let scheme: throw Fault("its scheme is \(scheme)")
        }
        guard !rest.contains(UInt8(ascii: "@")) else {
            throw Fault("a user name or a password does not belong in the URL")
        }
        if rest.last == UInt8(ascii: "/") { rest = rest.dropLast() }
        guard !rest.contains(where: { "/?#".utf8.contains($0) }) else {
            throw Fault("a path or a query follows the host")
        }
        let portText: ArraySlice<UInt8>?
        (host, portText) = try Self.hostAndPort(rest)
        guard !host.isEmpty, host.utf8.count <= 255 else { throw Fault("its host must have 1 to 255 bytes") }
        guard host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw Fault("its host has a blank or a control character")
        }
        guard let portText else {
            port = transport == .tls ? 8883 : 1883
            return
        }
        guard let number = UInt16(String(decoding: portText, as: UTF8.self)), number > 0 else {
            throw Fault("its port must be 1 to 65535")
        }
        port = number
    }

    private static func hostAndPort(
        _ rest: ArraySlice<UInt8>
    ) throws(Fault) -> (host: String, port: ArraySlice<UInt8>?) {
        if rest.first == UInt8(ascii: "[") {
            guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else {
                throw Fault("a bracket is not closed")
            }
            let tail = rest[(end + 1)...]
            guard tail.isEmpty || tail.first == UInt8(ascii: ":") else {
                throw Fault("something follows the bracket")
            }
            let host = String(decoding: rest[..<end].dropFirst(), as: UTF8.self)
            return (host, tail.isEmpty ? nil : tail.dropFirst())
        }
        let parts = rest.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count <= 2 else { throw Fault("an IPv6 address must be in brackets") }
        return (String(decoding: parts.first ?? [], as: UTF8.self), parts.count == 2 ? parts[1] : nil)
    }

    /// The URL in full, port included.
    public var description: String {
        switch transport {
        case .unix: "unix://\(host)"
        case .tcp: "mqtt://\(bracketedHost):\(port)"
        case .tls: "mqtts://\(bracketedHost):\(port)"
        }
    }

    private var bracketedHost: String { host.contains(":") ? "[\(host)]" : host }
}
