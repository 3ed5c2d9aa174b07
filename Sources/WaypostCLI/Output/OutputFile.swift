import Glibc
import Synchronization

/// A file that a command writes.
enum OutputFile {
    private static let drafts = Atomic<Int>(0)

    /// Where a file is written before it takes its place: one name for each writing.
    static func draft(of path: String) -> String {
        "\(path).\(getpid())-\(drafts.add(1, ordering: .relaxed).newValue)"
    }

    /// Finds out whether a file can be written where nothing is written yet: before the work for it is done.
    ///
    /// - Throws: ``CommandError`` 1 naming the file and what the system says.
    static func check(_ path: String, purpose: String) throws(CommandError) {
        func fault(_ error: Int32) -> CommandError {
            CommandError(.failed, "write \(purpose) \(path): \(Descriptor.text(of: error))")
        }
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { throw fault(EISDIR) }
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        guard access(folder, W_OK | X_OK) == 0 else { throw fault(errno) }
    }

    /// Writes a whole file, or leaves the one that is there.
    ///
    /// - Parameter isPrivate: Whether only this user may read it.
    /// - Throws: ``CommandError`` 1 naming the file and what the system says.
    static func write(_ bytes: [UInt8], to path: String, purpose: String, isPrivate: Bool = false)
        throws(CommandError)
    {
        func fault(_ error: Int32 = errno) -> CommandError {
            CommandError(.failed, "write \(purpose) \(path): \(Descriptor.text(of: error))")
        }
        var status = stat()
        // What is no file, such as /dev/stdout or a pipe, can't be replaced.
        let isReplaced = stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
        let draft = isReplaced ? draft(of: path) : path
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, isPrivate ? 0o600 : 0o644)
        guard descriptor >= 0 else { throw fault() }
        var error = Descriptor.write(bytes, to: descriptor)
        if Glibc.close(descriptor) != 0, error == 0 { error = errno }
        guard isReplaced else {
            if error != 0 { throw fault(error) }
            return
        }
        if error == 0, rename(draft, path) != 0 { error = errno }
        guard error == 0 else {
            unlink(draft)
            throw fault(error)
        }
    }
}
