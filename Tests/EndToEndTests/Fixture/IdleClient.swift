import Foundation
import TestSupport

/// A client that is connected and does as little as a test wants.
final class IdleClient: Sendable {
    let descriptor: Int32

    /// Connects to a port of the loopback.
    init(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        try Self.connect(descriptor, &address)
    }

    /// Connects to a socket in a directory.
    init(unix directory: String, _ name: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array("\(directory)/\(name)".utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        try Self.connect(descriptor, &address)
    }

    deinit { close(descriptor) }

    /// Sends bytes; false when the server has closed the connection.
    @discardableResult
    func send(_ text: String) -> Bool {
        text.utf8CString.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count - 1, Int32(MSG_NOSIGNAL)) > 0
        }
    }

    private static func connect<Address>(_ descriptor: Int32, _ address: inout Address) throws {
        let code = withUnsafeBytes(of: &address) { bytes in
            Glibc.connect(
                descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard code == 0 else {
            throw TestBroker.Failure(description: "connect: \(String(cString: strerror(errno)))")
        }
    }
}
