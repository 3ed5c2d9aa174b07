import Glibc

/// A file of which it matters who can write it; it is refused when others can.
enum GuardedFile {
    /// Checks owner and mode.
    ///
    /// - Parameter purpose: what the file is to us, for the complaint: `password file`.
    static func check(_ path: String, purpose: String) throws(Complaint) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw Complaint(.usage, "\(purpose) \(path): \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw Complaint(.usage, "\(purpose) \(path) is a directory")
        }
        guard status.st_uid == 0 || status.st_uid == geteuid() else {
            throw Complaint(
                .usage,
                "\(purpose) \(path) belongs to another user (\(status.st_uid)); it must be yours or root's")
        }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw Complaint(
                .usage, "\(purpose) \(path) can be written by others (mode \(mode)); run: chmod go-w \(path)")
        }
    }

    /// The bytes of a file that only we can write.
    static func read(_ path: String, purpose: String) throws(Complaint) -> [UInt8] {
        try check(path, purpose: purpose)
        return try InputFile.read(path, purpose: purpose)
    }

    /// The first line of such a file.
    static func readLine(_ path: String, purpose: String) throws(Complaint) -> String {
        let bytes = try read(path, purpose: purpose)
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard let text = String(validating: line, as: UTF8.self), !text.isEmpty else {
            throw Complaint(.usage, "\(purpose) \(path): its first line is empty or not UTF-8")
        }
        return text
    }
}
