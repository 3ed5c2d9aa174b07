import Glibc

/// A file, or standard input, that a command was given.
enum InputFile {
    /// More than any file that we read has: a map at most 256 KiB, a list of routes some MiB.
    private static let maximumBytes = 64 << 20

    /// U+FEFF, with which some editors begin a file.
    static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The whole file as UTF-8; `-` is standard input, which need not be a file.
    ///
    /// - Throws: ``CommandError`` 64 naming the file and what the system says.
    static func read(_ path: String, purpose: String) throws(CommandError) -> [UInt8] {
        func fault() -> CommandError {
            CommandError(.usage, "\(purpose) \(path): \(String(cString: strerror(errno)))")
        }
        let descriptor =
            path == "-"
            ? fcntl(Invocation.current.input, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw fault() }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw fault() }
            if count == 0 { return try text(bytes, "\(purpose) \(path)") }
            bytes += buffer[..<count]
            guard bytes.count <= maximumBytes else {
                throw CommandError(.usage, "\(purpose) \(path) is longer than \(maximumBytes >> 20) MiB")
            }
        }
    }

    /// UTF-8 without the byte order mark that some editors write, and which would be part of the first word.
    private static func text(_ bytes: [UInt8], _ name: String) throws(CommandError) -> [UInt8] {
        guard !bytes.starts(with: [0xFF, 0xFE]), !bytes.starts(with: [0xFE, 0xFF]) else {
            throw CommandError(.usage, "\(name) is UTF-16 text; save it as UTF-8")
        }
        return bytes.starts(with: byteOrderMark) ? Array(bytes.dropFirst(byteOrderMark.count)) : bytes
    }
}
