import Foundation
import Synchronization
import Testing

/// The built agent as a process of its own, as an operator would run it.
final class AgentProcess: Sendable {
    private struct State {
        var lines: [String] = []
        var waiting: [(needle: String, continuation: CheckedContinuation<Bool, Never>)] = []
        var hasEnded = false
    }

    let name: String
    let directory: String
    private let state = Mutex(State())
    private let process = Process()

    /// Starts `waypost agent` and returns at once; ``online()`` waits until it is there.
    init(_ name: String, broker: String, directory: String? = nil, arguments: [String] = ["--demo"]) throws {
        self.name = name
        self.directory =
            try directory
            ?? FileManager.default.url(
                for: .itemReplacementDirectory, in: .userDomainMask,
                appropriateFor: FileManager.default.temporaryDirectory, create: true
            ).path
        process.executableURL = Self.executable
        process.arguments =
            ["agent", "--broker", broker, "--agent", name, "--state", self.directory] + arguments
        let pipe = Pipe()
        process.standardError = pipe
        process.standardOutput = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        let collected = LineCollector()
        pipe.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            self?.took(collected.lines(adding: data), isEnd: data.isEmpty)
        }
        try process.run()
    }

    /// The binary that was built beside this test bundle.
    static var executable: URL {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        while folder.path != "/" {
            let candidate = folder.appendingPathComponent("waypost")
            if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
            folder.deleteLastPathComponent()
        }
        return URL(fileURLWithPath: ".build/debug/waypost")
    }

    /// Waits for the line that says that the agent is online.
    func online() async throws { try await printed("online") }

    /// Waits for a line with `needle` in it.
    func printed(_ needle: String) async throws {
        let found = await withCheckedContinuation { continuation in
            let known = state.withLock { state -> Bool? in
                if state.lines.contains(where: { $0.contains(needle) }) { return true }
                if state.hasEnded { return false }
                state.waiting.append((needle, continuation))
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
        try #require(found, "the agent ended without printing \(needle); it said: \(lines)")
    }

    var lines: [String] { state.withLock(\.lines) }

    /// kill -9: no code of the agent runs any more.
    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// SIGTERM, and the exit status.
    func terminate() -> Int32 {
        process.terminate()
        process.waitUntilExit()
        return process.terminationStatus
    }

    var isRunning: Bool { process.isRunning }

    deinit {
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    }

    private func took(_ lines: [String], isEnd: Bool) {
        let ready = state.withLock { state -> [(CheckedContinuation<Bool, Never>, Bool)] in
            state.lines += lines
            state.hasEnded = state.hasEnded || isEnd
            var ready: [(CheckedContinuation<Bool, Never>, Bool)] = []
            state.waiting.removeAll { entry in
                let isThere = state.lines.contains { $0.contains(entry.needle) }
                guard isThere || state.hasEnded else { return false }
                ready.append((entry.continuation, isThere))
                return true
            }
            return ready
        }
        for (continuation, found) in ready { continuation.resume(returning: found) }
    }
}

/// Cuts bytes into lines.
private final class LineCollector: Sendable {
    private let rest = Mutex(Data())

    func lines(adding data: Data) -> [String] {
        rest.withLock { rest in
            rest += data
            var lines: [String] = []
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                lines.append(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
                rest = Data(rest[rest.index(after: end)...])
            }
            if data.isEmpty, !rest.isEmpty { lines.append(String(decoding: rest, as: UTF8.self)) }
            return lines
        }
    }
}
