import Glibc
import Threading
import Waypost
import WaypostAgent
import WaypostMessages

/// The program that makes a newer certificate.
struct RenewalProgram: Sendable {
    /// How long it may take.
    private static let limit = Duration.seconds(300)
    /// What is read of what it printed, in bytes.
    private static let longestOutput = 4_096

    /// Its path and its arguments.
    let words: [String]
    /// The file for what it prints.
    let log: String

    /// - Throws: ``CommandError`` 64 when it can't be one.
    init(_ words: [String], log: String) throws(CommandError) {
        guard words.first?.hasPrefix("/") == true else {
            throw CommandError(
                .usage,
                "renew must begin with the path of a program; found \((words.first ?? "").debugDescription)")
        }
        (self.words, self.log) = (words, log)
    }

    /// Runs it, and ends it when it takes too long or the task is cancelled.
    func run(_ files: CertificateFiles) async throws {
        unlink(log)
        let child = try ChildProcess(
            words[0], Array(words.dropFirst()), log: log, group: 0,
            variables: [
                "WAYPOST_CERT_FILE": files.certificate, "WAYPOST_KEY_FILE": files.key,
                "WAYPOST_NEW_CERT_FILE": files.newCertificate, "WAYPOST_NEW_KEY_FILE": files.newKey,
            ])
        let alarm = Task {
            try await MonotonicTime.sleep(for: Self.limit)
            await child.terminate()
        }
        defer { alarm.cancel() }
        let status = await withTaskCancellationHandler {
            await child.status
        } onCancel: {
            Scheduling.undisturbed { _ = kill(child.pid, SIGTERM) }
        }
        guard status == 0 else {
            throw CommandError(
                .failed, "\(words[0]) ended with status \(status)\(lastLine.map { ": \($0)" } ?? "")")
        }
    }

    /// The last line that it printed; nil when it printed none.
    private var lastLine: String? {
        guard let file = fopen(log, "r") else { return nil }
        defer { fclose(file) }
        fseek(file, -Self.longestOutput, SEEK_END)
        var bytes = [UInt8](repeating: 0, count: Self.longestOutput)
        let count = fread(&bytes, 1, bytes.count, file)
        let line = bytes.prefix(count).split(separator: UInt8(ascii: "\n")).last
        return line.map { String(decoding: $0, as: UTF8.self).quoted }
    }
}
