import CMosquitto
import Glibc

/// Tries whether something accepts connections at a broker's address, and says nothing to it.
enum SocketProbe {
    /// Blocks until one of the addresses accepts, or for as long as the limit and the name server allow.
    static func isThere(_ broker: BrokerURL, within limit: Duration) -> Bool {
        if broker.transport == .unix { return access(broker.host, R_OK | W_OK) == 0 }
        let milliseconds = Int32(clamping: max(1, limit.components.seconds * 1_000))
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(broker.host, String(broker.port), &hints, &list) == 0 else { return false }
        defer { freeaddrinfo(list) }
        var node = list
        while let address = node?.pointee {
            if accepts(address, milliseconds) { return true }
            node = address.ai_next
        }
        return false
    }

    private static func accepts(_ address: addrinfo, _ milliseconds: Int32) -> Bool {
        let flags = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.ai_family, flags, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        if connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 { return true }
        guard errno == EINPROGRESS else { return false }
        var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&waiting, 1, milliseconds) == 1 else { return false }
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 && code == 0
    }
}
