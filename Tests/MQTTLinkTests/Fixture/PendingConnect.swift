import Glibc
import TestSupport
import Testing

/// A connect on this machine that TCP has begun, and not finished.
enum PendingConnect {
    /// Waits until the system has a socket that has sent its SYN to a port of the loopback and has no answer yet.
    static func wait(for port: UInt16) async throws {
        let digits = String(port, radix: 16, uppercase: true)
        let peer = "0100007F:" + String(repeating: "0", count: 4 - digits.count) + digits
        try await eventually("a connect to port \(port) that waits for an answer") { isThere(peer) }
    }

    /// Looks at the system's table, in which 02 is SYN-SENT.
    private static func isThere(_ peer: String) -> Bool {
        guard let table = fopen("/proc/net/tcp", "re") else { return false }
        defer { fclose(table) }
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, Int32(line.count), table) != nil {
            let text = String(decoding: line.prefix { $0 > 0 }.map(UInt8.init), as: UTF8.self)
            if text.contains(" \(peer) 02 ") { return true }
        }
        return false
    }
}
