import Glibc
import TestSupport

/// Sockets that are reached from this machine only.
enum Loopback {
    /// A socket that listens at a free port.
    static func listen() throws -> (listener: Int32, port: UInt16) {
        let port = UInt16(try FreePort.find())
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var reuse: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        let isListening = withUnsafeBytes(of: &address) { bytes in
            bind(
                listener, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
                == 0 && Glibc.listen(listener, 4) == 0
        }
        guard isListening else {
            throw TestBroker.Failure(description: "listen: \(String(cString: strerror(errno)))")
        }
        return (listener, port)
    }
}
