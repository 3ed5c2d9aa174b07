import Glibc
import Waypost
public import WaypostFleet
import WaypostMessages

/// The audit of a group's roll-outs in a file of the operator's, an entry a line: the broker keeps the last 64 only, and
/// may forget them.
///
/// An entry is on the disk when it was appended. What the broker keeps and the file lacks is appended first, so that a
/// controller that was killed leaves no gap.
struct RolloutAuditFile: Sendable {
    private let path: String
    /// The digests of the entries in the file, by number.
    private var digests: [Int64: String] = [:]
    /// Entries that are not in the file yet.
    private var waiting: [Int64: [UInt8]] = [:]
    /// An entry that is not in the file, because another one is in its place.
    private var conflict: BackendError?
    /// The entries that were in the file at first, as they were written.
    private(set) var payloads: [[UInt8]] = []

    /// Opens a file, and makes it where there is none.
    ///
    /// - Throws: ``BackendError`` of kind `invalid` when it can't be used, or has anything but entries.
    init(_ path: String) throws(BackendError) {
        self.path = path
        let file = try Self.opened(path, O_RDWR | O_CREAT)
        defer { close(file) }
        // The name of a new file must be as durable as its content.
        if let slash = path.lastIndex(of: "/") {
            Self.flush(directory: slash == path.startIndex ? "/" : String(path[..<slash]))
        } else {
            Self.flush(directory: ".")
        }
        let bytes = try read(file)
        let (lines, torn) = Self.lines(of: bytes)
        for (index, payload) in lines.enumerated() where !payload.isEmpty {
            guard let entry = RolloutAudit(bytes: payload) else {
                throw BackendError(.invalid, "\(path):\(index + 1): not an entry of a roll-out's audit")
            }
            payloads.append(payload)
            digests[entry.number] = RolloutAudit.digest(of: payload)
        }
        // The power went while it was written: then the broker still has it.
        if torn > 0, ftruncate(file, off_t(bytes.count - torn)) != 0 { throw fault("cut") }
        if torn == 0, let end = bytes.last, end != Self.newline { try append([Self.newline], to: file) }
    }

    private static let newline = UInt8(ascii: "\n")
    /// How the line of an entry begins.
    private static let beginning = Array(#"{"type":"rollout-log","#.utf8)

    /// The lines, and how many bytes at the end are an entry of which a part is missing: another process writes it, or
    /// was stopped while it did.
    static func lines(of bytes: [UInt8]) -> (whole: [[UInt8]], torn: Int) {
        var lines = bytes.split(separator: newline, omittingEmptySubsequences: false).map(Array.init)
        guard let end = lines.last, !end.isEmpty, RolloutAudit(bytes: end) == nil,
            zip(end, beginning).allSatisfy({ $0 == $1 })
        else { return (lines, 0) }
        lines.removeLast()
        return (lines, end.count)
    }

    /// Takes what the broker keeps before a controller begins; returns when it is on the disk.
    ///
    /// - Throws: ``BackendError`` of kind `invalid` when it can't be written, or when the file is that of another group:
    ///   one that has an entry of these, and another one besides, was this group's, and keeps what it has.
    mutating func begin(with entries: [[UInt8]]) throws(BackendError) {
        let isOurs = entries.contains { payload in
            RolloutAudit(bytes: payload).map { digests[$0.number] == RolloutAudit.digest(of: payload) }
                ?? false
        }
        for entry in entries {
            do throws(BackendError) {
                try saw(entry)
            } catch {
                if !isOurs { throw error }
            }
        }
        try flush()
    }

    /// Takes what comes while a controller steers; returns when it is on the disk.
    ///
    /// - Returns: Why the file lacks some of the entries; nil when it has all.
    mutating func keep(_ entries: [[UInt8]]) -> BackendError? {
        for entry in entries {
            do throws(BackendError) { try saw(entry) } catch { conflict = conflict ?? error }
        }
        do throws(BackendError) { try flush() } catch { return error }
        return conflict
    }

    /// Takes note of an entry that the broker has; what can't be read is none.
    ///
    /// - Throws: ``BackendError`` of kind `invalid` when the file has another one in its place.
    mutating func saw(_ payload: [UInt8]) throws(BackendError) {
        guard let entry = RolloutAudit(bytes: payload), !payload.contains(Self.newline) else { return }
        guard let known = digests[entry.number] else { return waiting[entry.number] = payload }
        guard known == RolloutAudit.digest(of: payload) else {
            throw BackendError(
                .invalid,
                "\(path) is the audit of another group or broker: its entry \(entry.number) is another one; use a new file"
            )
        }
    }

    /// Appends what was noted, in order; returns when it is on the disk.
    ///
    /// - Throws: ``BackendError`` of kind `invalid` when it can't be written; then it is tried again with the next one.
    mutating func flush() throws(BackendError) {
        let entries = waiting.sorted { $0.key < $1.key }
        if entries.isEmpty { return }
        let file = try Self.opened(path, O_RDWR | O_CREAT)
        defer { close(file) }
        try append(entries.flatMap { $0.value + [Self.newline] }, to: file)
        for (number, payload) in entries { digests[number] = RolloutAudit.digest(of: payload) }
        waiting = [:]
    }

    // MARK: The disk

    private func read(_ file: Int32) throws(BackendError) -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(file, &part, part.count)
            guard count >= 0 else { throw fault("read") }
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

    /// Appends all of it, or nothing: half a line would spoil the next one.
    private func append(_ bytes: [UInt8], to file: Int32) throws(BackendError) {
        let end = lseek(file, 0, SEEK_END)
        guard end >= 0 else { throw fault("append to") }
        var place = 0
        while place < bytes.count {
            let count = bytes[place...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            guard count > 0 else {
                let error = fault("append to")
                _ = ftruncate(file, end)
                throw error
            }
            place += count
        }
        guard fsync(file) == 0 else { throw fault("append to") }
    }

    /// The file, for this process alone until it is closed: no other cuts or reads what this one writes.
    private static func opened(_ path: String, _ access: Int32) throws(BackendError) -> Int32 {
        // A pipe without a reader is not waited for.
        let file = open(path, access | O_CLOEXEC | O_NONBLOCK, 0o644)
        guard file >= 0 else { throw fault("open", path) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(file)
            throw BackendError(.invalid, "the audit \(path) is no file")
        }
        // A file system without locks has one writer, as before.
        while flock(file, LOCK_EX) != 0, errno == EINTR {}
        return file
    }

    private func fault(_ what: String) -> BackendError { Self.fault(what, path) }

    private static func fault(_ what: String, _ path: String) -> BackendError {
        BackendError(.invalid, "\(what) the audit \(path): \(String(cString: strerror(errno)))")
    }
}

extension RolloutHistory {
    /// The audit that ``RolloutOptions/auditFile`` names, an entry a line, checked as the broker's is.
    ///
    /// Another process may be adding an entry just now.
    public init(file bytes: [UInt8]) { self.init(RolloutAuditFile.lines(of: bytes).whole) }
}

extension RolloutOptions {
    /// The file of the audit, opened; nil when none is named.
    ///
    /// - Throws: ``BackendError`` of kind `invalid` when it can't be used.
    func audit() throws(BackendError) -> RolloutAuditFile? {
        guard let auditFile else { return nil }
        return try RolloutAuditFile(auditFile)
    }
}
