import Glibc
import Waypost
import WaypostMessages

/// The audit of a group's roll-outs in a file of the operator's, an entry a line: the broker keeps the last 64 only, and
/// may forget them.
///
/// An entry is on the disk when it was appended. What the broker keeps and the file lacks is appended first, so that a
/// controller that was killed leaves no gap.
package struct RolloutAuditFile: Sendable {
    private let path: String
    /// The digests of the entries in the file, by number.
    private var digests: [Int64: String] = [:]
    private var last: Int64 = 0
    /// Entries that are not in the file yet.
    private var waiting: [Int64: [UInt8]] = [:]
    /// The entries that were in the file at first, as they were written.
    package private(set) var payloads: [[UInt8]] = []

    /// Opens a file, and makes it where there is none.
    ///
    /// - Throws: ``BackendError`` of kind `invalid` when it can't be used, or has anything but entries.
    package init(_ path: String) throws(BackendError) {
        self.path = path
        let bytes = try Self.read(path)
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where !line.isEmpty {
            guard let entry = Self.entry(line) else {
                // The power went while it was written: then the broker still has it.
                guard index == lines.count - 1, zip(line, Self.beginning).allSatisfy({ $0 == $1 }) else {
                    throw BackendError(.invalid, "\(path):\(index + 1): not an entry of a roll-out's audit")
                }
                try cut(to: bytes.count - line.count)
                break
            }
            let payload = Array(line)
            payloads.append(payload)
            digests[entry.number] = SHA256.label(SHA256.digest(of: payload))
            last = max(last, entry.number)
        }
        if let end = bytes.last, end != UInt8(ascii: "\n"), payloads.count == lines.count {
            try write([UInt8(ascii: "\n")])
        }
    }

    /// How the line of an entry begins.
    private static let beginning = Array(#"{"type":"rollout-log","#.utf8)

    private static func entry(_ payload: some Collection<UInt8>) -> RolloutAudit? {
        (try? JSONValue(parsing: Array(payload), limits: .trustedFile)).flatMap { try? RolloutAudit($0) }
    }

    /// Takes note of an entry that the broker has.
    ///
    /// - Throws: ``BackendError`` of kind `invalid` when the file has another one in its place.
    package mutating func saw(_ payload: [UInt8]) throws(BackendError) {
        guard let entry = Self.entry(payload), !payload.contains(UInt8(ascii: "\n")) else { return }
        if let known = digests[entry.number], known != SHA256.label(SHA256.digest(of: payload)) {
            throw BackendError(
                .invalid,
                "\(path) is the audit of another group or broker: its entry \(entry.number) is another one; use a new file"
            )
        }
        if entry.number > last { waiting[entry.number] = payload }
    }

    /// Appends what was noted, in order; returns when it is on the disk.
    ///
    /// - Throws: ``BackendError`` of kind `invalid` when it can't be written; then it is tried again with the next one.
    package mutating func flush() throws(BackendError) {
        let entries = waiting.sorted { $0.key < $1.key }
        guard let newest = entries.last?.key else { return }
        try write(entries.flatMap { $0.value + [UInt8(ascii: "\n")] })
        for (number, payload) in entries { digests[number] = SHA256.label(SHA256.digest(of: payload)) }
        (waiting, last) = ([:], newest)
    }

    // MARK: The disk

    private static func read(_ path: String) throws(BackendError) -> [UInt8] {
        let file = try opened(path, O_RDONLY | O_CREAT)
        defer { close(file) }
        // The name of a new file must be as durable as its content.
        if let slash = path.lastIndex(of: "/") {
            flush(directory: slash == path.startIndex ? "/" : String(path[..<slash]))
        } else {
            flush(directory: ".")
        }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(file, &part, part.count)
            guard count >= 0 else { throw fault("read", path) }
            guard count > 0 else { return bytes }
            bytes += part[..<count]
        }
    }

    private static func flush(directory: String) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = fsync(descriptor)
        close(descriptor)
    }

    /// In one call, so that lines of two controllers do not mix.
    private func write(_ bytes: [UInt8]) throws(BackendError) {
        let file = try Self.opened(path, O_WRONLY | O_APPEND | O_CREAT)
        defer { close(file) }
        guard Glibc.write(file, bytes, bytes.count) == bytes.count, fsync(file) == 0 else {
            throw Self.fault("append to", path)
        }
    }

    private func cut(to size: Int) throws(BackendError) {
        guard truncate(path, off_t(size)) == 0 else { throw Self.fault("cut", path) }
    }

    private static func opened(_ path: String, _ access: Int32) throws(BackendError) -> Int32 {
        let file = open(path, access | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw fault("open", path) }
        return file
    }

    private static func fault(_ what: String, _ path: String) -> BackendError {
        BackendError(.invalid, "\(what) the audit \(path): \(String(cString: strerror(errno)))")
    }
}
