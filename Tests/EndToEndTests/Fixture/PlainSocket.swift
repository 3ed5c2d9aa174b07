import Foundation
import TestSupport

/// A connection that does as little as a test wants, and is closed when nothing holds it any more.
final class PlainSocket: Sendable {
    let descriptor: Int32

    /// Connects to a port of the loopback.
    init(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in(loopback: port)
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

    /// One that was accepted.
    init(accepted descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Sends bytes; false when the other side has closed the connection.
    @discardableResult
    func send(_ text: String) -> Bool {
        text.utf8CString.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count - 1, Int32(MSG_NOSIGNAL)) > 0
        }
    }

    /// Sends bytes; false when the other side has closed the connection.
    func send(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) == $0.count
        }
    }

    /// The next bytes, 65 536 at most; empty at the end.
    func read() -> ArraySlice<UInt8> {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        return bytes[..<max(0, Glibc.read(descriptor, &bytes, bytes.count))]
    }

    /// Ends the connection in both directions.
    func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }

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

extension sockaddr_in {
    /// A port of this machine, which is reached from it only.
    init(loopback port: UInt16) {
        self.init()
        sin_family = sa_family_t(AF_INET)
        sin_port = port.bigEndian
        sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    }
}
