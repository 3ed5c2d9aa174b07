import Glibc

/// A file of which it matters who can write it, and of secrets also who can read it; it is refused when others can.
enum GuardedFile {
    /// Checks owner and mode.
    ///
    /// The group may read a secret: so it is handed over by systemd, and kept by Debian's group for keys.
    /// - Parameters:
    ///   - purpose: what the file is for, in the error: `password file`.
    ///   - isSecret: whether others may not read it either.
    static func check(_ path: String, purpose: String, isSecret: Bool = false) throws(CommandError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw CommandError(.usage, "\(purpose) \(path): \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw CommandError(.usage, "\(purpose) \(path) is a directory")
        }
        guard status.st_uid == 0 || status.st_uid == geteuid() else {
            throw CommandError(
                .usage,
                "\(purpose) \(path) belongs to another user (\(status.st_uid)); it must be yours or root's")
        }
        let mode = String(status.st_mode & 0o777, radix: 8)
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw CommandError(
                .usage, "\(purpose) \(path) can be written by others (mode \(mode)); run: chmod go-w \(path)")
        }
        guard !isSecret || status.st_mode & S_IROTH == 0 else {
            throw CommandError(
                .usage, "\(purpose) \(path) can be read by everybody (mode \(mode)); run: chmod o-rwx \(path)"
            )
        }
    }

    /// The bytes of a file that only we can write.
    static func read(_ path: String, purpose: String, isSecret: Bool = false) throws(CommandError) -> [UInt8]
    {
        try check(path, purpose: purpose, isSecret: isSecret)
        return try InputFile.read(path, purpose: purpose)
    }

    /// The first line of a file that holds a secret.
    static func readSecret(_ path: String, purpose: String) throws(CommandError) -> String {
        let bytes = try read(path, purpose: purpose, isSecret: true)
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard let text = String(validating: line, as: UTF8.self), !text.isEmpty else {
            throw CommandError(.usage, "\(purpose) \(path): its first line is empty or not UTF-8")
        }
        if let fault = text.unseenFault(isSecret: true) {
            throw CommandError(.usage, "\(purpose) \(path): its first line has \(fault)")
        }
        return text
    }
}
