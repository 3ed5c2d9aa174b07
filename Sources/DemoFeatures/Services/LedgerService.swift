import Glibc
import Threading
import Waypost

/// A ledger in a file, `ledger.txt`: what stands there was done, once for each line.
///
/// `append` is not idempotent: done twice it leaves two lines, and so it is the test for what an agent does with a
/// command that a crash interrupted. `put` is idempotent: it keeps one line `key=value` a key.
final class LedgerService: Sendable {
    /// An entry that is no line.
    struct BadEntry: Error, CustomStringConvertible {
        var description: String
    }

    /// What the operating system said.
    struct FileFailure: Error, CustomStringConvertible {
        var doing: String
        var path: String
        var code: Int32
        var description: String { "\(doing) \(path): \(String(cString: strerror(code)))" }

        init(_ doing: String, _ path: String) {
            self.doing = doing
            self.path = path
            code = errno
        }
    }

    private let path: String
    // One writer at a time: put reads the file and writes it again.
    private let file = Guarded(Known())

    /// What the file held after our own last change, so that a line more costs no look at all the others.
    private struct Known {
        var bytes = -1
        var lines = 0
    }

    init(directory: String) { path = "\(directory)/ledger.txt" }

    /// Adds one line, which is on the disk when this returns; returns the number of lines.
    func append(entry: String) throws -> Int {
        try check(entry)
        return try file.withLock { known in
            let bytes = size()
            let lines = known.bytes == bytes ? known.lines : try read().count
            try write(entry + "\n", to: path, flags: O_APPEND)
            known = Known(bytes: bytes + entry.utf8.count + 1, lines: lines + 1)
            return lines + 1
        }
    }

    /// Sets the line of the key, which is on the disk when this returns; returns the number of lines.
    func put(key: String, value: String) throws -> Int {
        try check(key)
        try check(value)
        guard !key.contains("=") else { throw BadEntry(description: "a key has no \"=\"") }
        return try file.withLock { _ in
            var lines = try read()
            let line = "\(key)=\(value)"
            if let index = lines.firstIndex(where: { $0.hasPrefix("\(key)=") }) {
                lines[index] = line
            } else {
                lines.append(line)
            }
            // Whole or not at all, also when the power fails in between.
            let draft = "\(path).new"
            try write(lines.map { "\($0)\n" }.joined(), to: draft, flags: O_TRUNC)
            guard rename(draft, path) == 0 else { throw FileFailure("rename", draft) }
            return lines.count
        }
    }

    /// The bytes of the file; 0 when there is none.
    private func size() -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// All lines.
    func entries() throws -> [String] {
        try file.withLock { _ in try read() }
    }

    private func check(_ text: String) throws(BadEntry) {
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
            throw BadEntry(description: "a line of the ledger has no control characters")
        }
    }

    private func read() throws -> [String] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return [] }
            throw FileFailure("open", path)
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count >= 0 else { throw FileFailure("read", path) }
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        return bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    }

    private func write(_ text: String, to path: String, flags: Int32) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0o600)
        guard descriptor >= 0 else { throw FileFailure("open", path) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        let size = lseek(descriptor, 0, SEEK_END)
        let count = Glibc.write(descriptor, bytes, bytes.count)
        guard count == bytes.count else {
            let failure = FileFailure("write", path)
            // Half a line on a full disk would be the beginning of the next one.
            if count > 0 { _ = ftruncate(descriptor, size) }
            throw failure
        }
        guard fsync(descriptor) == 0 else { throw FileFailure("sync", path) }
    }
}

extension LedgerService {
    var exposed: ExposedService {
        ExposedService("LedgerService", instance: self) {
            Exposed("append(entry:)") { (service: LedgerService, entry: String) in
                try service.append(entry: entry)
            }
            Exposed("put(key:value:)", idempotent: true) {
                (service: LedgerService, key: String, value: String) in
                try service.put(key: key, value: value)
            }
            Exposed("entries()", idempotent: true) { (service: LedgerService) in try service.entries() }
        }
    }
}
