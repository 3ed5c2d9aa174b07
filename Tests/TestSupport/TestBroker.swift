import Foundation
import Synchronization

/// A real mosquitto on a free port of the loopback, in a directory of its own, for one test or one suite.
///
///     let broker = try await TestBroker.start(["allow_anonymous true"])
///     defer { broker.end() }
public final class TestBroker: Sendable {
    /// The port of the first listener; it stays the same over restarts.
    public let port: UInt16
    /// Where its configuration, log and persistence are; removed by `end`.
    public let directory: String

    private let executable: String
    private let process = Mutex<RunningBroker?>(nil)
    private let lines: EventLog<String>

    /// There is no mosquitto, or it does not start.
    public struct Failure: Error, CustomStringConvertible {
        /// What was tried and what was found.
        public var description: String

        /// A failure of that description.
        public init(description: String) { self.description = description }
    }

    /// Starts a broker and waits until it runs.
    ///
    /// The lines follow `listener PORT 127.0.0.1` in its configuration; in them `@dir` is its directory. Files are
    /// written there first, readable for their owner only. Without lines anonymous clients are allowed.
    public static func start(
        _ configuration: [String] = ["allow_anonymous true"], files: [String: String] = [:]
    ) async throws -> TestBroker {
        var lastFailure: any Error = Failure(description: "never tried")
        // Between finding a free port and using it another process may take it.
        for _ in 0..<5 {
            let broker = try TestBroker(configuration, files)
            do {
                try await broker.start()
                return broker
            } catch {
                broker.end()
                lastFailure = error
            }
        }
        throw lastFailure
    }

    private init(_ configuration: [String], _ files: [String: String]) throws {
        executable = try Self.findMosquitto()
        port = try FreePort.find()
        directory = NSTemporaryDirectory() + "waypost-broker-\(UUID().uuidString)"
        lines = EventLog()
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        for (name, text) in files {
            try Data(text.utf8).write(to: URL(fileURLWithPath: directory + "/" + name))
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: directory + "/" + name)
        }
        // mosquitto started by root becomes another user, who could not read the test's files.
        let text =
            ["user \(NSUserName())", "log_type all", "listener \(port) 127.0.0.1"]
            + configuration.map { $0.replacingOccurrences(of: "@dir", with: directory) }
        try Data((text.joined(separator: "\n") + "\n").utf8)
            .write(to: URL(fileURLWithPath: directory + "/mosquitto.conf"))
    }

    deinit { end() }

    /// `mqtt://127.0.0.1:PORT`.
    public var url: String { "mqtt://127.0.0.1:\(port)" }

    /// All it has logged so far, over all its lives.
    public var log: [String] { lines.events }

    /// Waits for a line of its log.
    public func waitForLog(containing text: String, times: Int = 1) async throws {
        try await lines.wait(for: "\"\(text)\" in mosquitto's log") { lines in
            lines.count { $0.contains(text) } >= times
        }
    }

    /// Waits until its log fulfils a condition.
    public func waitForLog(
        _ what: String, until condition: @escaping @Sendable ([String]) -> Bool
    ) async throws {
        try await lines.wait(for: "\(what) in mosquitto's log", until: condition)
    }

    /// Starts it, also again after `stop` or `kill`, on the same port, and waits until it runs.
    public func start() async throws {
        let before = lines.events.count
        try process.withLock { process in
            guard process == nil else { throw Failure(description: "mosquitto runs already") }
            process = try RunningBroker(executable, ["-c", directory + "/mosquitto.conf"], lines)
        }
        try await lines.wait(for: "mosquitto to run") { lines in
            lines.dropFirst(before).contains { $0.hasSuffix(" running") || $0 == RunningBroker.lastLine }
        }
        if lines.events.dropFirst(before).contains(RunningBroker.lastLine) {
            throw Failure(
                description: "mosquitto ended at once:\n" + lines.events.suffix(10).joined(separator: "\n"))
        }
    }

    /// Ends it with SIGTERM, as an operator would, and waits for its end.
    public func stop() async throws { try await end(with: SIGTERM) }

    /// Ends it with SIGKILL, and waits for its end.
    public func kill() async throws { try await end(with: SIGKILL) }

    /// Freezes it: connections stay open and nothing answers.
    public func pause() { signal(SIGSTOP) }

    /// Lets a frozen one go on.
    public func resume() { signal(SIGCONT) }

    /// Stops it and starts it on the same port.
    public func restart() async throws {
        try await stop()
        try await start()
    }

    /// Ends it for good and removes its directory; does nothing the second time.
    public func end() {
        let running = process.withLock { process in
            defer { process = nil }
            return process
        }
        running?.end()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private func signal(_ number: Int32) {
        process.withLock { process in if let process { Glibc.kill(process.pid, number) } }
    }

    private func end(with number: Int32) async throws {
        let before = lines.events.count { $0 == RunningBroker.lastLine }
        signal(number)
        try await lines.wait(for: "mosquitto to end") { lines in
            lines.count { $0 == RunningBroker.lastLine } > before
        }
        let running = process.withLock { process in
            defer { process = nil }
            return process
        }
        running?.end()
    }

    private static func findMosquitto() throws -> String {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin"]
        for folder in folders where FileManager.default.isExecutableFile(atPath: folder + "/mosquitto") {
            return folder + "/mosquitto"
        }
        throw Failure(description: "no mosquitto on PATH nor in /usr/sbin; install the package `mosquitto`")
    }
}
