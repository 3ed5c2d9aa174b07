import Foundation
import MQTTLink
import TestSupport
import Testing

/// A broker that says goodbye as soon as it has accepted, hundreds of times.
@Suite(.oneProcessAtATime, .timeLimit(.minutes(60)))
struct ManyReconnectsTests {
    /// What a process holds on to.
    private struct Holdings {
        var descriptors: Int
        var threads: Int
        /// In KiB.
        var memory: Int

        static func now() throws -> Holdings {
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            func number(_ key: String) -> Int {
                let line = status.split(separator: "\n").first { $0.hasPrefix(key + ":") }
                return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
            }
            return Holdings(
                descriptors: try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count,
                threads: number("Threads"), memory: number("VmRSS"))
        }
    }

    /// In a process of its own, where nothing else comes and goes.
    @Test func `cost no descriptors, no threads and no memory`() async throws {
        await #expect(processExitsWith: .success) {
            let broker = try FakeBroker { connection in
                try connection.accept()
                // Server shutting down: not an error of the client.
                try connection.send(type: 14, [0x8B, 0])
            }
            let configuration = try MQTTLinkConfiguration.test(url: broker.url) {
                $0.reconnect.first = .milliseconds(1)
                $0.reconnect.longest = .milliseconds(1)
            }
            try await withLink(configuration) { _, recorder in
                _ = try await recorder.disconnected(times: 100)
                let early = try Holdings.now()
                _ = try await recorder.disconnected(times: 500)
                let late = try Holdings.now()
                #expect(late.descriptors < early.descriptors + 20)
                #expect(late.threads < early.threads + 20)
                #expect(late.memory < early.memory + 8_000, "\(late.memory - early.memory) KiB")
            }
            broker.end()
        }
    }
}
