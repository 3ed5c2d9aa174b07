import Glibc

/// An address that a broker's name stands for.
struct NumericAddress: Sendable, Hashable {
    /// `127.0.0.1` or `::1`.
    var text: String
    var isIPv6: Bool

    /// All addresses of its family, as something to bind to.
    var wildcard: String { isIPv6 ? "::" : "0.0.0.0" }
}

enum Resolver {
    struct Failure: Error {
        var text: String
    }

    /// The addresses of a name, in the system's order of preference; blocks as long as the name server takes.
    static func addresses(of host: String) throws(Failure) -> [NumericAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else { throw Failure(text: String(cString: gai_strerror(code))) }
        defer { freeaddrinfo(list) }
        var result: [NumericAddress] = []
        var node = list
        while let entry = node?.pointee {
            node = entry.ai_next
            var buffer = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let family = entry.ai_family
            guard family == AF_INET || family == AF_INET6,
                getnameinfo(
                    entry.ai_addr, entry.ai_addrlen, &buffer, socklen_t(buffer.count), nil, 0, NI_NUMERICHOST)
                    == 0
            else { continue }
            let text = String(
                decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let address = NumericAddress(text: text, isIPv6: family == AF_INET6)
            if !result.contains(address) { result.append(address) }
        }
        if result.isEmpty { throw Failure(text: "no address of a known family") }
        return result
    }
}
