import Foundation
import TestSupport

/// What the disk does below a process of the agent, decided by the test while the process runs; see `faults.c`.
final class FaultLibrary: Sendable {
    /// The numbers in the file that both share, in the order of `faults.c`.
    enum Fault: Int, CaseIterable {
        /// How often a file was flushed so far.
        case flushes
        /// While it is not 0, no flush ends.
        case hangsInFlush
        /// The number of the flush before, or after, which the process is killed.
        case diesBeforeFlush, diesAfterFlush
        /// While it is not 0, there is no space for what SQLite writes.
        case storeIsFull
        /// How many writes found no space.
        case refusedWrites
    }

    /// The compiler, which comes with Swift, did not build the library; it says why on standard error.
    struct Failure: Error { var status: Int32 }

    private let file: String
    private let library: String

    /// For the agent's process.
    var environment: [String: String] { ["LD_PRELOAD": library, "WAYPOST_FAULTS": file] }

    /// - Throws: what the compiler says.
    init() async throws {
        let place = NSTemporaryDirectory() + "waypost-faults-\(UUID().uuidString)"
        file = place + ".numbers"
        library = place + ".so"
        try Data(count: Fault.allCases.count * 8).write(to: URL(fileURLWithPath: file))
        let source =
            URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/FaultLibrary/faults.c"
        let ending = try await Tool.run("clang", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"])
        guard ending.status == 0 else { throw Failure(status: ending.status) }
    }

    deinit {
        for path in [file, library] { unlink(path) }
    }

    subscript(fault: Fault) -> Int64 {
        get throws {
            let numbers = try Data(contentsOf: URL(fileURLWithPath: file))
            return numbers.withUnsafeBytes {
                $0.loadUnaligned(fromByteOffset: fault.rawValue * 8, as: Int64.self)
            }
        }
    }

    func set(_ fault: Fault, to number: Int64) throws {
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: file))
        defer { try? handle.close() }
        try handle.seek(toOffset: UInt64(fault.rawValue * 8))
        try handle.write(contentsOf: withUnsafeBytes(of: number) { Data($0) })
    }
}
