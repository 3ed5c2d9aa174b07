import FoundationEssentials
import Glibc
import Threading
import Waypost
import WaypostMessages

/// Sealed commands in a folder, one file each: those that must be done once, whatever happens to this process.
///
///     let store = try SealedCommandStore(folder: "/var/lib/shop/commands")
///     try await backend.send(try backend.agent("k1").seal(.open("kiosk://orders/17")), keptIn: store)
///
/// After a restart, ``commands()`` has what was not answered. A file is there whole or not at all, also after a loss of
/// power, and only this user can read it. Several tasks may use one store at a time.
public struct SealedCommandStore: Sendable {
    private static let ending = ".json"

    let folder: String

    /// Opens a folder, and makes it where it is not there.
    ///
    /// - Throws: ``BackendError`` of kind `invalid` naming the folder and what the system says.
    public init(folder: String) throws(BackendError) {
        self.folder = folder
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw fault("make", folder) }
        var status = stat()
        guard stat(folder, &status) == 0 else { throw fault("open", folder) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw fault("open", folder, ENOTDIR) }
    }

    /// Stores a command; one that is stored already stays.
    ///
    /// - Throws: ``BackendError`` of kind `notSent` naming the file; then nothing of it is there.
    public func insert(_ command: SealedCommand) throws(BackendError) {
        let path = path(of: command)
        guard access(path, F_OK) != 0 else { return }
        let bytes: [UInt8]
        do { bytes = Array(try JSONEncoder().encode(command)) } catch {
            throw BackendError(.notSent, "store command \(command.id): \(error.words)", id: command.id)
        }
        let draft = "\(path).\(Identifier.short())"
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw fault("store", path) }
        var rest = bytes[...]
        var error: Int32 = 0
        while !rest.isEmpty, error == 0 {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { error = errno }
        }
        if error == 0, fsync(file) != 0 { error = errno }
        if close(file) != 0, error == 0 { error = errno }
        if error == 0, rename(draft, path) != 0 { error = errno }
        guard error == 0 else {
            unlink(draft)
            throw fault("store", path, error)
        }
        try sync()
    }

    /// Removes a command that needs not be sent again; nothing happens when it is not there.
    ///
    /// - Throws: ``BackendError`` of kind `invalid` naming the file.
    public func remove(_ command: SealedCommand) throws(BackendError) {
        let path = path(of: command)
        guard unlink(path) == 0 || errno == ENOENT else { throw fault("remove", path) }
        try sync()
    }

    /// The commands that are stored, those that expire first before others.
    ///
    /// - Parameter damaged: Called with each file that is no command, and that is left as it is.
    /// - Throws: ``BackendError`` of kind `invalid` when the folder can't be read.
    public func commands(damaged: (_ file: String) -> Void = { _ in }) throws(BackendError) -> [SealedCommand]
    {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder)
        } catch { throw fault("read", folder, ENOENT) }
        var found: [SealedCommand] = []
        for name in names.sorted() where name.hasSuffix(Self.ending) {
            let path = "\(folder)/\(name)"
            guard let data = FileManager.default.contents(atPath: path) else {
                // It was answered meanwhile.
                if access(path, F_OK) == 0 { damaged(path) }
                continue
            }
            guard let command = try? JSONDecoder().decode(SealedCommand.self, from: data),
                path == self.path(of: command)
            else {
                damaged(path)
                continue
            }
            found.append(command)
        }
        return found.sorted { $0.expires < $1.expires }
    }

    /// Names have no dots, and no slashes.
    private func path(of command: SealedCommand) -> String {
        "\(folder)/\(command.agent).\(command.id)\(Self.ending)"
    }

    /// What is in the folder is so after a loss of power too.
    private func sync() throws(BackendError) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw fault("open", folder) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw fault("write", folder) }
    }

    private func fault(_ doing: String, _ path: String, _ error: Int32 = errno) -> BackendError {
        let kind: BackendError.Kind = doing == "store" ? .notSent : .invalid
        let what = path == folder ? "the folder for sealed commands" : "a sealed command"
        return BackendError(kind, "\(doing) \(what), \(path.quoted): \(String(cString: strerror(error)))")
    }
}
