import Foundation
import TestSupport
import Testing

/// What systemd is told, by the agent as a process.
@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct `A service manager` {
    @Test func `hears that the agent is ready, alive, online and stopping`() async throws {
        let broker = try await TestBroker.start()
        let manager = try NotifySocket()
        defer { manager.end() }
        let agent = try AgentProcess(
            "k1", broker: broker.url,
            environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "600000"])
        try await manager.log.wait(for: "READY=1") { $0.contains("READY=1") }
        try await manager.log.wait(for: "the connection") { $0.contains("STATUS=online at \(broker.url)") }
        try await manager.log.wait(for: "three signs of life") { $0.count { $0 == "WATCHDOG=1" } >= 3 }
        #expect(try await agent.terminate() == 0)
        try await manager.log.wait(for: "STOPPING=1") { $0.contains("STOPPING=1") }
    }

    @Test func `hears that it is ready also where there is no broker`() async throws {
        let manager = try NotifySocket()
        defer { manager.end() }
        let agent = try AgentProcess(
            "k1", broker: "mqtt://127.0.0.1:1", environment: ["NOTIFY_SOCKET": manager.path])
        try await manager.log.wait(for: "READY=1") { $0.contains("READY=1") }
        try await manager.log.wait(for: "why it is offline") {
            $0.contains { $0.hasPrefix("STATUS=offline: ") }
        }
        #expect(try await agent.terminate() == 0)
        #expect(!manager.log.events.contains("WATCHDOG=1"))
    }
}

/// The socket that systemd listens on.
private final class NotifySocket: Sendable {
    let path = NSTemporaryDirectory() + "waypost-notify-\(UUID().uuidString.prefix(8))"
    let log = EventLog<String>()
    private let descriptor: Int32

    struct Failure: Error { var code: Int32 }

    init() throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0 else { throw Failure(code: errno) }
        let (socket, log) = (descriptor, log)
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(socket, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                let text = String(decoding: buffer[..<count], as: UTF8.self)
                for line in text.split(separator: "\n") { log.append(String(line)) }
            }
        }
    }

    func end() {
        shutdown(descriptor, Int32(SHUT_RDWR))
        try? FileManager.default.removeItem(atPath: path)
    }
}
