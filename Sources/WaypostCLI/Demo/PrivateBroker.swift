import FoundationEssentials
import Glibc
import MQTTLink
import Threading
import WaypostMessages

/// A mosquitto of the demo's own, on a free port of the loopback, which keeps nothing.
struct PrivateBroker: Sendable {
    let port: UInt16
    private let process: ChildProcess

    var url: String { "mqtt://127.0.0.1:\(port)" }

    /// Starts one and waits until it takes connections.
    static func start(in processes: ProcessGroupGuard) async throws -> PrivateBroker {
        let executable = try find()
        // Between finding a free port and using it another program may take it.
        for attempt in 1...5 {
            let log = "\(processes.directory)/broker-\(attempt).log"
            let broker = try PrivateBroker(executable, processes, log: log)
            if try await broker.isReady() { return broker }
            await broker.process.terminate(within: .seconds(1))
            if attempt == 5 {
                throw CommandError(.failed, "\(executable) does not start: \(LogTail.read(log))")
            }
        }
        throw CommandError(.failed, "\(executable) does not start")
    }

    private init(_ executable: String, _ processes: ProcessGroupGuard, log: String) throws {
        port = try Self.freePort()
        let configuration = "\(processes.directory)/broker.conf"
        let text = """
            listener \(port) 127.0.0.1
            allow_anonymous true
            persistence false
            set_tcp_nodelay true
            max_queued_messages 0

            """
        try Data(text.utf8).write(to: URL(filePath: configuration))
        process = try ChildProcess(executable, ["-c", configuration], log: log, group: processes.group)
    }

    /// Waits until it answers; false when it has ended instead.
    private func isReady() async throws -> Bool {
        let broker = BrokerURL(host: "127.0.0.1", port: port)
        for _ in 0..<100 {
            let trial = MQTTLinkConfiguration.oneShot(
                brokers: [broker], clientID: "demo-\(Identifier.short())")
            if let session = try? await MQTTSession.connect(trial, within: .seconds(2)) {
                await session.disconnect()
                return true
            }
            if process.hasEnded { return false }
            try await MonotonicTime.sleep(for: .milliseconds(50))
        }
        return false
    }

    private static func find() throws(CommandError) -> String {
        let path = Invocation.variable("PATH") ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin"]
        for folder in folders where access("\(folder)/mosquitto", X_OK) == 0 { return "\(folder)/mosquitto" }
        throw CommandError(
            .failed,
            "the demo needs mosquitto, and there is none on PATH; install it: apt-get install mosquitto"
        )
    }

    private static func freePort() throws(CommandError) -> UInt16 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(socket, pointer, size) == 0 ? getsockname(socket, pointer, &size) : -1
            }
        }
        guard code == 0 else {
            throw CommandError(.failed, "find a free port on 127.0.0.1: \(String(cString: strerror(errno)))")
        }
        return UInt16(bigEndian: address.sin_port)
    }
}

/// The end of a child's log, for the sentence that says why it failed.
enum LogTail {
    static func read(_ path: String) -> String {
        let text =
            (try? Data(contentsOf: URL(filePath: path))).map { String(decoding: $0, as: UTF8.self) } ?? ""
        let lines = text.split(separator: "\n").suffix(3)
        return lines.isEmpty ? "it wrote nothing" : lines.joined(separator: " | ")
    }
}
