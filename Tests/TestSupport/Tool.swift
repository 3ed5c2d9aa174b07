import Foundation

/// A program of the system's, run to its end.
public enum Tool {
    /// How it ended.
    public struct Ending: Sendable {
        /// The exit status.
        public var status: Int32
        /// All of standard output.
        public var output: String
    }

    /// Runs a program that is on PATH, or that a path names, without blocking a thread that tests share.
    ///
    /// - Parameter hasErrors: whether what it prints on standard error belongs to the output.
    public static func run(
        _ program: String, _ arguments: [String] = [], hasErrors: Bool = false
    ) async throws -> Ending {
        let process = Process()
        let pipe = Pipe.forOneChild()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.standardOutput = pipe
        if hasErrors { process.standardError = pipe }
        let (endings, texts) = (EventLog<Int32>(), EventLog<String>())
        process.terminationHandler = { endings.append($0.terminationStatus) }
        try withNoSignalBlocked { try process.run() }
        let handle = pipe.fileHandleForReading
        Thread.detachNewThread {
            texts.append(String(decoding: (try? handle.readToEnd()) ?? Data(), as: UTF8.self))
            try? handle.close()
        }
        let status = try await endings.first("the end of \(program)", within: patience) { $0 }
        return Ending(
            status: status, output: try await texts.first("the output of \(program)", within: patience) { $0 }
        )
    }

    /// A program says nothing of how far it is.
    private static let patience = Duration.seconds(300)
}
