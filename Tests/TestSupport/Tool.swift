import Foundation

/// A program of the system's, run to its end; what it prints fits into a pipe.
public enum Tool {
    /// How it ended.
    public struct Ending: Sendable {
        /// The exit status.
        public var status: Int32
        /// All of standard output.
        public var output: String
    }

    /// Runs a program that is on PATH, without blocking a thread.
    public static func run(_ program: String, _ arguments: [String]) async throws -> Ending {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.standardOutput = output
        let status: Int32 = try await withCheckedThrowingContinuation { ended in
            process.terminationHandler = { ended.resume(returning: $0.terminationStatus) }
            do {
                try withNoSignalBlocked { try process.run() }
            } catch {
                process.terminationHandler = nil
                ended.resume(throwing: error)
            }
        }
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        try output.fileHandleForReading.close()
        return Ending(status: status, output: text)
    }
}
